//! `import --trajectory`: records the rounds of an imported chat.

use std::sync::Arc;

use context_runtime::trajectory::{RoundImported, Transcript};
use context_runtime::transcript::{SOURCE_BRANCH, measures};
use context_runtime::{
    BranchName, Error, Store,
    store::{Chain, ChainEnd, Node, Window},
    trajectory::AgentRef,
};
use serde::Serialize;

use super::recorder;
use crate::app::App;
use crate::commands::{existing_chat, source_of};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count};

/// JSON record of `import --trajectory`: the outcome for the rounds of one chat.
#[derive(Serialize)]
struct RecordedRecord<'a> {
    v: u32,
    /// The session, named like the chat.
    session: &'a str,
    rounds: usize,
    /// The number of rounds written or extended.
    recorded: usize,
    /// The number of rounds not written because a different round has their number.
    taken: usize,
    /// The number of messages that belong to no round.
    skipped: usize,
}

/// Records the main branch of a chat as a session of its name. A repeated call adds new rounds.
pub(in crate::commands) async fn record(
    app: &mut App,
    store: &Arc<dyn Store>,
    chat: &str,
) -> Result<(), Failure> {
    let reference = app.chat(chat);
    // Later work is on other branches, and the start of a session must not change.
    let (branches, main) = (store.history().branches(&reference).await?, BranchName::main());
    let active = branches.iter().find(|branch| branch.active);
    let end = match branches.iter().find(|branch| branch.name == main).or(active) {
        Some(branch) => ChainEnd::Branch(branch.name.clone()),
        None => ChainEnd::Branch(main),
    };
    let chain = store.history().chain(&reference, &end, &Window::Whole).await?;
    let about = existing_chat(store.history(), &reference).await?;
    let source = source_of(chat, &about.metadata)?;
    let kept = branches.iter().find(|branch| branch.name.as_str() == SOURCE_BRANCH);
    let kept = match kept.filter(|_| source.is_some()) {
        Some(branch) => {
            let end = ChainEnd::Branch(branch.name.clone());
            store.history().chain(&reference, &end, &Window::Whole).await?
        }
        None => Chain::default(),
    };
    let measures = measures(source.as_ref(), kept.iter(), chain.iter());
    let measured = |node: &Node| measures.get(&node.id).cloned().unwrap_or_default();
    let transcript = Transcript::read_measured(&reference.chat, chain.iter(), measured);
    let rounds = transcript.build(&AgentRef::main(app.user.clone(), chat)).map_err(Error::from)?;
    let recorder = recorder(app, store)?;
    let (mut recorded, mut taken) = (0, 0);
    for round in &rounds {
        match recorder.import(&round.to_record()).await.map_err(Error::from)? {
            RoundImported::New | RoundImported::Extended => recorded += 1,
            RoundImported::Taken => taken += 1,
            _ => {}
        }
    }
    let (rounds, skipped) = (rounds.len(), transcript.skipped.len());
    if app.out.is_json() {
        return app.out.record(&RecordedRecord {
            v: 1,
            session: chat,
            rounds,
            recorded,
            taken,
            skipped,
        });
    }
    if skipped > 0 {
        app.out.note(format_args!(
            "{}: {} without a place in a round",
            clean(chat),
            count(skipped, "result")
        ));
    }
    if taken > 0 {
        let what = count(taken, "round");
        app.out.note(format_args!(
            "{}: {what} of the session exist with other content and were not changed; `context trajectory list` shows them",
            clean(chat)
        ));
    }
    let done = app.out.paint(Style::Green, "recorded").to_string();
    let before = rounds - recorded - taken;
    let before = if before > 0 { format!(" · {before} there before") } else { String::new() };
    app.out.line(format_args!("{done} {} of {}{before}", count(recorded, "round"), clean(chat)))
}
