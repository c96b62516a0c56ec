//! `wts play` and `wts top` on a real terminal: painted, resized, and given back as it was.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::admin;
use crate::play::{PROMPT, Process, STATE, server};
use crate::queue::server_of_no_show;

/// What a busy machine may take to paint.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many reads may wait to be looked at.
const READS_MAX: usize = 64;

/// What every painting ends with: the cursor is hidden.
const PAINTED: &[u8] = b"\x1b[?25l";

/// So many paintings later a few keys have been taken in, each of which is followed by one.
const PAINTS_AFTER_KEYS: usize = 12;

/// Larger than any terminal here.
const COLUMNS_MAX: usize = 200;

/// A terminal, and the process that has it.
struct Terminal {
    keyboard: File,
    said: Receiver<Vec<u8>>,
    /// All that it was told to paint.
    painted: Vec<u8>,
    /// Keeps the terminal when the process has ended.
    line: OwnedFd,
    before: Termios,
    process: Child,
}

impl Terminal {
    /// Starts `wts` on a terminal of its own, as large as this.
    fn start(columns: u16, rows: u16, arguments: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let keyboard = openpt(flags).expect("a terminal");
        grantpt(&keyboard).and_then(|()| unlockpt(&keyboard)).expect("it is ours");
        let path = ptsname(&keyboard, Vec::new()).expect("it has a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let line = rustix::fs::open(path, flags, Mode::empty()).expect("it opens");
        resize(&keyboard, columns, rows);
        let before = tcgetattr(&line).expect("it has modes");
        let end = || line.try_clone().expect("one more");
        let process = Command::new("setsid")
            .args(["--ctty", env!("CARGO_BIN_EXE_wts")])
            .args(arguments)
            .envs([("TERM", "xterm-256color"), ("WTS_STATE", STATE)])
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("setsid runs");
        let keyboard = File::from(keyboard);
        let said = listen(keyboard.try_clone().expect("one more"));
        Self { keyboard, said, painted: Vec::new(), line, before, process }
    }

    /// Waits until this stands in a line.
    fn shows(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let lines = lines(&String::from_utf8_lossy(&self.painted));
            if lines.iter().any(|line| line.contains(text)) {
                return;
            }
            let more = self.said.recv_timeout(until.saturating_duration_since(Instant::now()));
            self.painted.extend(more.unwrap_or_else(|_| panic!("{text:?} is not in {lines:#?}")));
        }
    }

