//! Deleted branches: what remains in the file, and other handles that do not know of the deletion.

use context_core::message::NodeKind;
use context_core::store::{BranchDeletion, CommitOutcome};
use context_core::{ChatRef, Encoded, ErrorKind, Node, Store};

use crate::store_fixture::{StoreFixture, T, extend, is_found, many, says, some, stay};

async fn delete(fixture: &StoreFixture, chat: &ChatRef, branch: &str, head: &str) -> u64 {
    let head = some(head);
    match fixture.history().delete_branch(chat, &branch.into(), head.as_ref(), T).await.unwrap() {
        BranchDeletion::Deleted { messages } => messages,
        other => panic!("{other:?}"),
    }
}

/// Returns the numbers of branches, of runs and tails, of messages, boundaries and revisions.
async fn rows(fixture: &StoreFixture) -> [i64; 5] {
    [
        fixture.number("SELECT count(*) FROM branch").await,
        fixture.number("SELECT (SELECT count(*) FROM run) + count(tail) FROM branch").await,
        fixture.number("SELECT count(*) FROM spot").await,
        fixture.number("SELECT count(*) FROM boundary").await,
        fixture.number("SELECT count(*) FROM revision").await,
    ]
}

#[tokio::test]
async fn a_deleted_branch_is_cut_down_to_what_forks_and_checkpoints_need() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "chat").await;
    fixture.extend(&chat, "main", "", many("m", 3)).await;
    let empty = rows(&fixture).await;
    let mut side = many("s", 200);
    let cut = |id: &str| {
        Node::from_encoded(id.into(), NodeKind::Boundary, T, Encoded::new("cut", 1, "[]"))
    };
    side[20] = cut("s20").into();
    side[150] = cut("s150").into();
    fixture.fork(&chat, "side", "m1", side).await;
    fixture.fork(&chat, "leaf", "s99", many("l", 5)).await;
    let mut amend = stay(&chat);
    amend.amendments = vec![says("s10", "new"), says("s180", "new")];
    crate::store_fixture::apply(fixture.history(), amend).await;
    fixture.history().set_checkpoint(&chat, &"point".into(), &"s29".into(), T).await.unwrap();

    // The fork needs 100 of 200 messages. The others are deleted with their boundary and revision.
    assert_eq!(delete(&fixture, &chat, "side", "s199").await, 100);
    assert_eq!(rows(&fixture).await, [3, 1 + 2 + 1, 3 + 100 + 5, 1, 1]);
    assert_eq!(fixture.problems().await, [""; 0]);
    // Without the fork, the checkpoint needs 30 messages.
    assert_eq!(delete(&fixture, &chat, "leaf", "l4").await, 70 + 5);
    assert_eq!(rows(&fixture).await, [2, 1 + 1, 3 + 30, 1, 1]);
    assert_eq!(fixture.problems().await, [""; 0]);
    // A checkpoint that moves no longer keeps its old message.
    fixture.history().set_checkpoint(&chat, &"point".into(), &"s9".into(), T).await.unwrap();
    assert_eq!(rows(&fixture).await, [2, 1 + 1, 3 + 10, 0, 0]);
    assert!(fixture.history().delete_checkpoint(&chat, &"point".into(), T).await.unwrap());
    assert_eq!(rows(&fixture).await, empty);
    assert_eq!(fixture.problems().await, [""; 0]);
}

#[tokio::test]
async fn a_long_line_of_deleted_branches_goes_with_the_last_that_needs_it() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "chat").await;
    fixture.extend(&chat, "main", "", many("m", 1)).await;
    let before = rows(&fixture).await;
    let n = 300;
    let mut at = "m0".to_owned();
    for i in 0..n {
        let id = format!("n{i}");
        fixture.fork(&chat, &format!("b{i}"), &at, vec![says(id.as_str(), "x")]).await;
        at = id;
    }
    for i in 0..n - 1 {
        assert_eq!(delete(&fixture, &chat, &format!("b{i}"), &format!("n{i}")).await, 0);
    }
    assert_eq!(fixture.history().branches(&chat).await.unwrap().len(), 2);
    assert_eq!(delete(&fixture, &chat, &format!("b{}", n - 1), &at).await, n as u64);
    assert_eq!(rows(&fixture).await, before);
    assert_eq!(fixture.problems().await, [""; 0]);
}

