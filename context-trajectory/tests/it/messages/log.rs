//! Tests of the append-only log.

use std::fs;
use std::path::PathBuf;

use context_core::ErrorKind;
use context_trajectory::messages::{MessageLog, MessageRecord};
use tempfile::TempDir;

use super::{ai, result, user};

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.jsonl");
    (folder, path)
}

/// Four records, the second of which was written over several lines.
fn run() -> Vec<MessageRecord> {
    let call = "[{\"name\":\"t\",\n\"args\":{},\"id\":\"1\"}]";
    vec![user("u\nv"), ai("c", call), result("1", "r"), ai("é", "[]")]
}

async fn written(path: &PathBuf) -> Vec<MessageRecord> {
    let (log, _) = MessageLog::open(path).await.unwrap();
    log.append(&run()[..1]).await.unwrap();
    log.append(&run()[1..]).await.unwrap();
    MessageLog::read(path).await.unwrap().records
}

#[tokio::test]
async fn what_was_appended_is_there() {
    let (_folder, path) = place();
    assert_eq!(MessageLog::read(&path).await.unwrap_err().kind(), ErrorKind::NotFound);
    let records = written(&path).await;
    let on_a_line = |record: &MessageRecord| record.to_json();
    assert_eq!(
        records.iter().map(on_a_line).collect::<Vec<_>>(),
        run().iter().map(on_a_line).collect::<Vec<_>>()
    );
    let (log, loaded) = MessageLog::open(&path).await.unwrap();
    assert_eq!((loaded.records, loaded.torn), (records, None));
    assert_eq!(log.len().await, 4);
    let text = fs::read_to_string(&path).unwrap();
    insta::assert_snapshot!(text.lines().take(2).collect::<Vec<_>>().join("\n"), @r#"
    {"check":"1099e021e3f2a946","record":{"form":"context messages","version":1}}
    {"check":"c4865715075c4003","record":{"type":"HumanMessage","content":"u\nv"}}
    "#);
}

#[tokio::test]
async fn a_write_that_broke_off_anywhere_loses_nothing_that_was_whole() {
    let (_folder, path) = place();
    let records = written(&path).await;
    let bytes = fs::read(&path).unwrap();
    for end in 0..=bytes.len() {
        for zeros in [0, 3] {
            let mut torn = bytes[..end].to_vec();
            torn.resize(end + zeros, 0);
            fs::write(&path, &torn).unwrap();
            // A line is complete without its line feed. The first line is not a record.
            let feeds = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
            let unended = zeros == 0 && bytes.get(end) == Some(&b'\n');
            let whole = (feeds + usize::from(unended)).saturating_sub(1);
            let looked = MessageLog::read(&path).await.unwrap();
            assert_eq!(looked.records, records[..whole], "{end} {zeros}");
            assert_eq!(fs::read(&path).unwrap(), torn);
            let (log, loaded) = MessageLog::open(&path).await.unwrap();
            assert_eq!((&loaded.records, loaded.torn), (&looked.records, looked.torn));
            let ends_well = zeros == 0 && (end == 0 || unended || bytes[end - 1] == b'\n');
            assert_eq!(loaded.torn.is_none(), ends_well, "{end} {zeros}");
            log.append(&run()[3..]).await.unwrap();
            let after = MessageLog::read(&path).await.unwrap();
            assert_eq!((after.records.len(), after.torn), (whole + 1, None));
        }
    }
}

#[tokio::test]
async fn damage_names_its_line_and_is_never_written_over() {
    let (_folder, path) = place();
    written(&path).await;
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in
        [("\"r\"", "\"s\""), ("{\"check\":\"", "{\"chick\":\""), ("\"record\"", "\"recard\"")]
    {
        // Damage in the fourth line.
        let at = text.match_indices('\n').nth(2).unwrap().0;
        let damaged = format!("{}{}", &text[..at], text[at..].replacen(from, to, 1));
        assert_ne!(damaged, text);
        fs::write(&path, &damaged).unwrap();
        for error in
            [MessageLog::open(&path).await.unwrap_err(), MessageLog::read(&path).await.unwrap_err()]
        {
            assert_eq!((error.kind(), error.get("line")), (ErrorKind::Corrupt, Some("4")));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }
}

#[tokio::test]
async fn files_of_other_forms_are_left_alone() {
    let (_folder, path) = place();
    for text in
        ["{\"messages\": []}", "{\"messages\": []}\n", "{\"check\":\"x", "[", "\u{feff}", "\n"]
    {
        fs::write(&path, text).unwrap();
        let error = MessageLog::open(&path).await.unwrap_err();
        assert_eq!(error.get("line"), Some("1"), "{text:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let (_other, missing) = place();
    let nowhere = missing.join("no/folder");
    assert_eq!(MessageLog::open(&nowhere).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused() {
    let (_folder, path) = place();
    written(&path).await;
    let text = fs::read_to_string(&path).unwrap();
    let rest = text.split_once('\n').unwrap().1;
    let header = r#"{"form":"context messages","version":2}"#;
    let check = &blake3::hash(header.as_bytes()).to_hex()[..16];
    fs::write(&path, format!("{{\"check\":\"{check}\",\"record\":{header}}}\n{rest}")).unwrap();
    let error = MessageLog::open(&path).await.unwrap_err();
    assert_eq!((error.kind(), error.get("version")), (ErrorKind::Unsupported, Some("2")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn appends_of_several_logs_never_mix() {
    let (_folder, path) = place();
    let mut logs = Vec::new();
    for _ in 0..4 {
        logs.push(MessageLog::open(&path).await.unwrap().0.unsynced());
    }
    let append = |(i, log): (usize, MessageLog)| {
        tokio::spawn(async move {
            for k in 0..25 {
                log.append(&[user(&format!("{i} {k}")), ai(&format!("{i} {k}"), "[]")])
                    .await
                    .unwrap();
            }
        })
    };
    let tasks: Vec<_> = logs.into_iter().enumerate().map(append).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let records = MessageLog::read(&path).await.unwrap().records;
    assert_eq!(records.len(), 200);
    assert!(records.chunks(2).all(|pair| pair[0].text() == pair[1].text()));
    // The records of each log are in the order in which they were appended.
    let of_one = records.iter().filter(|record| record.text().starts_with("2 ")).step_by(2);
    let texts: Vec<_> = of_one.map(MessageRecord::text).collect();
    assert_eq!(texts, (0..25).map(|k| format!("2 {k}")).collect::<Vec<_>>());
}

#[cfg(unix)]
#[tokio::test]
async fn what_took_the_place_of_the_file_is_not_written_to() {
    let (_folder, path) = place();
    let (log, _) = MessageLog::open(&path).await.unwrap();
    log.append(&run()).await.unwrap();
    let other = path.with_extension("other");
    fs::write(&other, "other").unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(log.append(&run()).await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(fs::read_to_string(&path).unwrap(), "other");
}

#[tokio::test]
async fn a_file_that_somebody_cut_is_not_written_to() {
    let (_folder, path) = place();
    let (log, _) = MessageLog::open(&path).await.unwrap();
    log.append(&run()).await.unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10).unwrap();
    assert_eq!(log.append(&run()).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(fs::metadata(&path).unwrap().len(), 10);
}
