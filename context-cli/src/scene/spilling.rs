//! Blobs: listed, read, dropped.

use context_runtime::{
    ChatRef, Timestamp,
    store::{BlobId, NewBlob},
};
use insta::assert_snapshot;
use serde_json::json;

use super::{DAY, START, Scene};

const REPORT: &str = "line one\nline two\n";

impl Scene {
    fn put(&self, chat: &str, new: NewBlob) -> BlobId {
        let blobs = self.store.blobs().expect("a store in memory keeps blobs");
        let put = self.runtime.block_on(blobs.put_blob(&ChatRef::new("local", chat), new));
        put.expect("the chat is there").id
    }
}

/// Two chats that share a report. The first is older and has more blobs.
fn reports() -> Scene {
    let scene = Scene::new();
    for chat in ["support", "later"] {
        scene.import(chat, &json!([{"role": "user", "content": chat}]));
    }
    let at = |days: i64| Timestamp::from_micros(START + days * DAY);
    scene.put("support", NewBlob::new(REPORT, at(0)).media_type("text/plain"));
    scene.put("support", NewBlob::new(vec![0, 159, 146, 150], at(1)));
    scene.put(
        "support",
        NewBlob::new("x".repeat(20_000), at(2)).media_type("text/\u{1b}[31m\nhtml"),
    );
    scene.put("later", NewBlob::new(REPORT, at(40)).media_type("text/plain"));
    scene.pass(41 * DAY);
    scene
}

#[test]
fn blobs_are_listed_read_and_dropped() {
    let scene = reports();
    let (report, short) = (
        BlobId::of(REPORT.as_bytes()).to_string(),
        &BlobId::of(REPORT.as_bytes()).to_string()[..8],
    );
    assert_snapshot!(
        "spill",
        scene.show(&[
            "spill list support",
            "spill list later",
            &format!("spill read support {report}"),
            &format!("spill read later blob:{report} --range 5..8"),
            &format!("spill read support {short} --range 9.."),
            &format!("spill read support {short} --range 100..200"),
            "spill prune --chat support --dry-run",
            "spill prune --older-than 40d --dry-run",
            "spill prune",
            "spill prune --yes",
            "spill prune",
            "spill list support",
            "spill list later",
            "verify",
        ])
    );
}

#[test]
fn what_is_not_there_is_said_with_what_to_do() {
    let scene = reports();
    let gone = BlobId::of(b"gone");
    assert_snapshot!(
        "spill_absent",
        scene.show(&[
            "spill list nobody",
            "spill read nobody 00",
            "spill read support zz",
            &format!("spill read support {gone}"),
            "spill prune --chat nobody",
        ])
    );
}

#[test]
fn a_beginning_must_mean_one_blob() {
    let scene = reports();
    // Of 17 hashes two start with the same digit.
    for i in 0..17 {
        scene.put("support", NewBlob::new(format!("blob {i}"), Timestamp::from_micros(START)));
    }
    let firsts: Vec<_> = scene
        .records("spill list support")
        .iter()
        .map(|blob| blob["blob"].to_string()[1..2].to_owned())
        .collect();
    let twice =
        firsts.iter().find(|first| firsts.iter().filter(|other| other == first).count() > 1);
    let told = scene.show(&[&format!("spill read support {}", twice.expect("17 of 16"))]);
    assert!(
        told.contains("matches more than one blob")
            && told.contains("give more characters of the id"),
        "{told}"
    );
}

#[test]
fn blobs_have_records() {
    let scene = reports();
    let report = BlobId::of(REPORT.as_bytes()).to_string();
    assert_eq!(
        scene.records("spill list later"),
        [
            json!({"v": 1, "chat": "later", "blob": report, "bytes": 18, "media_type": "text/plain", "references": 2,
            "created_at": "2026-02-10T00:00:00Z", "used_at": "2026-02-10T00:00:00Z"})
        ]
    );
    assert_eq!(
        scene.records(&format!("spill read support {report} --range 5..8")),
        [
            json!({"v": 1, "chat": "support", "blob": report, "bytes": 18, "media_type": "text/plain", "start": 5,
            "end": 8, "file": null, "text": "one", "base64": null})
        ]
    );
    let binary = BlobId::of(&[0, 159, 146, 150]);
    let read = &scene.records(&format!("spill read support {binary}"))[0];
    assert_eq!((&read["text"], &read["base64"]), (&json!(null), &json!("AJ+Slg==")));
    for (option, status) in [("--dry-run", "would_go"), ("--yes", "removed")] {
        let record = scene.records(&format!("spill prune --older-than 36d {option}")).remove(0);
        let counts = ["references", "blobs", "bytes", "status"].map(|field| record[field].clone());
        assert_eq!(counts, [json!(3), json!(2), json!(20_004), json!(status)]);
        let items = record["items"].as_array();
        assert_eq!(items.map(Vec::len), (option == "--dry-run").then_some(3));
        assert!(items.is_none_or(|items| items[0]["bytes"].as_u64() > Some(0)));
        assert_eq!(record["not_reached"][0], "what messages and memories quote");
    }
    assert_eq!(scene.records("verify")[0]["blobs"], 1);
    // Listing does not count as use.
    assert_eq!(scene.records("spill list later")[0]["used_at"], "2026-02-10T00:00:00Z");
}

#[test]
fn bytes_go_to_a_new_file() {
    let scene = reports();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("report.txt");
    let line =
        format!("spill read support {} --output {}", BlobId::of(REPORT.as_bytes()), file.display());
    assert_eq!(scene.records(&line)[0]["file"], json!(file.display().to_string()));
    assert_eq!(std::fs::read_to_string(&file).expect("it was written"), REPORT);
    let again = scene.show(&[&line]);
    assert!(again.contains("exists") && again.contains("choose another name"), "{again}");
}
