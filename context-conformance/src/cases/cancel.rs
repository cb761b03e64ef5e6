//! Cases about dropped futures: a dropped call has all of its effect or none, and the store keeps
//! working.

use std::future::Future;
use std::pin::Pin;

use context_core::store::{ChatPatch, Commit, CommitOutcome, NewChat, TitleChange};
use context_core::{Metadata, Result, Timestamp};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, says, stored};
use crate::expect::{ensure, fail, same};
use crate::polls::polled;
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("cancel":
    dropped_commit_is_whole_or_absent,
    dropped_fork_is_whole_or_absent,
    dropped_amendment_is_whole_or_absent,
    dropped_redaction_is_whole_or_absent,
    dropped_calls_are_whole_or_absent,
    dropped_read_harms_nothing,
    dropped_search_harms_nothing if Search,
);

/// The maximum number of polls after which a commit is dropped.
const MOST_POLLS: usize = 200;

/// Returns the visible state once it is stable. A dropped write may still complete in the
/// background, even between two reads of one snapshot.
async fn settled(fixture: &ChatFixture) -> Check<Option<VisibleChat>> {
    let mut before = VisibleChat::of(fixture).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
        let now = VisibleChat::of(fixture).await;
        if let (Ok(before), Ok(now)) = (&before, &now)
            && before == now
        {
            return Ok(now.clone());
        }
        before = now;
    }
    before?;
    fail("a dropped call: what is visible still changes after 50 looks")
}

/// Commits to fresh chats of one store, each dropped after another number of polls.
async fn drop_everywhere(case: &CaseContext, commit: impl Fn(&ChatFixture) -> Commit) -> Check {
    let first = case.fixture().await?;
    for polls in 0..MOST_POLLS {
        let fixture = first.other("ada", &format!("chat-{polls}"));
        fixture.create().await?;
        fixture.applied(fixture.extend("", ["a"])).await?;
        let before = VisibleChat::of(&fixture).await?;
        let commit = commit(&fixture);
        let ended = polled(fixture.history().commit(commit.clone()), polls).await.transpose()?;
        let seen = settled(&fixture).await?;
        let again = fixture.commit(commit).await?;
        let after = VisibleChat::of(&fixture).await?;
        let did = format!("a commit dropped after {polls} polls");
        match &again {
            CommitOutcome::Applied(_) if ended.is_none() => {
                same(format!("{did}, which was not written"), &seen, &before)?;
            }
            // The commit may have been applied only after the read above.
            CommitOutcome::Replayed(_) => ensure(seen == after || seen == before, || {
                format!("{did}, which was written: neither as before nor as after, {seen:?}")
            })?,
            other => {
                return fail(format!(
                    "{did} (its result: {ended:?}), then repeated: saw {other:?}"
                ));
            }
        }
        ensure(after != before, || format!("{did}, then repeated: nothing was written"))?;
        if ended.is_some() {
            return Ok(());
        }
    }
    Ok(())
}

async fn dropped_commit_is_whole_or_absent(case: &CaseContext) -> Check {
    drop_everywhere(case, |fixture| Commit {
        key: Some("k".into()),
        amendments: vec![says("a", "new words")],
        fragments: vec![stored("f", "x")],
        patch: Some(ChatPatch { add: Metadata::default().with("n", 1), ..ChatPatch::default() }),
        ..fixture.extend("a", ["b", "c", "d"])
    })
    .await?;
    // A plain append without a key may take another code path in a store.
    drop_everywhere(case, |fixture| fixture.extend("a", ["b", "c", "d"])).await
}

async fn dropped_fork_is_whole_or_absent(case: &CaseContext) -> Check {
    drop_everywhere(case, |fixture| Commit {
        key: Some("k".into()),
        nodes: vec![says("x", "x")],
        ..fixture.next_version("main", "a")
    })
    .await
}

async fn dropped_amendment_is_whole_or_absent(case: &CaseContext) -> Check {
    drop_everywhere(case, |fixture| Commit {
        key: Some("k".into()),
        amendments: vec![says("a", "new words")],
        ..fixture.stay()
    })
    .await
}

async fn dropped_redaction_is_whole_or_absent(case: &CaseContext) -> Check {
    drop_everywhere(case, |fixture| Commit {
        key: Some("k".into()),
        redactions: vec![says("a", "[redacted]")],
        ..fixture.extend("a", ["b"])
    })
    .await
}

type Call = for<'a> fn(&'a ChatFixture) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// Later than any time of a fixture, so that a call can be repeated unchanged.
const LATER: Timestamp = Timestamp::from_micros(1_900_000_000_000_000);

