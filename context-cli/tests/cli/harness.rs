//! A folder with its own store, in which the executable runs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Returns a command for the executable without the environment of this machine.
pub(crate) fn context(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_context"));
    for name in
        ["CONTEXT_STORE", "CONTEXT_USER", "CONTEXT_PAGER", "PAGER", "COLUMNS", "LINES", "COMPLETE"]
    {
        command.env_remove(name);
    }
    // No configuration of the person who runs the tests.
    command.env("CONTEXT_CONFIG", "");
    command.current_dir(folder).args(args);
    command
}

/// Returns the sample transcript of the repository.
pub(crate) fn sample() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data/notes-agent.json");
    fs::read_to_string(file).expect("the sample is in the repository")
}

/// A temporary folder. Its store is the default one.
pub(crate) struct Bench(TempDir);

/// The outcome of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Creates a folder with a store that contains the sample, as chat `notes`.
    pub(crate) fn with_sample() -> Self {
        let bench = Self::new();
        bench.file("notes.json", sample());
        bench.ok("import notes.json");
        bench
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into the folder.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).expect("the folder can be written to");
        path
    }

    /// Runs a command line, split at spaces.
    pub(crate) fn run(&self, line: &str) -> CommandOutput {
        self.run_with(line, "")
    }

    /// Runs a command line with this standard input.
    pub(crate) fn run_with(&self, line: &str, input: &str) -> CommandOutput {
        let args: Vec<_> = line.split_whitespace().collect();
        let mut child = context(self.path(), &args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the executable runs");
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().expect("the executable ends");
        // A command need not read its input.
        let _ = writer.join().expect("the writer does not panic");
        let text = |bytes| String::from_utf8(bytes).expect("output is text");
        let status = output.status.code().expect("no signal ended it");
        CommandOutput { status, out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a command that must succeed and returns its output.
    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{line}");
        ran.out
    }

    /// Runs a command that must succeed and returns its records.
    #[track_caller]
    pub(crate) fn records(&self, line: &str) -> Vec<Value> {
        values(&self.ok(&format!("--json {line}")))
    }

    /// Runs command lines and returns what a person would see.
    pub(crate) fn show(&self, lines: &[&str]) -> String {
        let mut shown = String::new();
        for line in lines {
            let CommandOutput { status, out, err } = self.run(line);
            shown += &format!("$ context {line}\n{out}{err}");
            if status != 0 {
                shown += &format!("(exit status {status})\n");
            }
            shown += "\n";
        }
        without_times(&shown)
    }
}

/// Runs a command line on a terminal of 80 columns, with input that is typed. Returns the status
/// and what is seen. `None` on other systems than Linux, whose `script` has other options.
#[cfg(unix)]
pub(crate) fn on_a_terminal(bench: &Bench, line: &str, typed: &str) -> Option<(i32, String)> {
    let program = env!("CARGO_BIN_EXE_context");
    shell_on_a_terminal(bench, &format!("stty cols 80 rows 50; {program} {line}"), typed)
}

/// Runs a line of a shell on a terminal, as [`on_a_terminal`] does.
#[cfg(unix)]
pub(crate) fn shell_on_a_terminal(bench: &Bench, line: &str, typed: &str) -> Option<(i32, String)> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let mut command = Command::new("script");
    for name in ["CONTEXT_STORE", "CONTEXT_USER", "CONTEXT_PAGER", "PAGER", "COLUMNS", "LINES"] {
        command.env_remove(name);
    }
    let mut child = command
        .args(["-qec", line, "/dev/null"])
        .current_dir(bench.path())
        .env("CONTEXT_CONFIG", "")
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("`script` of util-linux is there, as on every Linux");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(typed.as_bytes()).expect("it reads what is typed");
    let output = child.wait_with_output().expect("the command ends");
    drop(stdin);
    let shown = String::from_utf8(output.stdout).expect("output is text");
    Some((output.status.code().expect("no signal ended it"), shown.replace('\r', "")))
}

/// Returns the values on the lines of a text.
#[track_caller]
pub(crate) fn values(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// Replaces every time such as `2026-11-21T02:02:41.5Z`, and `2 seconds ago` or `now` at the end of
/// a line.
pub(crate) fn without_times(text: &str) -> String {
    let units = ["second", "minute", "hour", "day", "week", "month", "year"];
    let is_unit = |word: &str| units.contains(&word.strip_suffix('s').unwrap_or(word));
    let lines = text.split_inclusive('\n').map(|line| {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let words: Vec<_> = line.rsplitn(4, ' ').collect();
        let told = match words.as_slice() {
            ["ago", unit, number, ..] if is_unit(unit) => {
                number.parse::<u32>().ok().map(|_| words[..3].iter().map(|w| w.len() + 1).sum())
            }
            ["now", "", ..] => Some("now".len() + 1),
            _ => None,
        };
        match told {
            Some(told) => format!("{} (time){end}", &line[..line.len() - told]),
            None => format!("{line}{end}"),
        }
    });
    // Among the facts of a line.
    let lines = lines.map(|line| {
        let is_told = |fact: &str| match fact.split(' ').collect::<Vec<_>>().as_slice() {
            ["now"] => true,
            [number, unit, "ago"] => is_unit(unit) && number.parse::<u32>().is_ok(),
            _ => false,
        };
        let facts = line.split(" · ").map(|fact| if is_told(fact) { "(time)" } else { fact });
        facts.collect::<Vec<_>>().join(" · ")
    });
    let (mut out, text) = (String::new(), lines.collect::<String>());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let length = time_length(rest.as_bytes());
        if length > 0 {
            out += "(time)";
            rest = &rest[length..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn time_length(text: &[u8]) -> usize {
    let fits = |pattern: &[u8]| {
        let same = |(p, c): (&u8, &u8)| if *p == b'0' { c.is_ascii_digit() } else { p == c };
        text.len() >= pattern.len() && pattern.iter().zip(text).all(same)
    };
    if fits(b"0000-00-00T00:00:00") {
        return text.iter().position(|c| *c == b'Z').map_or(0, |end| end + 1);
    }
    if fits(b"0000-00-00 00:00") { 16 } else { 0 }
}
