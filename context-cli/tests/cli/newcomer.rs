//! The day of a newcomer: every command once, as a person or a script sees it.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use crate::command_table::COMMANDS;
use crate::harness::{Bench, sample, without_times};

/// The lines of the day, for a shell. `c` is the command.
const DAY: &[&str] = &[
    // Looking around.
    "c --version",
    "c chats",
    "c import notes.json",
    "c import sessions",
    "c import 'sessions/*.json' broken.json nowhere.json",
    "c ls",
    "c chats",
    "c chats --full-time -n 1",
    "c log notes",
    "c log notes -n 3",
    "c show notes m2",
    "c prompt trip",
    "c search venue",
    "c graph notes",
    "c watch sessions --once",
    // To a model.
    "c tokens notes",
    "c tokens trip --model of-a-friend",
    "c prepare trip --provider anthropic --output request.json",
    "c prepare trip --provider anthropic --output request.json",
    "c prepare trip --provider anthropic --output request.json --force",
    "c compact notes --dry-run",
    "c compact notes",
    "c render fragments.json --format markdown",
    // Branches.
    "c checkpoint notes asked --at m2",
    "c fork notes --at m3 --name try",
    "c rewind notes m7",
    "c restore notes asked",
    "c checkpoint notes",
    "c branches notes",
    "c branches notes --log",
    "c branches notes --switch main",
    "c diff notes main try",
    "c cherry-pick notes m17 --onto try",
    "c pin notes m2",
    "c pin notes",
    "c graph notes",
    "c graph notes --reverse -n 2",
    // Runs, memories, results.
    "c trajectory record trip",
    "c trajectory list",
    "c trajectory show trip",
    "c trajectory stats trip",
    "c trajectory graph trip",
    "c trajectory export trip --format atif --output run.json",
    "c trajectory import run.json --session again",
    "c trajectory prune --older-than 90d --dry-run",
    "c memory add 'The venue costs 4,200 EUR.'",
    "c memory list",
    "c memory recall venue",
    "c memory stats",
    "c memory forget --all --dry-run",
    "c memory quarantine --from-session monday --reason 'it was wrong'",
    "c memory quarantined",
    "c memory uses nothing",
    "c memory release nothing",
    "c spill list notes",
    "c spill read notes 3f2a91c0",
    "c spill prune --older-than 1d --dry-run",
    "c streams list notes",
    "c streams show notes answer",
    "c streams prune --older-than 1d --dry-run",
    // Out, and to another store.
    "c export trip --to openai",
    "c export trip --to md -o trip.md",
    "c export trip --to md -o trip.md",
    "c copy trip trip-2",
    "c copy sqlite:context.db sqlite:other.db --dry-run --without rounds,memories",
    "c copy sqlite:context.db sqlite:other.db",
    "c copy sqlite:context.db sqlite:other.db --without rounds,memories",
    "c --store other.db chats -n 2",
    // Names that are nearly right.
    "c log nots",
    "c log notes --branch mian",
    "c restore notes askd",
    "c prepare trip --provider antropic",
    "c lgo notes",
    "c rm notes",
    "c chats -n 0",
    "c --store elsewhere/chats.db chats",
    // Looking after the store.
    "c doctor",
    "c verify",
    "c vacuum --dry-run",
    "c backup monday.db",
    "c backup monday.db",
    "c repair monday.db saved.db",
    "c upgrade",
    "c config set color never",
    "c config get color",
    "c config",
    "c config path",
    "c config unset color",
    "c completions bash | head -n 2 | wc -l",
    "c man chats | head -n 3 | wc -l",
    "c schema chats | wc -l",
    // Removing.
    "c redact notes m4 --dry-run",
    "c redact notes m4",
    "c redact notes m4 --yes",
    "c retain --keep 1 --dry-run --full-time",
    "c delete trip-2 --dry-run",
    "c delete trip-2 --yes",
    "c retain --older-than 90d --dry-run",
    "c erase local --dry-run",
    "c erase local --yes",
    "c chats",
    // Servers, which do not start without what they need.
    "c ui nowhere.json --no-open",
    "c serve --tokens nowhere.txt",
    "c mcp </dev/null",
];

/// The view of the day.
#[derive(Clone, Copy)]
enum View {
    /// On a terminal with this many columns, in colour or without.
    Terminal { columns: u16, colour: bool },
    /// In a pipe.
    Pipe,
    /// As records.
    Json,
}