/// Idempotent calls.
const CALLS: [(&str, Call); 10] = [
    ("delete_branch", |fixture| {
        Box::pin(async {
            let head = Some("y".into());
            fixture
                .history()
                .delete_branch(&fixture.chat, &"side".into(), head.as_ref(), LATER)
                .await
                .map(drop)
        })
    }),
    ("delete_chat", |fixture| {
        Box::pin(async { fixture.history().delete_chat(&fixture.chat, None).await.map(drop) })
    }),
    ("rename_branch", |fixture| {
        Box::pin(async {
            fixture.history().rename_branch(&fixture.chat, &"side".into(), &"n".into(), LATER).await
        })
    }),
    ("activate_branch", |fixture| {
        Box::pin(async {
            fixture.history().activate_branch(&fixture.chat, &"side".into(), LATER).await
        })
    }),
    ("set_checkpoint", |fixture| {
        Box::pin(async {
            let set = fixture
                .history()
                .set_checkpoint(&fixture.chat, &"cp".into(), &"a".into(), LATER)
                .await;
            set.map(drop)
        })
    }),
    ("delete_checkpoint", |fixture| {
        Box::pin(async {
            let history = fixture.history();
            history.delete_checkpoint(&fixture.chat, &"cp".into(), LATER).await.map(drop)
        })
    }),
    ("update_chat", |fixture| {
        Box::pin(async {
            let patch = ChatPatch { title: TitleChange::Set("T".into()), ..ChatPatch::default() };
            fixture.history().update_chat(&fixture.chat, &patch, LATER).await.map(drop)
        })
    }),
    ("put_fragments", |fixture| {
        Box::pin(async {
            let new = [stored("f", "2"), stored("g", "1"), stored("", "x")];
            fixture.fragments().put_fragments(&fixture.chat, &new, LATER).await
        })
    }),
    ("remove_fragment", |fixture| {
        Box::pin(async {
            let fragments = fixture.fragments();
            fragments.remove_fragment(&fixture.chat, &"f".into(), LATER).await.map(drop)
        })
    }),
    ("create_chat", |fixture| {
        Box::pin(async {
            let new = NewChat::new(fixture.other("ada", "second").chat, LATER);
            fixture.history().create_chat(new).await.map(drop)
        })
    }),
];

/// Makes each call on fresh chats, drops it after each number of polls, and repeats it.
async fn dropped_calls_are_whole_or_absent(case: &CaseContext) -> Check {
    let first = case.fixture().await?;
    for (name, call) in CALLS {
        for polls in 0..MOST_POLLS {
            let fixture = first.other("ada", &format!("{name}-{polls}"));
            fixture.create().await?;
            fixture.applied(fixture.extend("", ["a", "b"])).await?;
            fixture.applied(fixture.fork("side", "a", ["x", "y"])).await?;
            fixture.applied(fixture.fork("deep", "x", ["z"])).await?;
            fixture
                .applied(Commit { amendments: vec![says("y", "amended")], ..fixture.stay() })
                .await?;
            fixture
                .history()
                .set_checkpoint(&fixture.chat, &"cp".into(), &"z".into(), fixture.at())
                .await?;
            fixture
                .fragments()
                .put_fragments(&fixture.chat, &[stored("f", "1")], fixture.at())
                .await?;
            let before = VisibleChat::of(&fixture).await?;
            let ended = polled(call(&fixture), polls).await.transpose()?.is_some();
            let seen = settled(&fixture).await?;
            match call(&fixture).await {
                // The target of the call may be gone already.
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
            let after = VisibleChat::of(&fixture).await?;
            let did = format!("{name} dropped after {polls} polls");
            ensure(seen == before || seen == after, || {
                format!("{did}: neither as before nor as after, {seen:?}")
            })?;
            ensure(!ended || seen == after, || {
                format!("{did}, which had ended: not done, {seen:?}")
            })?;
            if ended {
                break;
            }
        }
    }
    Ok(())
}

async fn dropped_search_harms_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.fill(50, 10).await?;
    for polls in 0..20 {
        let _ = polled(fixture.hits(&fixture.asks("this")), polls).await;
        fixture.finds("m7", &["m7"]).await?;
    }
    fixture.applied(fixture.extend("m49", ["end"])).await?;
    fixture.finds("end", &["end"]).await
}

async fn dropped_read_harms_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let all = fixture.fill(50, 10).await?;
    let expected: Vec<_> = all.iter().map(String::as_str).collect();
    for polls in 0..20 {
        let _ = polled(fixture.whole("main"), polls).await;
        let _ = polled(VisibleChat::of(&fixture), polls).await;
        fixture.expect_chain("main", &expected).await?;
    }
    fixture.applied(fixture.extend("m49", ["end"])).await.map(drop)
}
