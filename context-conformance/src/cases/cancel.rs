//! Cases about dropped futures: a dropped call has all of its effect or none, and the store keeps
//! working.

use std::future::Future;
use std::pin::Pin;

use context_core::store::{ChatPatch, Commit, CommitOutcome, NewChat};
use context_core::{Metadata, Result, Timestamp};

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{Desk, says, stored};
use crate::expect::{ensure, fail, same};
use crate::lab::Lab;
use crate::polls::polled;
use crate::visible::Visible;

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
async fn settled(desk: &Desk) -> Checked<Option<Visible>> {
    let mut before = Visible::of(desk).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
        let now = Visible::of(desk).await;
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
async fn drop_everywhere(lab: &Lab, commit: impl Fn(&Desk) -> Commit) -> Checked {
    let first = lab.desk().await?;
    for polls in 0..MOST_POLLS {
        let desk = first.other("ada", &format!("chat-{polls}"));
        desk.create().await?;
        desk.applied(desk.extend("", ["a"])).await?;
        let before = Visible::of(&desk).await?;
        let commit = commit(&desk);
        let ended = polled(desk.history().commit(commit.clone()), polls).await.transpose()?;
        let seen = settled(&desk).await?;
        let again = desk.commit(commit).await?;
        let after = Visible::of(&desk).await?;
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

async fn dropped_commit_is_whole_or_absent(lab: &Lab) -> Checked {
    drop_everywhere(lab, |desk| Commit {
        key: Some("k".into()),
        amendments: vec![says("a", "new words")],
        fragments: vec![stored("f", "x")],
        patch: Some(ChatPatch { add: Metadata::default().with("n", 1), ..ChatPatch::default() }),
        ..desk.extend("a", ["b", "c", "d"])
    })
    .await?;
    // A plain append without a key may take another code path in a store.
    drop_everywhere(lab, |desk| desk.extend("a", ["b", "c", "d"])).await
}

async fn dropped_fork_is_whole_or_absent(lab: &Lab) -> Checked {
    drop_everywhere(lab, |desk| Commit {
        key: Some("k".into()),
        nodes: vec![says("x", "x")],
        ..desk.next_version("main", "a")
    })
    .await
}

async fn dropped_amendment_is_whole_or_absent(lab: &Lab) -> Checked {
    drop_everywhere(lab, |desk| Commit {
        key: Some("k".into()),
        amendments: vec![says("a", "new words")],
        ..desk.stay()
    })
    .await
}

async fn dropped_redaction_is_whole_or_absent(lab: &Lab) -> Checked {
    drop_everywhere(lab, |desk| Commit {
        key: Some("k".into()),
        redactions: vec![says("a", "[redacted]")],
        ..desk.extend("a", ["b"])
    })
    .await
}

type Call = for<'a> fn(&'a Desk) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// Later than any time of a fixture, so that a call can be repeated unchanged.
const LATER: Timestamp = Timestamp::from_micros(1_900_000_000_000_000);

/// Idempotent calls.
const CALLS: [(&str, Call); 10] = [
    ("delete_branch", |desk| {
        Box::pin(async {
            let head = Some("y".into());
            desk.history()
                .delete_branch(&desk.chat, &"side".into(), head.as_ref(), LATER)
                .await
                .map(drop)
        })
    }),
    ("delete_chat", |desk| {
        Box::pin(async { desk.history().delete_chat(&desk.chat, None).await.map(drop) })
    }),
    ("rename_branch", |desk| {
        Box::pin(async {
            desk.history().rename_branch(&desk.chat, &"side".into(), &"n".into(), LATER).await
        })
    }),
    ("activate_branch", |desk| {
        Box::pin(async { desk.history().activate_branch(&desk.chat, &"side".into(), LATER).await })
    }),
    ("set_checkpoint", |desk| {
        Box::pin(async {
            let set =
                desk.history().set_checkpoint(&desk.chat, &"cp".into(), &"a".into(), LATER).await;
            set.map(drop)
        })
    }),
    ("delete_checkpoint", |desk| {
        Box::pin(async {
            desk.history().delete_checkpoint(&desk.chat, &"cp".into()).await.map(drop)
        })
    }),
    ("update_chat", |desk| {
        Box::pin(async {
            let patch = ChatPatch { title: Some(Some("T".into())), ..ChatPatch::default() };
            desk.history().update_chat(&desk.chat, &patch, LATER).await.map(drop)
        })
    }),
    ("put_fragments", |desk| {
        Box::pin(async {
            let new = [stored("f", "2"), stored("g", "1"), stored("", "x")];
            desk.fragments().put_fragments(&desk.chat, &new, LATER).await
        })
    }),
    ("remove_fragment", |desk| {
        Box::pin(async {
            desk.fragments().remove_fragment(&desk.chat, &"f".into()).await.map(drop)
        })
    }),
    ("create_chat", |desk| {
        Box::pin(async {
            let new = NewChat::new(desk.other("ada", "second").chat, LATER);
            desk.history().create_chat(new).await.map(drop)
        })
    }),
];

/// Makes each call on fresh chats, drops it after each number of polls, and repeats it.
async fn dropped_calls_are_whole_or_absent(lab: &Lab) -> Checked {
    let first = lab.desk().await?;
    for (name, call) in CALLS {
        for polls in 0..MOST_POLLS {
            let desk = first.other("ada", &format!("{name}-{polls}"));
            desk.create().await?;
            desk.applied(desk.extend("", ["a", "b"])).await?;
            desk.applied(desk.fork("side", "a", ["x", "y"])).await?;
            desk.applied(desk.fork("deep", "x", ["z"])).await?;
            desk.applied(Commit { amendments: vec![says("y", "amended")], ..desk.stay() }).await?;
            desk.history().set_checkpoint(&desk.chat, &"cp".into(), &"z".into(), desk.at()).await?;
            desk.fragments().put_fragments(&desk.chat, &[stored("f", "1")], desk.at()).await?;
            let before = Visible::of(&desk).await?;
            let ended = polled(call(&desk), polls).await.transpose()?.is_some();
            let seen = settled(&desk).await?;
            match call(&desk).await {
                // The target of the call may be gone already.
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
            let after = Visible::of(&desk).await?;
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

async fn dropped_search_harms_nothing(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.fill(50, 10).await?;
    for polls in 0..20 {
        let _ = polled(desk.hits(&desk.asks("this")), polls).await;
        desk.finds("m7", &["m7"]).await?;
    }
    desk.applied(desk.extend("m49", ["end"])).await?;
    desk.finds("end", &["end"]).await
}

async fn dropped_read_harms_nothing(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let all = desk.fill(50, 10).await?;
    let expected: Vec<_> = all.iter().map(String::as_str).collect();
    for polls in 0..20 {
        let _ = polled(desk.whole("main"), polls).await;
        let _ = polled(Visible::of(&desk), polls).await;
        desk.expect_chain("main", &expected).await?;
    }
    desk.applied(desk.extend("m49", ["end"])).await.map(drop)
}