    /// Presses keys, and waits until they are taken in: a screen is painted after every key.
    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("it takes keys");
        let until = Instant::now() + PATIENCE;
        let count = |painted: &[u8]| painted.windows(PAINTED.len()).filter(|end| *end == PAINTED).count();
        let paints = count(&self.painted) + PAINTS_AFTER_KEYS;
        while count(&self.painted) < paints {
            let more = self.said.recv_timeout(until.saturating_duration_since(Instant::now()));
            self.painted.extend(more.expect("it is painted"));
        }
    }

    fn resizes(&self, columns: u16, rows: u16) {
        resize(&self.keyboard, columns, rows);
    }

    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.line).expect("it has modes").local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn is_first_page_after_second(&self) -> bool {
        let painted = String::from_utf8_lossy(&self.painted);
        let second_page = painted.rfind("\x1b[?1049h").expect("screens are painted there");
        painted[second_page..].contains("\x1b[?1049l")
    }

    /// The process ends well with these words, and the terminal is as it was before.
    fn gives_back(mut self) {
        self.shows("the match goes on; come back with --match");
        self.ends_well();
    }

    /// The process ends well, and the terminal is as it was before.
    fn ends_well(mut self) {
        let status = self.process.wait().expect("it ends");
        // Screens are painted on the second page.
        while !self.is_first_page_after_second() {
            let more = self.said.recv_timeout(PATIENCE);
            self.painted.extend(more.expect("the first page is shown again"));
        }
        assert_eq!(status.code(), Some(0));
        let after = tcgetattr(&self.line).expect("it has modes");
        assert_eq!(after.local_modes, self.before.local_modes);
        assert_eq!(after.input_modes, self.before.input_modes);
        assert_eq!(after.output_modes, self.before.output_modes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn resize(terminal: impl std::os::fd::AsFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("it has a size");
}

/// What comes out of a terminal, as it comes.
fn listen(mut screen: File) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(READS_MAX);
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// What stands on a terminal that was told this, as far as screens use one: text, places and clearing.
fn lines(told: &str) -> Vec<String> {
    let mut cells: Vec<Vec<char>> = Vec::new();
    let (mut row, mut column) = (0, 0);
    let mut told = told.chars();
    while let Some(letter) = told.next() {
        match letter {
            '\x1b' => {
                let mut command = String::new();
                for letter in told.by_ref() {
                    command.push(letter);
                    if letter.is_ascii_alphabetic() {
                        break;
                    }
                }
                let command = command.trim_start_matches('[');
                match (command.chars().last(), command.trim_end_matches('H').split_once(';')) {
                    (Some('H'), Some((line, place))) => {
                        row = line.parse::<usize>().map_or(0, |line| line.saturating_sub(1));
                        column = place.parse::<usize>().map_or(0, |place| place.saturating_sub(1));
                    }
                    (Some('J'), _) => cells.clear(),
                    _ if command.contains("?1049") => cells.clear(),
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row += 1,
            letter => {
                if cells.len() <= row {
                    cells.resize(row + 1, vec![' '; COLUMNS_MAX]);
                }
                if let Some(cell) = cells[row].get_mut(column) {
                    *cell = letter;
                }
                column += 1;
            }
        }
    }
    cells.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect()
}

/// A player at a terminal, before his first turn, and his opponent at a pipe.
fn seated(url: &str) -> (Terminal, Process) {
    let mut ann = Terminal::start(80, 24, &["play", "--server", url, "--as", "ann", "--invite", "bob"]);
    ann.shows("--accept invites/");
    let mut bob = Process::start(&["play", "--server", url, "--as", "bob"]);
    bob.read_until("ann invites you");
    bob.read_until("choose> ");
    bob.write("1");
    bob.read_until(PROMPT);
    ann.shows("cell> ");
    (ann, bob)
}

#[test]
fn a_screen_is_painted_resized_and_given_back() {
    let (_server, url) = server();
    let (mut ann, mut bob) = seated(&url);
    assert!(ann.is_raw());
    ann.resizes(120, 40);
    ann.shows("What the Shell");
    ann.shows("A     B     C     D");
    ann.resizes(30, 10);
    ann.shows("Too small");
    ann.press("a1\r");
    ann.resizes(44, 16);
    ann.shows(" cell> _");
    ann.press("b2\r");
    ann.shows("sealed B2");
    bob.read_until("has sealed");
    bob.write("C3");
    bob.read_until("turn 1\n");
    assert!(bob.read_until(PROMPT).contains("lands on B2"), "A1 was typed where nothing was shown");
    ann.keyboard.write_all(b"q").expect("it takes keys");
    ann.gives_back();
}

#[test]
fn a_player_who_waits_sees_how_long_and_stops_by_ctrl_c() {
    let (_server, url) = server();
    let mut ann = Terminal::start(80, 24, &["play", "--server", &url, "--as", "ann", "--queue", "ranked"]);
    ann.shows("you wait in ranked for 10s, 30s, 3m+2s, rated 1500; Ctrl-C stops");
    ann.shows("looking in ranked for 0:0");
    ann.keyboard.write_all(b"\x03").expect("it takes keys");
    ann.shows("interrupted; the ticket is cancelled");
    assert_eq!(ann.process.wait().expect("it ends").code(), Some(1));
}

#[test]
fn a_player_who_is_let_down_is_shown_the_queue_again() {
    let (_server, url) = server_of_no_show();
    let mut ann = Terminal::start(80, 24, &["play", "--server", &url, "--as", "ann", "--queue", "quick"]);
    ann.shows("has not joined yet");
    ann.shows("the other player did not come; you wait again");
    ann.shows("looking in quick for 0:");
    assert!(!ann.is_raw(), "the screen is gone");
    ann.keyboard.write_all(b"\x03").expect("it takes keys");
    ann.shows("interrupted; the ticket is cancelled");
}

#[test]
fn a_ranked_match_shows_both_ratings_before_and_after() {
    let (_server, url) = server();
    let queue = ["play", "--server", &url, "--queue", "ranked", "--time", "30s", "--as"];
    let mut ann = Terminal::start(80, 24, &[&queue[..], &["ann"]].concat());
    let mut bob = Process::start(&[&queue[..], &["bob"]].concat());
    bob.read_until(PROMPT);
    ann.shows("ann (you), 1500");
    ann.shows("bob, 1500");
    bob.write("resign");
    ann.shows("you win");
    ann.shows("1500 → 16");
    ann.shows("1500 → 13");
    ann.keyboard.write_all(b"q").expect("it takes keys");
    ann.shows("ratings: ");
    assert_eq!(ann.process.wait().expect("it ends").code(), Some(0));
}

#[test]
fn an_operator_s_screen_is_painted_until_he_leaves() {
    let server = admin::Server::start(&["--volatile", "--node-name", "eu-1"]);
    let top = ["top", "--server", &server.admin, "--api-key", admin::KEY];
    for leaves in ["q", "\x1b", "\x03"] {
        let mut screen = Terminal::start(120, 20, &top);
        screen.shows("1 of 1 nodes serve");
        screen.shows("eu-1  serving");
        screen.shows("ranked  0");
        assert!(screen.is_raw());
        screen.keyboard.write_all(leaves.as_bytes()).expect("it takes keys");
        screen.ends_well();
    }
}

#[test]
fn a_screen_that_is_told_to_go_gives_the_terminal_back() {
    let (_server, url) = server();
    for signal in ["TERM", "INT", "HUP"] {
        let (ann, _bob) = seated(&url);
        assert!(ann.is_raw());
        let pid = ann.process.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs");
        assert!(sent.success());
        ann.gives_back();
    }
}
