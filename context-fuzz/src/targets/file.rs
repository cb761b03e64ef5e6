//! Files in folders: skills, instructions, message logs, rounds of trajectories.

use context_core::Timestamp;
use context_core::store::{RecordOutcome, RoundCommit, RoundQuery, TrajectoryStore};
use context_core::trajectory::{AgentRef, Change, NewNode, NewQuery, NodeBody, Round};
use context_instructions::{InstructionFiles, InstructionOptions, Skill};
use context_trajectory::FileChannel;
use context_trajectory::messages::{MessageLog, MessageRecord};

use crate::scratch::{in_folder, wait};

/// Checks that a skill has a name and a description, and that its instructions can be read.
pub(crate) fn skill(bytes: &[u8]) -> bool {
    in_folder(|folder| {
        let path = folder.join("SKILL.md");
        std::fs::write(&path, bytes).expect("a file");
        let Ok(skill) = Skill::read(&path) else { return false };
        assert!(!skill.name.trim().is_empty() && !skill.description.trim().is_empty());
        let text = skill.instructions().expect("what has front matter has a body");
        assert!(text.len() <= bytes.len());
        true
    })
}

pub(crate) fn skill_seeds() -> Vec<Vec<u8>> {
    super::texts([
        "---\nname: book-trips\ndescription: Books trips: ask first.\nlicense: MIT\nallowed-tools:\n  - look\n  - {a: 1.50}\n---\n\nAsk before you pay.\n",
        "---\r\nname: \"x\"\r\ndescription: >\r\n  folded\r\n  text\r\n---\r\n",
        "---\nname: &a x\ndescription: *a\n---",
    ])
}

/// Checks that the shown part of any file keeps its limit.
pub(crate) fn instructions(bytes: &[u8]) -> bool {
    const MOST: usize = 512;
    in_folder(|folder| {
        std::fs::write(folder.join("AGENTS.md"), bytes).expect("a file");
        let options = InstructionOptions::default().with_root(folder).with_max_file_bytes(MOST);
        let scan = InstructionFiles::new(folder, options).scan(Timestamp::from_micros(0));
        for file in &scan.files {
            let shown =
                file.bytes.checked_sub(file.left_out).expect("no more is left out than there is");
            assert!(shown <= MOST as u64, "{shown} bytes are shown");
        }
        !scan.files.is_empty()
    })
}

pub(crate) fn instructions_seeds() -> Vec<Vec<u8>> {
    super::texts([
        "# Rules\n\nAsk before you pay.\n",
        "\u{feff}<!-- note -->\r\n@other.md\n\u{e9}\n",
    ])
}

/// Checks that a log that can be opened can be extended: appended records follow the existing ones.
pub(crate) fn message_log(bytes: &[u8]) -> bool {
    in_folder(|folder| {
        let path = folder.join("messages.jsonl");
        std::fs::write(&path, bytes).expect("a file");
        wait(async {
            let read = MessageLog::read(&path).await;
            let Ok((log, loaded)) = MessageLog::open(&path).await else { return false };
            assert_eq!(read.expect("what can be opened can be read").records, loaded.records);
            let more: MessageRecord = record();
            log.unsynced().append(std::slice::from_ref(&more)).await.expect("a log that is open");
            let after =
                MessageLog::read(&path).await.expect("what was written can be read").records;
            assert_eq!(after.split_last(), Some((&more, &*loaded.records)));
            true
        })
    })
}

fn record() -> MessageRecord {
    let json = context_core::Json::from_text(r#"{"type":"HumanMessage","content":"u","k":1.50}"#);
    MessageRecord::from_json(&json.expect("JSON")).expect("a record")
}

pub(crate) fn message_log_seeds() -> Vec<Vec<u8>> {
    in_folder(|folder| {
        let path = folder.join("new.jsonl");
        wait(async {
            let (log, _) = MessageLog::open(&path).await.expect("a new log");
            log.unsynced().append(&[record(), record()]).await.expect("a log that is open");
        });
        let written = std::fs::read(&path).expect("a file");
        std::fs::remove_file(&path).expect("a file");
        let torn = written[..written.len() - 9].to_vec();
        vec![written, torn]
    })
}

const ROUND_FILE: &str = "ada/s/agent-0.round-0.jsonl";

/// Checks that a round that can be read from its file is sound, and is the same when it is read
/// again.
pub(crate) fn trajectory(bytes: &[u8]) -> bool {
    in_folder(|folder| {
        let root = folder.join("rounds");
        let file = root.join(ROUND_FILE);
        std::fs::create_dir_all(file.parent().unwrap_or(&root)).expect("a folder");
        std::fs::write(&file, bytes).expect("a file");
        let head = root.join("ada/s/agent-0.round-0.meta.json");
        let _ = std::fs::remove_file(head);
        let agent = AgentRef::main("ada", "s");
        wait(async {
            let files = FileChannel::new(&root);
            let Ok(rounds) = files.load_rounds(&agent, 0..=u32::MAX).await else { return false };
            for record in &rounds {
                let round = Round::from_record(record.clone()).expect("what is read is sound");
                assert_eq!(&round.to_record(), record);
            }
            let listed = files
                .rounds(&RoundQuery::of_user("ada"))
                .await
                .expect("what is read is listed")
                .items;
            assert_eq!(listed, rounds.iter().map(|record| record.head.clone()).collect::<Vec<_>>());
            let again = FileChannel::new(&root).load_rounds(&agent, 0..=u32::MAX).await;
            assert_eq!(again.expect("what was read is read again"), rounds);
            !rounds.is_empty()
        })
    })
}

pub(crate) fn trajectory_seeds() -> Vec<Vec<u8>> {
    let root = tempfile::tempdir().expect("a folder");
    let files = FileChannel::new(root.path());
    wait(async {
        for (number, commit) in commits().into_iter().enumerate() {
            let commit = RoundCommit::new(format!("key-{number}"), commit.0, commit.1.head());
            let outcome = files.record_round(&commit).await.expect("a commit");
            assert_eq!(outcome, RecordOutcome::Applied);
        }
    });
    vec![std::fs::read(root.path().join(ROUND_FILE)).expect("a file")]
}

/// Returns the commits of a round, each with its changes and the round after it.
pub(crate) fn commits() -> Vec<(Vec<Change>, Round)> {
    let at = Timestamp::from_micros;
    let mut round = Round::new(AgentRef::main("ada", "s").round(0), at(1));
    let (query, asked) = round.ask(NewQuery::new("why?"), at(10)).expect("a question");
    round.committed();
    let first = (asked, round.clone());
    let body = NodeBody::action("look", serde_json::json!({"z": 1.5, "a": "\u{e9}"}));
    let node = NewNode::new(body, [query]).edge("triggers");
    let (_, added) = round.add(node, at(20)).expect("an action");
    round.committed();
    vec![first, (added, round)]
}
