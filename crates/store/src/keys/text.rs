//! The text of a keys file.

use std::fmt::Write as _;

use referee::Stamp;
use sealing::KeyId;
use thiserror::Error;
use zeroize::Zeroizing;

use super::{Entry, Keys, Ring, Role, Secret};

/// The first word of the first line; the format's number follows.
const MAGIC: &str = "whattheshell-keys";

/// The format that files are written in, and the newest that can be read.
const FORMAT: u32 = 1;

/// Hexadecimal digits of a secret.
const SECRET_DIGITS: usize = 64;

/// The longest line of a key: role, id, two times of 20 digits, secret, spaces.
const LINE_BYTES_MAX: usize = 8 + KeyId::LENGTH_MAX + 2 * 20 + SECRET_DIGITS + 5;

/// The first line and the comment below it take less.
const HEAD_BYTES_MAX: usize = 256;

/// What is wrong with the text of a keys file. Shows none of it but ids.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Problem {
    /// The first line is another one.
    #[error("the first line is not `whattheshell-keys 1`: this is no keys file")]
    NoKeysFile,
    /// A newer build wrote it.
    #[error("the file has format {found}, this build reads up to {FORMAT}: run a newer build")]
    NewerFormat {
        /// The file's format.
        found: u32,
    },
    /// A line is no key.
    #[error("line {line}: {what}; a key is `ROLE ID FROM UNTIL SECRET`")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Two keys of a role have the same id.
    #[error("line {line}: there is another {role} key {id}")]
    Duplicate {
        /// The number of the second line, from 1.
        line: usize,
        /// The role.
        role: Role,
        /// The id.
        id: KeyId,
    },
    /// Not exactly one key of a role is in use.
    #[error("{count} {role} keys are in use (a FROM and no UNTIL): it must be one")]
    Current {
        /// The role.
        role: Role,
        /// How many are.
        count: usize,
    },
    /// A key of a role that is not rotated is not in use.
    #[error("{role} keys are not rotated: leave only the one in use")]
    NotRotated {
        /// The role.
        role: Role,
    },
    /// There are too many keys.
    #[error("there are more than {} keys: retire old ones that nothing needs", Keys::COUNT_MAX)]
    TooMany,
}

pub(super) fn print(keys: &Keys) -> Zeroizing<String> {
    // Room for all of it, so that no copy is left behind by growing.
    let count: usize = Role::ALL.map(|role| keys.ring(role).iter().count()).iter().sum();
    let mut text = String::with_capacity(HEAD_BYTES_MAX + count * LINE_BYTES_MAX);
    let stamp =
        |stamp: Option<Stamp>| stamp.map_or_else(|| "-".to_owned(), |stamp| stamp.as_ms().to_string());
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{MAGIC} {FORMAT}");
    let _ = writeln!(text, "# Secret. Whoever reads this can sign as the service and open sealed moves.");
    for role in Role::ALL {
        for entry in keys.ring(role).iter() {
            let _ = write!(text, "{role} {} {} {} ", entry.id, stamp(entry.from), stamp(entry.until));
            entry.secret.iter().for_each(|byte| {
                let _ = write!(text, "{byte:02x}");
            });
            text.push('\n');
        }
    }
    Zeroizing::new(text)
}

pub(super) fn parse(text: &str) -> Result<Keys, Problem> {
    let mut lines = (1..).zip(text.lines());
    let format = lines.next().and_then(|(_, line)| line.strip_prefix(MAGIC)?.trim().parse::<u32>().ok());
    match format {
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => return Err(Problem::NewerFormat { found }),
        Some(_) | None => return Err(Problem::NoKeysFile),
    }
    let mut entries: Vec<(Role, Entry)> = Vec::new();
    for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty() && !text.starts_with('#')) {
        let (role, entry) = parse_line(text).map_err(|what| Problem::Line { line, what })?;
        if entries.iter().any(|(other, known)| *other == role && known.id == entry.id) {
            return Err(Problem::Duplicate { line, role, id: entry.id });
        }
        if entries.len() >= Keys::COUNT_MAX {
            return Err(Problem::TooMany);
        }
        entries.push((role, entry));
    }
    let keys = Keys {
        signing: ring(&entries, Role::Signing)?,
        boxes: ring(&entries, Role::Box)?,
        token: ring(&entries, Role::Token)?,
        request: ring(&entries, Role::Request)?,
    };
    if keys.request.others.is_empty() { Ok(keys) } else { Err(Problem::NotRotated { role: Role::Request }) }
}

fn ring(entries: &[(Role, Entry)], role: Role) -> Result<Ring, Problem> {
    let of_role = entries.iter().filter(|(other, _)| *other == role).map(|(_, entry)| entry.clone());
    let (mut current, others): (Vec<_>, Vec<_>) =
        of_role.partition(|entry| entry.from.is_some() && entry.until.is_none());
    match (current.pop(), current.len()) {
        (Some(current), 0) => Ok(Ring { current, others }),
        (last, rest) => Err(Problem::Current { role, count: rest + usize::from(last.is_some()) }),
    }
}

fn parse_line(line: &str) -> Result<(Role, Entry), &'static str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [role, id, from, until, secret] = words[..] else { return Err("it has not five words") };
    let role = Role::ALL.into_iter().find(|known| known.name() == role);
    let role = role.ok_or("the role is not signing, box, token or request")?;
    let id = id.parse().map_err(|_| "the id is not 1 to 64 of A-Z a-z 0-9 . _ -")?;
    let (from, until) = (parse_stamp(from)?, parse_stamp(until)?);
    if until.is_some() && (from.is_none() || until < from) {
        return Err("it ends before it begins");
    }
    Ok((role, Entry { id, from, until, secret: parse_secret(secret)? }))
}

fn parse_stamp(text: &str) -> Result<Option<Stamp>, &'static str> {
    match text {
        "-" => Ok(None),
        _ => text
            .parse()
            .map(|ms| Some(Stamp::from_ms(ms)))
            .map_err(|_| "a time is milliseconds since the Unix epoch, or `-`"),
    }
}

fn parse_secret(text: &str) -> Result<Secret, &'static str> {
    const WRONG: &str = "the secret is not 64 hexadecimal digits";
    if text.len() != SECRET_DIGITS {
        return Err(WRONG);
    }
    let mut secret = Zeroizing::new([0; 32]);
    for (byte, pair) in secret.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'));
        *byte = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(WRONG)?;
    }
    Ok(secret)
}
