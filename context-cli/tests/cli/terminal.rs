//! Commands on a terminal: what they say while they wait and work.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::{Bench, context};
use crate::watching::line;

/// The sequence that removes a line, after which a line begins again.
const CLEAR: &str = "\r\u{1b}[2K";

/// A command with standard error, and maybe standard input, on a terminal.
struct OnTerminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
}

impl OnTerminal {
    fn start(bench: &Bench, line: &str) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).expect("it may be used");
        unlockpt(&keyboard).expect("it may be opened");
        let name = ptsname(&keyboard, Vec::new()).expect("it has a name");
        let name = name.into_string().expect("a path");
        let terminal = || File::options().read(true).write(true).open(&name).expect("opened");
        let args: Vec<_> = line.split_whitespace().collect();
        let child = context(bench.path(), &args)
            .env("TERM", "xterm")
            .stdin(terminal())
            .stderr(terminal())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the executable runs");
        let keyboard = File::from(keyboard);
        let mut from = keyboard.try_clone().expect("a second handle");
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails when the command has closed the terminal.
            while let Ok(read) = from.read(&mut bytes) {
                if read == 0 || sender.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard, screen, shown: String::new() }
    }

    /// Reads what is shown until it contains a text.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        while !self.shown.contains(text) {
            let Ok(bytes) = self.screen.recv() else { panic!("{text}: {:?}", self.shown) };
            self.shown += &String::from_utf8_lossy(&bytes);
        }
    }

    fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("typed");
    }

    /// Waits for the end. Returns the exit status, the output, and all that was shown.
    fn end(mut self) -> (Option<i32>, String, String) {
        let mut out = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut out).expect("text");
        let status = self.child.wait().expect("it ends");
        drop(self.keyboard);
        for bytes in self.screen {
            self.shown += &String::from_utf8_lossy(&bytes);
        }
        (status.code(), out, self.shown)
    }
}

/// Locks the store against every other process, until the file is dropped.
fn locked(bench: &Bench) -> File {
    let file = File::options().read(true).write(true).open(bench.path().join("context.db"));
    let file = file.expect("there is a store");
    fcntl_lock(&file, FlockOperation::LockExclusive).expect("nobody uses it");
    file
}

/// Creates a pipe, from which a command reads until the test has written to it.
fn pipe(bench: &Bench, name: &str) -> std::path::PathBuf {
    let path = bench.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    path
}

#[test]
fn a_command_that_reads_from_the_terminal_says_so() {
    let bench = Bench::new();
    for (line, expected) in [
        ("import - --chat typed", "note: reading a transcript from the terminal; end with Ctrl-D"),
        ("tokens", "note: reading a transcript from the terminal; end with Ctrl-D"),
        ("tokens --text", "note: reading text from the terminal; end with Ctrl-D"),
        ("render --format xml", "note: reading fragments from the terminal; end with Ctrl-D"),
    ] {
        let mut command = OnTerminal::start(&bench, line);
        command.wait_for(expected);
        let typed = match line {
            "render --format xml" => "[]\n\u{4}",
            _ => "{\"role\":\"user\",\"content\":\"x\"}\n\u{4}",
        };
        command.type_in(typed);
        let (status, _, shown) = command.end();
        assert_eq!(status, Some(0), "{line}: {shown}");
    }
    let mut command = OnTerminal::start(&bench, "--json tokens --text");
    command.type_in("words\n\u{4}");
    let (status, out, shown) = command.end();
    assert_eq!(status, Some(0), "{shown}");
    assert!(out.contains("\"tokens\"") && !shown.contains("reading"), "{out}{shown}");
}

#[test]
fn long_work_is_shown_and_cleared() {
    let bench = Bench::new();
    let path = pipe(&bench, "slow.json");
    let mut command = OnTerminal::start(&bench, "import slow.json");
    command.wait_for("importing slow.json: ");
    std::fs::write(path, "[{\"role\":\"user\",\"content\":\"x\"}]").expect("it is read");
    let (status, out, shown) = command.end();
    assert_eq!(status, Some(0), "{shown}");
    assert!(out.starts_with("imported 1 chat · 1 message"), "{out}");
    assert!(shown.ends_with(CLEAR) && !shown.contains('\n'), "{shown:?}");
}

#[test]
fn a_locked_store_is_waited_for_in_sight() {
    let bench = Bench::with_sample();
    let lock = locked(&bench);
    let mut command = OnTerminal::start(&bench, "vacuum");
    command.wait_for("opening the store: ");
    drop(lock);
    let (status, out, shown) = command.end();
    assert_eq!(status, Some(0), "{shown}");
    assert!(out.contains("freed") && shown.ends_with(CLEAR), "{out}{shown:?}");
}

#[test]
fn a_watch_shows_how_far_it_has_caught_up() {
    let bench = Bench::with_sample();
    for name in ["in/a.jsonl", "in/b.jsonl"] {
        std::fs::create_dir_all(bench.path().join("in")).expect("a folder");
        bench.file(name, line("a", None));
    }
    let lock = locked(&bench);
    let mut command = OnTerminal::start(&bench, "watch in --once");
    command.wait_for("reading: 0 of 2 sessions");
    drop(lock);
    let (status, out, shown) = command.end();
    assert_eq!(status, Some(0), "{shown}");
    assert!(out.contains("\nimported 2 chats · 2 messages"), "{out}");
    assert!(shown.ends_with(CLEAR), "{shown:?}");
}

#[test]
fn a_note_takes_the_place_of_the_progress() {
    let bench = Bench::new();
    let path = pipe(&bench, "slow.json");
    let mut command = OnTerminal::start(&bench, "import slow.json nowhere/*.json slow.json");
    command.wait_for("importing: 0 of 2 files");
    std::fs::write(&path, "[{\"role\":\"judge\"}]").expect("it is read");
    command.wait_for("note: slow.json: not imported");
    std::fs::write(&path, "[{\"role\":\"user\",\"content\":\"x\"}]").expect("it is read");
    let (status, out, shown) = command.end();
    assert_eq!(status, Some(1), "{shown}");
    assert!(out.contains("2 files not imported"), "{out}");
    assert!(shown.contains(&format!("{CLEAR}note: slow.json: not imported")), "{shown:?}");
}

#[test]
fn ctrl_c_clears_the_progress() {
    let bench = Bench::new();
    let _path = pipe(&bench, "slow.json");
    let mut command = OnTerminal::start(&bench, "import slow.json");
    command.wait_for("importing slow.json: ");
    kill_process(Pid::from_child(&command.child), Signal::INT).expect("it runs");
    let (status, _, shown) = command.end();
    assert_eq!(status, Some(130), "{shown}");
    assert!(shown.ends_with(CLEAR), "{shown:?}");
}

#[test]
fn with_json_nothing_is_shown() {
    let bench = Bench::with_sample();
    let (status, _, shown) = OnTerminal::start(&bench, "--json verify").end();
    assert_eq!((status, shown.as_str()), (Some(0), ""));
}
