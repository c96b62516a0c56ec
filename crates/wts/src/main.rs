//! What the Shell: serve, demo, play and check.

mod admin;
mod api_key_file;
mod api_keys_command;
mod backup_socket;
mod board;
mod bots;
mod configuration;
mod credentials;
mod data_directory;
mod demo;
mod demo_player;
mod dial;
mod feed;
mod hexadecimal;
mod instinct;
mod keys_command;
mod lines;
mod live;
mod lobby;
mod migrate;
mod openings;
mod operator;
mod person;
mod play;
mod pools_file;
mod queue;
mod ratings;
mod rematch;
mod replay;
mod screen;
mod seating;
mod serve;
mod server_clock;
mod store_command;
mod store_options;
mod table;
mod table_text;
mod telemetry_options;
mod terminal;
mod terms;
mod time_text;
mod tls_reload;
mod token;
mod top;
mod transport_options;
mod trusted_accounts;
mod vectors;
mod verify;
mod view;
mod watch;
mod words;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

/// A server's memory is taken and given back by the million. Beside that of the system a sealed move takes
/// half the CPU time, and an idle connection as many bytes.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The game server of What the Shell and its tools.
#[derive(Parser)]
#[command(name = "wts", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Each command is a file of its own, with its arguments and a `run` that says how the process ends.
#[derive(Subcommand)]
enum Command {
    /// What operators see and do through a running node: nodes, pools, matches, keys
    Admin(admin::Arguments),
    /// How the levels of the bots fare against each other, and against whoever knows them
    Bots(bots::Arguments),
    /// A whole match between two processes, watched and verified
    Demo(demo::Arguments),
    /// One player of the demo
    #[command(hide = true)]
    DemoPlayer(demo_player::Arguments),
    /// What happens in all matches, for a back end
    Feed(feed::Arguments),
    /// A server's secret keys, and the API keys of back ends and operators
    Keys(keys_command::Arguments),
    /// A match in this terminal: by invite, in a pool, or against a bot
    Play(play::Arguments),
    /// A finished match, turn by turn, once it is verified
    Replay(replay::Arguments),
    /// The server, in this process
    Serve(Box<serve::Arguments>),
    /// Check, back up or restore what a server keeps
    Store(store_command::Arguments),
    /// A token for a player
    Token(token::Arguments),
    /// Nodes, matches, calls and pools as they are, live in this terminal, for operators
    Top(top::Arguments),
    /// Test vectors of the rules, commitments and transcripts
    Vectors(vectors::Arguments),
    /// Whether the transcript of a match holds, and what it proves
    Verify(verify::Arguments),
    /// A match as it happens
    Watch(watch::Arguments),
}

fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match cli.command {
        Command::Admin(arguments) => admin::run(&arguments),
        Command::Bots(arguments) => bots::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::DemoPlayer(arguments) => demo_player::run(&arguments),
        Command::Feed(arguments) => feed::run(&arguments),
        Command::Keys(arguments) => keys_command::run(&arguments),
        Command::Play(arguments) => play::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments, matches.subcommand_matches("serve")),
        Command::Store(arguments) => store_command::run(&arguments),
        Command::Token(arguments) => token::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Vectors(arguments) => vectors::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        if lines::is_unread(&error) {
            return ExitCode::SUCCESS;
        }
        // Nobody is left to tell if stderr is closed.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}
