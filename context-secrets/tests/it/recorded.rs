//! Recorded conversations, which have hardly any secrets.

use std::path::PathBuf;

use context_secrets::SecretFinder;

/// The most bytes of a file that are searched, so that the test stays short.
const MOST_BYTES: usize = 3_000_000;

/// The most hits in each set. All hits in `bfcl` are credentials of its made-up users, in fields
/// such as `password` and `access_token`: true finds. No other set has one.
const SETS: [(&str, u64); 6] = [
    ("tau-bench", 0),
    ("swe-agent", 0),
    ("toolbench", 0),
    ("claude-code", 0),
    ("bfcl", 200),
    ("vercel-ai-fixtures", 0),
];

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_conversations_give_no_false_alarms() {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let root = std::env::var_os("CONTEXT_TEST_DATA").map_or(beside, PathBuf::from).join("data");
    let finder = SecretFinder::default();
    for (set, most) in SETS {
        let (mut folders, mut bytes, mut hits) = (vec![root.join(set)], 0, 0);
        while let Some(path) = folders.pop() {
            if let Ok(entries) = std::fs::read_dir(&path) {
                folders.extend(entries.flatten().map(|entry| entry.path()));
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let text = &text[..text.floor_char_boundary(MOST_BYTES)];
                bytes += text.len();
                hits += finder.find(text).len() as u64;
            }
        }
        println!("{set}: {hits} hits in {bytes} bytes");
        assert!(bytes > 0, "no data of {set}");
        assert!(hits <= most, "{set}: {hits} hits");
    }
}
