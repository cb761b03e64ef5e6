//! Files with chats that are not sound.

use std::io::Cursor;

use context_runtime::transfer::{ChatOutcome, ImportJsonl, check_jsonl};
use context_runtime::{CancelSource, ChatRef, ErrorKind};

use super::{chat, import, lenient, sound};
use crate::kit::store;

/// Returns a file of two chats, the first of which has these lines after its own. Each line has the
/// form `{"type": …}`.
fn damaged(lines: &[&str]) -> String {
    let chat = |name: &str| {
        format!(
            r#"{{"type":"chat","v":1,"chat":"{name}","active":"main","created_at":1,"updated_at":9}}"#
        )
    };
    let good = [
        r#"{"type":"branch","name":"main","head":"a","created_at":1}"#,
        r#"{"type":"message","id":"a","created_at":1,"role":"user","body":{"kind":"message","v":1,"json":{"role":"user","parts":[]}}}"#,
        r#"{"type":"end","messages":1}"#,
    ];
    let (bad, sound) = (chat("bad"), chat("good"));
    let all =
        [bad.as_str()].into_iter().chain(lines.iter().copied()).chain([sound.as_str()]).chain(good);
    all.collect::<Vec<_>>().join("\n")
}

fn message(id: &str, parent: &str, role: &str, body: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("{parent:?}") };
    format!(
        r#"{{"type":"message","id":{id:?},"parent":{parent},"created_at":1,"role":"{role}","body":{body}}}"#
    )
}

/// Each damage is reported with its line, excludes its chat, and leaves a store that its own check
/// finds sound.
#[tokio::test]
async fn damaged_chats_are_refused_with_the_line_before_anything_is_written() {
    let body = r#"{"kind":"message","v":1,"json":{"role":"user","parts":[]}}"#;
    let ok = |id: &str, parent: &str| message(id, parent, "user", body);
    let branch = r#"{"type":"branch","name":"main","head":"a","created_at":1}"#;
    let end = |n: u32| format!(r#"{{"type":"end","messages":{n}}}"#);
    let long = "x".repeat(context_runtime::limits::MAX_ID_BYTES + 1);
    let revised = ok("a", "").replace(
        r#""role":"user","body""#,
        &format!(
            r#""revision":9,"revisions":[{{"replaced_at":2,"role":"user","revision":1,"body":{body}}}],"role":"user","body""#
        ),
    );
    let cases: Vec<(u64, &str, Vec<String>)> = vec![
        (
            3,
            "stored as",
            vec![
                branch.into(),
                message("a", "", "user", &body.replace("\"message\"", "\"thing\"")),
                end(1),
            ],
        ),
        (
            3,
            "version",
            vec![
                branch.into(),
                message("a", "", "user", &body.replace("\"v\":1", "\"v\":99")),
                end(1),
            ],
        ),
        (3, "no known kind", vec![branch.into(), message("a", "", "judge", body), end(1)]),
        (3, "stored as", vec![branch.into(), message("a", "", "assistant", body), end(1)]),
        (
            3,
            "cannot be read",
            vec![branch.into(), message("a", "", "user", &body.replace("[]", "7")), end(1)],
        ),
        (4, "twice", vec![branch.into(), ok("a", ""), ok("a", ""), end(2)]),
        (4, "does not come before it", vec![branch.into(), ok("a", ""), ok("b", "x"), end(2)]),
        (3, "does not come before it", vec![branch.into(), ok("a", "b"), ok("b", "a"), end(2)]),
        (3, "too long", vec![branch.into(), ok(&long, ""), end(1)]),
        (3, "empty", vec![branch.into(), ok("", ""), end(1)]),
        (
            2,
            "not a message of the chat",
            vec![branch.replace("\"a\"", "\"z\""), ok("a", ""), end(1)],
        ),
        (3, "twice", vec![branch.into(), branch.into(), ok("a", ""), end(1)]),
        (1, "active", vec![branch.replace("main", "side"), ok("a", ""), end(1)]),
        (
            3,
            "not a message of the chat",
            vec![
                branch.into(),
                r#"{"type":"checkpoint","name":"p","message":"z","created_at":1}"#.into(),
                ok("a", ""),
                end(1),
            ],
        ),
        (4, "reached by no", vec![branch.into(), ok("a", ""), ok("b", "a"), end(2)]),
        (4, "announced", vec![branch.into(), ok("a", ""), end(2)]),
        (3, "revisions", vec![branch.into(), revised, end(1)]),
        (4, "begins before", vec![branch.into(), ok("a", "")]),
        (2, "type", vec![r#"{"type":"secret"}"#.into(), branch.into(), ok("a", ""), end(1)]),
    ];
    for (line, problem, lines) in cases {
        let store = store().await;
        let text = damaged(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let imported = import(&*store, &text, &lenient()).await.unwrap();
        let broken: Vec<_> =
            imported.broken.iter().map(|it| (it.line, &*it.diagnostic.message)).collect();
        assert!(
            matches!(broken[..], [(at, text)] if at == line && text.contains(problem)),
            "{problem}: {broken:?}"
        );
        assert_eq!(imported.chats[0].outcome, ChatOutcome::Refused, "{problem}");
        assert_eq!(store.history().chat(&chat("bad")).await.unwrap(), None, "{problem}");
        assert!(
            imported.chats[1].written().is_some_and(|written| written.messages == 1),
            "{problem}"
        );
        sound(&*store).await;
        let cancel = CancelSource::new().signal();
        assert_eq!(
            check_jsonl(&mut Cursor::new(&text), &cancel).unwrap_err().get("line"),
            Some(&*line.to_string())
        );
        let strict = ImportJsonl { strict: true, ..ImportJsonl::new("eve") };
        assert_eq!(import(&*store, &text, &strict).await.unwrap_err().kind(), ErrorKind::Invalid);
        let good = ChatRef::new("eve", "good");
        assert_eq!(store.history().chat(&good).await.unwrap(), None, "strict keeps nothing");
    }
}

/// Lines without a chat are reported once, however many there are.
#[tokio::test]
async fn a_chat_whose_first_line_is_broken_costs_itself() {
    let store = store().await;
    let text = damaged(&[]);
    let (first, rest) = text.split_once('\n').unwrap();
    let text = format!("{}\n{}\n{rest}\n", &first[..20], r#"{"type":"end","messages":0}"#);
    let imported = import(&*store, &text, &lenient()).await.unwrap();
    assert_eq!(imported.broken.iter().map(|broken| broken.line).collect::<Vec<_>>(), [1]);
    assert_eq!(imported.chats.len(), 1);
    assert!(imported.chats[0].written().is_some());
}
