//! The number of round trips, the layout of messages, and writes of every size.

use context_core::base::limits::{MAX_BODY_BYTES, MAX_COMMIT_ITEMS};
use context_core::store::{BranchDeletion, ChainEnd, ChatQuery, Commit, Window};
use context_core::{ErrorKind, Node, Store};
use redis::cmd;

use crate::fixture::{RedisFixture, T, apply, extend, fork, ids, many, says};

/// The commands that the server receives under a prefix, except for those that scripts run, and for
/// the messages to readers of streams, which no call waits for.
pub(crate) struct Monitor {
    connection: redis::Connection,
    prefix: String,
    marks: u32,
}

impl Monitor {
    pub(crate) fn of(fixture: &RedisFixture) -> Self {
        let mut connection = fixture.server();
        connection.send_packed_command(&cmd("MONITOR").get_packed_command()).unwrap();
        connection.recv_response().unwrap();
        Self { connection, prefix: fixture.config.prefix.clone(), marks: 0 }
    }

    /// Returns the names of the commands since the last call.
    pub(crate) fn seen(&mut self, fixture: &RedisFixture) -> Vec<String> {
        self.marks += 1;
        let mark = format!("{}mark-{}", self.prefix, self.marks);
        let _: String = cmd("ECHO").arg(&mark).query(&mut fixture.server()).unwrap();
        let mut seen = Vec::new();
        loop {
            let line = self.connection.recv_response().unwrap();
            let line: String = redis::from_redis_value(line).unwrap();
            if line.contains(&mark) {
                return seen;
            }
            if line.contains(&self.prefix) && !line.contains(" lua]") {
                let command = line.split('"').nth(1).unwrap_or_default();
                if command != "PUBLISH" {
                    seen.push(command.to_owned());
                }
            }
        }
    }
}

pub(crate) async fn an_append_is_one_question_and_a_load_at_most_two() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 1000)).await;
    let main = ChainEnd::Branch("main".into());
    fixture.history().chain(&chat, &main, &Window::Last(10)).await.unwrap();
    let mut monitor = Monitor::of(&fixture);
    fixture.extend(&chat, "main", "m999", many("n", 1)).await;
    assert_eq!(monitor.seen(&fixture), ["EVALSHA"]);
    fixture.extend(&chat, "main", "n0", many("o", 30)).await;
    assert_eq!(monitor.seen(&fixture), ["EVALSHA"]);
    for (window, commands) in [(Window::Whole, 2), (Window::Whole, 1), (Window::Boundary, 1)] {
        let chain = fixture.history().chain(&chat, &main, &window).await.unwrap();
        assert_eq!(chain.len(), 1031);
        assert_eq!(monitor.seen(&fixture), vec!["HMGET"; commands]);
    }
    fixture.history().chain(&chat, &main, &Window::Last(10)).await.unwrap();
    assert_eq!(monitor.seen(&fixture), ["EVALSHA"]);
    // A read and a write.
    apply(
        fixture.history(),
        Commit { key: Some("k".into()), ..extend(&chat, "main", "o29", many("p", 2)) },
    )
    .await;
    assert_eq!(monitor.seen(&fixture), ["EVALSHA", "EVALSHA"]);
    apply(fixture.history(), fork(&chat, "side", "m500", many("s", 2))).await;
    assert_eq!(monitor.seen(&fixture), ["EVALSHA", "EVALSHA"]);
}

pub(crate) async fn single_messages_become_runs() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let mut head = String::new();
    for node in many("m", 203) {
        let key = node.id.as_str().ends_with('7').then(|| node.id.as_str().into());
        let next = node.id.to_string();
        apply(fixture.history(), Commit { key, ..extend(&chat, "main", &head, vec![node]) }).await;
        head = next;
    }
    let fields: Vec<String> =
        cmd("HKEYS").arg(fixture.chat_key()).query(&mut fixture.server()).unwrap();
    let mut runs: Vec<u64> =
        fields.iter().filter_map(|field| field.strip_prefix("n1:")?.parse().ok()).collect();
    runs.sort_unstable();
    assert_eq!(runs, [1, 65, 129, 193, 194, 195, 196, 197, 198, 199, 200, 201, 202, 203]);
    assert_eq!(fixture.whole(&chat, "main").await.unwrap().len(), 203);
    assert!(fixture.problems().await.is_empty());
}