/// Runs the day and returns what is seen.
fn day(view: View) -> Option<String> {
    let bench = Bench::new();
    bench.file("notes.json", sample());
    fs::create_dir(bench.path().join("sessions")).expect("a folder");
    let trip = r#"[{"role": "user", "content": "Two tickets to Lisbon on the 4th, please."},
        {"role": "assistant", "content": "Window or aisle?"}]"#;
    bench.file("sessions/trip.json", trip);
    bench.file(
        "sessions/旅行.json",
        r#"[{"role": "user", "content": "リスボン行きの切符を二枚お願いします。"}]"#,
    );
    bench.file("broken.json", "[{\"role\": \"user\",}]");
    bench.file("fragments.json", r#"[{"name": "hint", "data": ["a", "b"]}]"#);
    let json = match view {
        View::Json => "--json",
        // Between colours, a distance of time would not be recognized.
        View::Terminal { colour: true, .. } => "--full-time",
        _ => "",
    };
    let program = env!("CARGO_BIN_EXE_context");
    let mut script = format!("c() {{ {program} {json} \"$@\"; }}\n");
    for line in DAY {
        let shown = format!("$ context {}", line.trim_start_matches("c "));
        script += &format!("printf '%s\\n' {}\n{line}\n", quoted(&shown));
        script += "s=$?; [ $s = 0 ] || echo \"(exit status $s)\"\necho\n";
    }
    bench.file("day.sh", script);
    let mut command = match view {
        View::Terminal { columns, .. } => {
            let mut command = Command::new("script");
            let stty = format!("stty cols {columns} rows 500; sh day.sh");
            command.args(["-qec", &stty, "/dev/null"]);
            command
        }
        View::Pipe | View::Json => {
            let mut command = Command::new("sh");
            command.args(["-c", "sh day.sh 2>&1"]);
            command
        }
    };
    for name in ["CONTEXT_STORE", "CONTEXT_USER", "CONTEXT_PAGER", "COLUMNS", "LINES", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.env("CONTEXT_CONFIG", "config.toml").env("PAGER", "cat").env("TERM", "xterm");
    if let View::Terminal { colour: false, .. } = view {
        command.env("NO_COLOR", "1");
    }
    let output = command.current_dir(bench.path()).output().ok()?;
    let text = String::from_utf8(output.stdout).expect("text").replace('\r', "");
    Some(settled(&without_machine(&without_times(&text)), &bench))
}

/// Checks of `doctor` about the machine: their verdict, or only their details, differ.
const OF_MACHINE: [&str; 2] = ["disk", "speed"];
const WITH_NUMBERS: [&str; 5] = ["program", "variables", "file", "open", "size"];

/// Leaves out what `doctor` says about the machine.
fn without_machine(text: &str) -> String {
    let (before, rest) = text.split_once("$ context doctor\n").expect("a line of the day");
    let (report, after) = rest.split_once("\n$ context ").expect("a next line");
    let mut kept = Vec::new();
    let mut is_left_out = false;
    for line in report.lines() {
        if let Ok(record) = serde_json::from_str::<Value>(line) {
            for check in record["checks"].as_array().expect("a list") {
                let is = |names: &[&str]| names.iter().any(|name| check["name"] == *name);
                let [name, status, detail, advice] =
                    ["name", "status", "detail", "advice"].map(|field| check[field].to_string());
                let detail = if is(&WITH_NUMBERS) { "(…)" } else { detail.as_str() };
                if !is(&OF_MACHINE) {
                    kept.push(format!("name {name}, status {status}, {detail}, advice {advice}"));
                }
            }
            continue;
        }
        let named = |names: &[&'static str]| {
            names.iter().copied().find(|name| {
                let mut words = line.split_whitespace().take(3);
                !line.starts_with(' ') && words.any(|word| word == *name)
            })
        };
        let is_of_machine = named(&OF_MACHINE).is_some();
        let with_numbers = named(&WITH_NUMBERS).filter(|_| !is_of_machine);
        let goes_on = line.starts_with(' ');
        is_left_out = is_of_machine || with_numbers.is_some() || is_left_out && goes_on;
        if let Some((verdict, name)) =
            with_numbers.and_then(|it| Some((line.split(it).next()?, it)))
        {
            kept.push(format!("{verdict}{name} (…)"));
        } else if !is_left_out && !line.contains(" problems, ") {
            kept.push(line.to_owned());
        }
    }
    format!("{before}$ context doctor\n{}\n$ context {after}", kept.join("\n"))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Replaces what differs from run to run: ids, sizes of files, the folder, the version.
fn settled(text: &str, bench: &Bench) -> String {
    let folder = bench.path().display().to_string();
    let text = text.replace(&folder, "(folder)").replace(env!("CARGO_PKG_VERSION"), "(version)");
    let mut settled = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
            let (before, word) = rest.split_at(start);
            settled += before;
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
            let (word, after) = word.split_at(end);
            let is_day = word.split('-').map(str::len).eq([4, 2, 2]);
            let hex = |text: &str| text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
            let size = after.split([' ', ',', '\n', ';', ':']).nth(1).unwrap_or_default();
            let is_size = ["KiB", "MiB", "KB", "kB", "MB"].contains(&size);
            settled += if word.len() >= 8
                && !is_day
                && hex(word)
                && word.contains(|c: char| c.is_ascii_digit())
            {
                "(id)"
            } else if is_size {
                "(size)"
            } else {
                word
            };
            rest = after;
        }
        settled += rest;
    }
    settled
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_of_80_columns() {
    let Some(day) = day(View::Terminal { columns: 80, colour: false }) else { return };
    assert_snapshot!("newcomer_80", day);
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_of_200_columns() {
    let Some(day) = day(View::Terminal { columns: 200, colour: false }) else { return };
    assert_snapshot!("newcomer_200", day);
}

#[cfg(target_os = "linux")]
#[test]
fn in_colour() {
    let Some(day) = day(View::Terminal { columns: 100, colour: true }) else { return };
    assert_snapshot!("newcomer_colour", day.replace('\u{1b}', "␛"));
}

#[test]
fn without_a_terminal() {
    assert_snapshot!("newcomer_pipe", day(View::Pipe).expect("there is a shell"));
}

#[test]
fn as_records() {
    assert_snapshot!("newcomer_json", day(View::Json).expect("there is a shell"));
}

#[test]
fn every_command_is_tried() {
    for (name, ..) in COMMANDS {
        // `config` alone lists.
        let is_tried = |line: &&str| line.trim_start_matches("c ").starts_with(name);
        assert!(*name == "config list" || DAY.iter().any(is_tried), "{name}");
    }
}