#[tokio::test]
async fn a_handle_that_has_not_heard_does_not_write_to_a_branch_of_another_name() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "chat").await;
    fixture.extend(&chat, "main", "", many("m", 2)).await;
    fixture.fork(&chat, "side", "m1", many("s", 2)).await;
    fixture.history().set_checkpoint(&chat, &"point".into(), &"s3".into(), T).await.unwrap_err();
    let late = fixture.again().await;
    for (branch, ids) in [("main", ["m1", "m2"]), ("side", ["s1", "s2"])] {
        let written =
            late.history().commit(extend(&chat, branch, ids[0], vec![says(ids[1], "x")])).await;
        assert!(matches!(written, Ok(CommitOutcome::Applied(_))), "{written:?}");
    }
    fixture.history().rename_branch(&chat, &"main".into(), &"first".into(), T).await.unwrap();
    fixture.history().set_checkpoint(&chat, &"point".into(), &"s2".into(), T).await.unwrap();
    assert_eq!(delete(&fixture, &chat, "side", "s2").await, 0);
    for (branch, expected) in [("main", "m2"), ("side", "s2")] {
        for n in [1, 2, 3] {
            let written =
                late.history().commit(extend(&chat, branch, expected, many("late", n))).await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::NotFound, "{n} to {branch}");
        }
    }
    // A new branch with an old name is a different branch.
    fixture.fork(&chat, "side", "s2", Vec::new()).await;
    let written = late.history().commit(extend(&chat, "side", "s2", many("late", 1))).await;
    assert!(matches!(written, Ok(CommitOutcome::Applied(_))), "{written:?}");
    assert_eq!(fixture.problems().await, [""; 0]);
}

#[tokio::test]
async fn the_check_finds_what_the_layout_of_branches_must_not_have() {
    async fn after(tamper: &'static str) -> Vec<String> {
        let fixture = StoreFixture::new().await;
        let chat = fixture.create("ada", "chat").await;
        fixture.extend(&chat, "main", "", many("m", 3)).await;
        fixture.fork(&chat, "side", "m1", many("s", 3)).await;
        let amend =
            context_core::store::Commit { amendments: vec![says("s2", "new")], ..stay(&chat) };
        crate::store_fixture::apply(fixture.history(), amend).await;
        fixture.history().set_checkpoint(&chat, &"point".into(), &"s1".into(), T).await.unwrap();
        assert_eq!(fixture.problems().await, [""; 0]);
        sqlx::query(tamper).execute(&mut fixture.file().await).await.unwrap();
        fixture.problems().await
    }
    for (tamper, expected) in [
        ("UPDATE branch SET name = NULL, head = NULL WHERE name = 'side'", "of which 2 are needed"),
        ("UPDATE branch SET head = 's1' WHERE name = 'side'", "its head is not its newest message"),
        (
            "UPDATE branch SET base = 5 WHERE name = 'side'",
            "begins after 2 messages, but its row states 5",
        ),
        (
            "UPDATE revision SET id = 'gone'",
            "has a revision that cannot be read or belongs to another message",
        ),
    ] {
        let problems = after(tamper).await;
        assert!(
            problems.iter().any(|problem| is_found(problem, expected)),
            "{tamper}: {problems:?}"
        );
    }
    let late = after("UPDATE branch SET touched = touched + 1, own_sum = own_sum + 1").await;
    assert_eq!(late, ["ada/chat chat: its row has an earlier time than its last write"]);
    for tamper in ["UPDATE branch SET touched = touched + 1", "UPDATE branch SET own = own + 1"] {
        let problems = after(tamper).await;
        assert!(
            problems.iter().any(|problem| problem.contains("checksum")),
            "{tamper}: {problems:?}"
        );
    }
}
