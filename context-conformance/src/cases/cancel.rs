//! A future that is dropped half-way leaves all of its work or none, and a store that works on.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use context_core::{ChatPatch, Commit, CommitOutcome, Metadata};

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{Desk, says, stored};
use crate::expect::{ensure, fail, same};
use crate::lab::Lab;
use crate::visible::Visible;

cases!("cancel": dropped_commit_is_whole_or_absent, dropped_fork_is_whole_or_absent, dropped_read_harms_nothing);

/// A store that needs more polls than this for one commit is not followed further.
const MOST_POLLS: usize = 200;

/// Polls a future at most this often, then drops it; its result if it came to one.
pub(super) async fn polled<T>(future: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// What is visible once it no longer changes: a dropped write may still be ending in the background.
async fn settled(desk: &Desk) -> Checked<Option<Visible>> {
    let mut before = Visible::of(desk).await?;
    for _ in 0..50 {
        tokio::task::yield_now().await;
        let now = Visible::of(desk).await?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    fail("a dropped commit: what is visible still changes after 50 looks")
}

/// Commits on a fresh chat of the same store, dropped after every number of polls.
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
            CommitOutcome::Replayed(_) => same(format!("{did}, which was written"), &seen, &after)?,
            other => return fail(format!("{did} (its result: {ended:?}), then repeated: saw {other:?}")),
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
    // A plain append without a key may take another way through a store.
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
