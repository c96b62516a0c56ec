//! What a match promises, whatever its code looks like: a test plays commands and reads answers.

mod bots;
mod draws;
mod endings;
mod flag;
mod history;
mod law;
mod lost_history;
mod origin;
mod outage;
mod properties;
mod reveal;
mod script;
mod seals;
mod secrecy;
mod settings;
mod table;
mod waiting;
