//! The runs of a conversation that was seen.

use std::sync::{Arc, Weak};

use context_core::message::MessageRun;
use context_core::{Message, Messages};

/// The runs of a conversation that was seen, so that the beginning of the next one is recognized
/// without a look at its messages. Conversations share runs if they were made from one another.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownRuns(Vec<KnownRun>);

#[derive(Clone, Debug)]
struct KnownRun {
    /// The weak pointer prevents the address from being reused. Messages are not kept alive.
    run: Weak<Vec<Arc<Message>>>,
    /// The position behind its last message.
    end: usize,
}

impl KnownRuns {
    fn shared_runs(&self, messages: &Messages) -> usize {
        let same = |(known, run): &(&KnownRun, &MessageRun)| known.run.as_ptr() == Arc::as_ptr(run);
        self.0.iter().zip(messages.runs()).take_while(same).count()
    }

    /// Returns how many leading messages are in runs that were seen.
    pub(super) fn shared(&self, messages: &Messages) -> usize {
        let runs = self.shared_runs(messages);
        runs.checked_sub(1).and_then(|last| self.0.get(last)).map_or(0, |run| run.end)
    }

    /// Records the runs of a conversation in place of those of an earlier one.
    pub(super) fn follow(&mut self, messages: &Messages) {
        self.0.truncate(self.shared_runs(messages));
        for run in messages.runs().skip(self.0.len()) {
            let end = self.0.last().map_or(0, |last| last.end) + run.len();
            self.0.push(KnownRun { run: Arc::downgrade(run), end });
        }
    }
}
