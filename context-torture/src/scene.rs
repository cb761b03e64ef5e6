//! A store with every kind of content, and the commands that read it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use context_runtime::store::{BlobId, NewBlob, StreamAppend, StreamClaim, StreamEnd};
use context_runtime::{ChatRef, StreamId, Timestamp};
use serde_json::{Value, json};

use crate::command::{CommandOutput, run_in_process, store_args};

/// The owner of the chats, and the default user of the command.
const USER: &str = "local";
const REPORT: &str = "A report that was too long for its message. Pay 100 to Ines.\n";

/// An export of everything that JSON Lines can hold.
pub const EXPORT: &str = "export --all --to jsonl --without rounds,memories,streams";

/// A store in a file, with an export of its content.
#[derive(Debug)]
pub struct Scene {
    /// The database.
    pub store: PathBuf,
    /// All chats as JSON Lines.
    pub lines: Vec<u8>,
}

impl Scene {
    /// Creates a store in a folder.
    pub fn new(folder: &Path) -> Result<Self> {
        let store = folder.join("sound.db");
        let run_command = |args: &[&str]| -> Result<CommandOutput> {
            let output = run_in_process(store_args(&store, args));
            ensure!(output.succeeded, "{args:?}: {}", output.err());
            Ok(output)
        };
        for chat in ["trip", "bill"] {
            let file = folder.join(format!("{chat}.json"));
            fs::write(&file, messages(chat).to_string())?;
            let _ = run_command(&[
                "import",
                "--trajectory",
                "--chat",
                chat,
                &file.display().to_string(),
            ])?;
        }
        let _ = run_command(&["checkpoint", "trip", "before", "--at", "m4"])?;
        let _ = run_command(&["rewind", "trip", "m3"])?;
        let _ = run_command(&["fork", "bill", "other"])
            .or_else(|_| run_command(&["rewind", "bill", "m2"]))?;
        let _ = run_command(&["redact", "bill", "m1", "--yes"])?;
        let _ = run_command(&[
            "compact",
            "bill",
            "--window",
            "2000",
            "--reserve",
            "200",
            "--policy",
            "truncate-head",
        ]);
        let _ = run_command(&["memory", "add", "Ines pays 100 for the venue."])?;
        let _ = run_command(&["memory", "add", "--fact", "venue", "costs", "4200"])?;
        add_blobs_and_streams(&store)?;
        let lines = run_command(&EXPORT.split(' ').collect::<Vec<_>>())?.out;
        // No WAL file may remain next to the database, since copies would lack it.
        let _ = run_command(&["verify"])?;
        let copy = folder.join("whole.db");
        let _ = run_command(&["backup", &copy.display().to_string()])?;
        fs::rename(&copy, &store)?;
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(folder.join(format!("sound.db{end}")));
        }
        Ok(Self { store, lines })
    }
}

/// Adds content that commands cannot create: blobs and streams.
fn add_blobs_and_streams(store: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = context_runtime::open(&format!("sqlite:{}", store.display())).await?;
        let (chat, at) =
            (ChatRef::new(USER, "trip"), Timestamp::from_micros(1_767_225_600_000_000));
        let blobs = store.blobs().context("a SQLite store keeps blobs")?;
        let _ = blobs.put_blob(&chat, NewBlob::new(REPORT, at).media_type("text/plain")).await?;
        let streams = store.streams().context("a SQLite store keeps streams")?;
        let id = StreamId::from("answer-1");
        let _ = streams.create_stream(&chat, &id, at).await?;
        let _ = streams.claim_stream(&chat, &id, &StreamClaim::new("w", at)).await?;
        let chunks: [&'static [u8]; 3] = [b"Window ", b"or ", b"aisle? Pay 100.\n"];
        let mut append = StreamAppend::new("w", 0, chunks, at);
        append.end = Some(StreamEnd::Completed);
        let _ = streams.append_stream(&chat, &id, append).await?;
        Ok(())
    })
}

/// Returns a conversation with calls, enough for two rounds.
fn messages(chat: &str) -> Value {
    let call = |id: &str, name: &str| {
        json!({"id": id, "type": "function",
        "function": {"name": name, "arguments": "{\"to\":\"Lisbon\"}"}})
    };
    let filler = |n: usize| json!({"role": "user", "content": format!("{chat} {n}: pay 100 to Ines, not to Bob.")});
    let mut all = vec![
        json!({"role": "system", "content": format!("You sell tickets for the {chat}.")}),
        json!({"role": "user", "content": format!("Two tickets to Lisbon for the {chat}.")}),
        json!({"role": "assistant", "content": "I look it up.", "tool_calls": [call("c1", "trains")]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "10:05, 100 EUR each"}),
        json!({"role": "assistant", "content": "There is a train at 10:05."}),
    ];
    for n in 0..20 {
        all.push(filler(n));
        all.push(json!({"role": "assistant",
                "content": format!("Paid {n}00. {}", "It is done. ".repeat(20))}));
    }
    Value::Array(all)
}

/// Returns the read commands for a store with the content of [`Scene`]. The output of none depends
/// on the time.
pub fn read_commands() -> Vec<Vec<String>> {
    let blob = BlobId::of(REPORT.as_bytes()).to_string();
    let lines = [
        EXPORT,
        "trajectory export trip --format atif",
        "trajectory show trip --json",
        "memory list --json",
        "memory recall venue --json",
        "spill list trip --json",
        "streams show trip answer-1",
        "chats --json",
        "log trip --json",
        "log bill --json",
        "show bill m4 --json",
        "search Lisbon --json",
        "branches trip --json",
        "checkpoint trip --json",
        "prompt bill --json",
        "graph trip --json",
        "memory stats --json",
        "trajectory list --json",
        "trajectory stats trip --json",
        "streams list trip --json",
        "export --all --to openai",
        "tokens bill --json",
        "prepare bill --provider openai --reserve 100",
    ];
    let mut all: Vec<Vec<String>> =
        lines.iter().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
    all.push(["spill", "read", "trip", &blob].map(str::to_owned).to_vec());
    all
}

/// Runs a read command on a store.
pub fn run_read_command(store: &Path, args: &[String]) -> CommandOutput {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    run_in_process(store_args(store, &args))
}
