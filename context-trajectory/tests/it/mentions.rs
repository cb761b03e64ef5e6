//! Files that a question mentions, and their backup copies.

use std::collections::HashSet;
use std::sync::Arc;

use context_core::trajectory::{NewQuery, NodeBody};
use context_trajectory::{Backups, FileLookup, HostFiles, MentionedFiles, mentioned_files};
use proptest::prelude::*;

use crate::fixture::{open, process, round_store};

#[test]
fn paths_are_found_and_nothing_that_only_looks_like_one() {
    let text = "Compare /data/a.csv, '/my files/b c.md' and ~/notes.txt:12-40. See (C:\\temp\\x.log) and \
                /src/main.rs:10:5! Not https://host/a/b nor and/or nor 1/2, // or ./here; 看/数据/表.xlsx";
    insta::assert_snapshot!(mentioned_files(text).join("\n"), @r"
    /data/a.csv
    /my files/b c.md
    ~/notes.txt
    C:\temp\x.log
    /src/main.rs
    /数据/表.xlsx
    ");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_among_any_words_is_found_and_no_text_is_a_panic(text in "\\PC{0,40}", name in "[a-z]{1,8}") {
        mentioned_files(&text);
        let path = format!("/data/{name}.csv");
        let asked = format!("{} {path}: {text}", text.replace(['"', '\'', '`'], " "));
        prop_assert!(mentioned_files(&asked).contains(&path));
    }
}

struct KnownFiles(HashSet<&'static str>);

impl FileLookup for KnownFiles {
    fn find(&self, path: &str) -> Option<String> {
        self.0.contains(path).then(|| path.to_owned())
    }
}

#[tokio::test]
async fn files_hang_below_the_question_and_the_callers_own_list_is_kept() {
    let store = round_store();
    let context = open(&process(&store, "a").build().unwrap(), 0).await;
    let files = MentionedFiles::new(Arc::new(KnownFiles(["/data/a.csv", "/data/b.md"].into())));
    let query =
        NewQuery::new("Compare /data/a.csv with /data/b.md and /data/none.md").files(["own.pdf"]);
    let (query, nodes) = context.ask_with_files(query, &files).await.unwrap();
    let round = context.round();
    let shown: Vec<String> =
        round.edges().map(|edge| format!("{} {}", edge.name, edge.to)).collect();
    assert_eq!(shown, ["has_additional_table 0.1", "has_additional_file 0.2"]);
    assert_eq!(nodes.len(), 2);
    assert_eq!(round.additional_files(), ["own.pdf"]);
    assert_eq!(round.endpoints().collect::<Vec<_>>(), [query]);
    assert_eq!(context.unsaved(), 0);
}

#[tokio::test]
async fn copies_are_named_by_content_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let backups = Backups::new(folder.path().join("backup")).limit(8);
    let (main, sub) = (file("main/a.md", "one"), file("sub/a.md", "two"));
    let same = file("other/a.md", "one");
    let mut copies = Vec::new();
    for path in [main, sub, same] {
        let body = backups.back_up(NodeBody::file(path)).await.unwrap();
        copies.push(body.text("path_backup").to_owned());
    }
    assert_eq!(std::fs::read_to_string(&copies[0]).unwrap(), "one");
    assert_eq!(std::fs::read_to_string(&copies[1]).unwrap(), "two");
    assert_eq!(copies[0], copies[2]);
    for path in [file("large.md", "more than eight"), "/none/such".into()] {
        let body = backups.back_up(NodeBody::file(path)).await.unwrap();
        assert_eq!(body.text("path_backup"), "");
    }
    assert_eq!(std::fs::read_dir(folder.path().join("backup")).unwrap().count(), 2);
    assert_eq!(HostFiles.find(folder.path().to_str().unwrap()), None, "a folder is no file");
}
