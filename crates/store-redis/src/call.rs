//! One run of a script, as it is sent.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::Arc;

use crate::names::Place;
use crate::scripts::Script;

/// A script with its keys and arguments. Every script can be run again: what it does depends on what is
/// stored, not on whether it ran before.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    script: Arc<Script>,
    place: Place,
    keys: Vec<String>,
    arguments: Words,
    /// The last entry of the reply, if there is one, is to be told on this channel.
    channel: Option<String>,
}

/// Texts one behind the other: a call has a dozen short ones.
#[derive(Clone, Default, Debug)]
struct Words {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Words {
    fn push(&mut self, word: &[u8]) {
        self.bytes.extend_from_slice(word);
        self.ends.push(self.bytes.len());
    }

    fn push_number(&mut self, number: &impl Display) {
        // Writing to memory does not fail.
        let _ = write!(self.bytes, "{number}");
        self.ends.push(self.bytes.len());
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }
}

/// Words of a command before its keys: its name, the script, and how many keys there are.
const WORDS_BEFORE_KEYS: usize = 3;

/// The longest number of keys, bytes.
const NUMBER_BYTES_MAX: usize = 20;

/// How a call is sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Manner {
    /// With the script's text: the server may not know its name.
    pub(crate) whole: bool,
    /// To a server that a slot is on its way to.
    pub(crate) asking: bool,
}

impl Call {
    /// A script on keys that all lie in one place.
    pub(crate) fn new(script: &Arc<Script>, place: Place, keys: Vec<String>) -> Self {
        Self { script: Arc::clone(script), place, keys, arguments: Words::default(), channel: None }
    }

    /// One key more.
    pub(crate) fn key(mut self, key: String) -> Self {
        self.keys.push(key);
        self
    }

    pub(crate) fn argument(mut self, argument: impl AsRef<[u8]>) -> Self {
        self.arguments.push(argument.as_ref());
        self
    }

    pub(crate) fn number(mut self, number: impl Display) -> Self {
        self.arguments.push_number(&number);
        self
    }

    /// How many there are, then each.
    pub(crate) fn list(self, items: Vec<Vec<u8>>) -> Self {
        let counted = self.number(items.len());
        items.into_iter().fold(counted, Self::argument)
    }

    /// A channel as an argument, on which the reply's last entry is told if the script has not.
    pub(crate) fn telling(mut self, channel: String) -> Self {
        self.arguments.push(channel.as_bytes());
        self.channel = Some(channel);
        self
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn channel(&self) -> Option<&str> {
        self.channel.as_deref()
    }

    /// Adds the call to what is sent together. Returns how many answers come before its own.
    pub(crate) fn add_to(&self, pipeline: &mut redis::Pipeline, manner: Manner) -> usize {
        if manner.asking {
            pipeline.cmd("ASKING");
        }
        pipeline.add_command(self.command(manner));
        usize::from(manner.asking)
    }

    pub(crate) fn command(&self, manner: Manner) -> redis::Cmd {
        let (name, script) = match manner.whole {
            true => ("EVAL", &self.script.text),
            false => ("EVALSHA", &self.script.sha1),
        };
        let count = WORDS_BEFORE_KEYS + self.keys.len() + self.arguments.ends.len();
        let keys: usize = self.keys.iter().map(String::len).sum();
        let arguments = self.arguments.bytes.len();
        let bytes = name.len() + script.len() + NUMBER_BYTES_MAX + keys + arguments;
        let mut command = redis::Cmd::with_capacity(count, bytes);
        command.arg(name).arg(script).arg(self.keys.len());
        for key in &self.keys {
            command.arg(key);
        }
        for argument in self.arguments.iter() {
            command.arg(argument);
        }
        command
    }
}