fn large(id: &str) -> std::sync::Arc<Node> {
    let node = says(id, &"x".repeat(MAX_BODY_BYTES - 100));
    assert!(node.body().bytes().len() <= MAX_BODY_BYTES);
    node
}

pub(crate) async fn the_largest_commits_go_both_ways() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", MAX_COMMIT_ITEMS)).await;
    let last = format!("m{}", MAX_COMMIT_ITEMS - 1);
    let keyed = Commit {
        key: Some("k".into()),
        ..extend(&chat, "main", &last, many("n", MAX_COMMIT_ITEMS))
    };
    apply(fixture.history(), keyed).await;
    let last = format!("n{}", MAX_COMMIT_ITEMS - 1);
    fixture.extend(&chat, "main", &last, vec![large("a"), says("b", "b"), large("c")]).await;
    apply(fixture.history(), fork(&chat, "side", &last, vec![large("d"), says("e", "e")])).await;
    let chain = fixture.whole(&chat, "main").await.unwrap();
    assert_eq!(
        (chain.len(), ids(&chain)[2 * MAX_COMMIT_ITEMS + 1].as_str()),
        (2 * MAX_COMMIT_ITEMS + 3, "b")
    );
    assert_eq!(**chain.last().unwrap(), *large("c"));
    let deleted =
        fixture.history().delete_branch(&chat, &"side".into(), Some(&"e".into()), T).await.unwrap();
    assert_eq!(deleted, BranchDeletion::Deleted { messages: 2 });
    let all = fixture.maintenance().check(&context_core::CancelSignal::never()).await.unwrap();
    assert_eq!(
        (all.messages, all.findings.len()),
        (2 * MAX_COMMIT_ITEMS as u64 + 3, 0),
        "{:?}",
        all.findings
    );
}

pub(crate) async fn a_commit_that_no_server_would_read_is_refused() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let one = large("m");
    let copies = (0..40).map(|i| std::sync::Arc::new((*one).clone().with_id(format!("m{i}"))));
    let error =
        fixture.history().commit(extend(&chat, "main", "", copies.collect())).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.get("limit")),
        (ErrorKind::Invalid, Some("536870912")),
        "{error:?}"
    );
    assert!(fixture.whole(&chat, "main").await.unwrap().is_empty());
}

pub(crate) async fn the_newer_protocol_says_the_same() {
    let fixture = RedisFixture::with(|mut config| {
        config.nodes.iter_mut().for_each(|node| node.push_str("?protocol=resp3"));
        config
    })
    .await;
    let older = RedisFixture::new().await;
    assert_eq!(fixture.store.info(), older.store.info());
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 70)).await;
    apply(fixture.history(), fork(&chat, "side", "m3", many("s", 2))).await;
    let deleted = fixture
        .history()
        .delete_branch(&chat, &"side".into(), Some(&"s1".into()), T)
        .await
        .unwrap();
    assert_eq!(deleted, BranchDeletion::Deleted { messages: 2 });
    assert_eq!(fixture.whole(&chat, "main").await.unwrap().len(), 70);
    let listed = fixture.history().list_chats(&ChatQuery::new("ada")).await.unwrap();
    assert_eq!((listed.items.len(), listed.items[0].messages), (1, 70));
    assert!(fixture.problems().await.is_empty());
    assert!(fixture.history().delete_chat(&chat, None).await.unwrap());
    assert!(fixture.keys(":chats").is_empty());
}
