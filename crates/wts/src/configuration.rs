//! What a server is set to: every option with its value, its unit and where the value came from.

use std::io::Write;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};

use crate::pools_file::{self, FIELDS};
use crate::{serve, store_options};

/// Options that do something other than set the server.
const NOT_SETTINGS: [&str; 3] = ["help", "version", "print_config"];

/// Prints `option, value, unit, source`, a line each, and the same for each field of each pool.
pub(crate) fn print(
    out: &mut impl Write,
    matches: &ArgMatches,
    pools: &[pools_file::Shown],
) -> std::io::Result<()> {
    writeln!(out, "{:<18} {:<24} {:<16} SOURCE", "OPTION", "VALUE", "UNIT")?;
    for option in options(&command()) {
        let id = option.get_id().as_str();
        let values = matches.get_raw(id).map(|values| {
            values.map(|value| shown(id, &value.to_string_lossy())).collect::<Vec<_>>().join(",")
        });
        let value = values.filter(|value| !value.is_empty()).unwrap_or_else(|| "-".to_owned());
        let source = match matches.value_source(id) {
            Some(ValueSource::CommandLine) => "flag",
            Some(ValueSource::EnvVariable) => "environment",
            _ => "default",
        };
        writeln!(out, "{:<18} {value:<24} {:<16} {source}", flag(option), unit(option))?;
    }
    writeln!(out, "\n{:<32} {:<24} {:<16} SOURCE", "POOL.FIELD", "VALUE", "UNIT")?;
    for pool in pools {
        for ((field, value), is_given) in FIELDS.iter().zip(&pool.values).zip(&pool.given) {
            let name = format!("{}.{}", pool.name, field.name);
            let value = if value.is_empty() { "-" } else { value };
            let source = if *is_given { "file" } else { "default" };
            writeln!(out, "{name:<32} {value:<24} {:<16} {source}", field.unit)?;
        }
    }
    out.flush()
}

/// A value as it may be shown to whoever reads along.
fn shown(id: &str, value: &str) -> String {
    match id {
        "store" => store_options::without_password(value),
        _ => value.to_owned(),
    }
}

/// `wts serve` as clap has it.
fn command() -> Command {
    serve::Arguments::augment_args(Command::new("serve"))
}

/// The options that are settings, in the order of the code.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|option| !NOT_SETTINGS.contains(&option.get_id().as_str()))
}

fn flag(option: &Arg) -> String {
    format!("--{}", option.get_long().unwrap_or_default())
}

/// What a value is counted in or how it is written. Numbers carry their unit last in the name.
fn unit(option: &Arg) -> String {
    let id = option.get_id().as_str();
    if !option.get_action().takes_values() {
        return "true or false".to_owned();
    }
    if id.ends_with("_ms") {
        return "milliseconds".to_owned();
    }
    // A rate is not a time.
    if id.ends_with("_s") && !id.ends_with("_per_s") {
        return "seconds".to_owned();
    }
    let names = option.get_value_names().unwrap_or_default();
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn default(option: &Arg) -> String {
        let defaults = option.get_default_values().iter().map(|value| value.to_string_lossy());
        let defaults = defaults.collect::<Vec<_>>().join(",");
        match (defaults.is_empty(), option.get_action().takes_values()) {
            (false, _) => format!("`{defaults}`"),
            (true, true) => "–".to_owned(),
            (true, false) => "`false`".to_owned(),
        }
    }

    /// `UPDATE_EXPECT=1 cargo test -p wts` writes the page.
    #[test]
    fn the_documented_options_are_made_from_the_code() {
        let mut page = String::from(
            "# Configuration\n\n\
             <!-- Made from the options in `serve`, `store_options`, `transport_options` and `pools_file` of `crates/wts/src`: UPDATE_EXPECT=1 cargo test -p wts -->\n\n\
             `wts serve` takes each option as a flag or, where it has a name there, from the environment; a flag \
             wins. \
             `wts serve --print-config` prints every value with its unit and where it came from, and \
             starts nothing.\n\n\
             | flag | environment | default | unit or form | what it does |\n\
             | --- | --- | --- | --- | --- |\n",
        );
        for option in options(&command()) {
            let environment =
                option.get_env().map_or_else(|| "–".to_owned(), |name| format!("`{}`", name.display()));
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(
                page,
                "| `{}` | {environment} | {} | {} | {help} |",
                flag(option),
                default(option),
                unit(option)
            )
            .unwrap();
        }
        page.push_str(
            "\n## Limits without an option\n\n\
             What clients have to know of limits they are told by `GetServerInfo`. Refusals beyond a limit of a \
             principal or of the node say when to come again (`RetryInfo`).\n\n\
             | what | at most | beyond it |\n\
             | --- | --- | --- |\n",
        );
        for service::FixedLimit { what, value, unit, beyond } in service::fixed_limits() {
            writeln!(page, "| {what} | {value} {unit} | {beyond} |").unwrap();
        }
        page.push_str(
            "\n## Pools\n\n\
             A file for `--pools` has a `[[pools]]` for each. A server without one has two: `casual`, and \
             `ranked` with `mode = \"ranked\"`. What a pool leaves out is as here:\n\n\
             ```toml\n[[pools]]\nname = \"ranked\"\nmode = \"ranked\"\n\
             time_controls = [\"10s\", \"30s\", \"3m+2s\"]\nbound = \"2m\"\n```\n\n\
             Times are written `30s`, `1m30s`, `2h`, `1d`.\n\n\
             | field | default | unit or form | what it does |\n\
             | --- | --- | --- | --- |\n\
             | `name` | – | 1 to 24 of `A-Z a-z 0-9 . _ -` | What tickets name it by; required |\n",
        );
        let shown = pools_file::shown(None).unwrap();
        for (field, value) in FIELDS.iter().zip(&shown[0].values) {
            let value =
                if value.is_empty() { "–".to_owned() } else { format!("`{}`", value.replace(',', ", ")) };
            writeln!(page, "| `{}` | {value} | {} | {} |", field.name, field.unit, field.help).unwrap();
        }
        expect_test::expect_file!["../../../docs/configuration.md"].assert_eq(&page);
    }
}
