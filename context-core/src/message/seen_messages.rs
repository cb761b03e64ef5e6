//! Conversations that were seen.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use super::messages::MessageRun;
use super::runs::Block;
use crate::{Message, Messages};

/// A conversation that was seen. The beginning of the next one is recognized by the addresses of
/// its messages, without reading them.
///
/// Conversations that were made from one another share whole pieces, which are compared first, so
/// that a long conversation takes hardly longer than a short one. Messages are not kept alive.
///
/// ```
/// use context_core::message::SeenMessages;
/// use context_core::{Message, Messages};
///
/// let mut talk = Messages::from(["Two tickets to Lisbon."].map(Message::from));
/// let mut seen = SeenMessages::default();
/// seen.follow(&talk);
/// talk.push(Message::from("On Friday.").into());
/// assert_eq!((seen.len(), seen.shared(&talk)), (1, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SeenMessages {
    // The weak pointers prevent the addresses from being reused.
    messages: Vec<Weak<Message>>,
    runs: Vec<SeenRun>,
    blocks: Vec<SeenBlock>,
}

#[derive(Clone, Debug)]
struct SeenRun {
    run: Weak<Vec<Arc<Message>>>,
    /// The number of messages up to its end.
    messages: usize,
}

#[derive(Clone, Debug)]
struct SeenBlock {
    block: Weak<Block<MessageRun>>,
    /// The number of runs up to its end.
    runs: usize,
}

/// The numbers of leading parts that a conversation shares with the one that was seen.
struct Shared {
    blocks: usize,
    /// The runs, those of the blocks included.
    runs: usize,
    /// The messages, those of the runs included.
    messages: usize,
}

impl SeenMessages {
    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether no message was seen.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns how many leading messages of a conversation are the same allocations as those that
    /// were seen.
    pub fn shared(&self, messages: &Messages) -> usize {
        self.compare(messages).messages
    }

    /// Records a conversation in place of the one before, and returns how many leading messages it
    /// shares with that.
    pub fn follow(&mut self, messages: &Messages) -> usize {
        let shared = self.compare(messages);
        self.messages.truncate(shared.messages);
        self.messages.extend(messages.range(shared.messages..).map(Arc::downgrade));
        self.runs.truncate(shared.runs);
        self.blocks.truncate(shared.blocks);
        let mut runs = self.runs_of_blocks(shared.blocks);
        for block in messages.blocks().skip(shared.blocks) {
            for run in block.runs().skip(self.runs.len() - runs) {
                let before = self.runs.last().map_or(0, |run| run.messages);
                let run = SeenRun { run: Arc::downgrade(run), messages: before + run.len() };
                self.runs.push(run);
            }
            runs = self.runs.len();
            self.blocks.push(SeenBlock { block: Arc::downgrade(block), runs });
        }
        shared.messages
    }

    /// Returns the position behind the newest message of a conversation that was seen, as the same
    /// allocation.
    pub fn reaches(&self, messages: &Messages) -> usize {
        let seen: HashSet<_> = self.messages.iter().map(Weak::as_ptr).collect();
        let newest = messages.iter().rposition(|message| seen.contains(&Arc::as_ptr(message)));
        newest.map_or(0, |newest| newest + 1)
    }

    fn runs_of_blocks(&self, blocks: usize) -> usize {
        blocks.checked_sub(1).map_or(0, |last| self.blocks[last].runs)
    }

    fn compare(&self, messages: &Messages) -> Shared {
        let blocks = leading(self.blocks.iter().map(|seen| &seen.block), messages.blocks());
        let in_blocks = self.runs_of_blocks(blocks);
        let others = messages.blocks().skip(blocks).flat_map(|block| block.runs());
        let runs = in_blocks + leading(self.runs[in_blocks..].iter().map(|seen| &seen.run), others);
        let in_runs = runs.checked_sub(1).map_or(0, |last| self.runs[last].messages);
        let others = messages.range(in_runs..);
        let messages = in_runs + leading(self.messages[in_runs..].iter(), others);
        Shared { blocks, runs, messages }
    }
}

/// Returns how many things are the ones that were seen, up to the first other one.
fn leading<'a, T: 'a>(
    seen: impl Iterator<Item = &'a Weak<T>>,
    things: impl Iterator<Item = &'a Arc<T>>,
) -> usize {
    seen.zip(things).take_while(|(seen, thing)| seen.as_ptr() == Arc::as_ptr(thing)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(n: usize) -> Arc<Message> {
        Arc::new(Message::from(format!("text {n}")))
    }

    /// Makes one conversation from another.
    #[derive(Clone, Debug)]
    enum Step {
        Push(usize),
        Replace(usize),
        Insert(usize),
        Prefix(usize),
        /// The same messages in other runs.
        Collect(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (1usize..200).prop_map(Step::Push),
            any::<prop::sample::Index>().prop_map(|at| Step::Replace(at.index(9_000))),
            any::<prop::sample::Index>().prop_map(|at| Step::Insert(at.index(9_000))),
            any::<prop::sample::Index>().prop_map(|at| Step::Prefix(at.index(9_000))),
            (0usize..70).prop_map(Step::Collect),
        ];
        prop::collection::vec(step, 1..6)
    }

    fn changed(talk: &Messages, step: &Step) -> Messages {
        let mut talk = talk.clone();
        match step {
            Step::Push(more) => (0..*more).for_each(|n| talk.push(message(n))),
            Step::Replace(at) => talk.replace(*at, message(0)),
            Step::Insert(at) => talk.insert((*at).min(talk.len()), message(0)),
            Step::Prefix(len) => talk = talk.prefix(*len),
            Step::Collect(from) => talk = talk.iter().skip(*from).cloned().collect(),
        }
        talk
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_same_allocations_are_recognized(length in 0usize..9_000, steps in steps()) {
            let mut talk: Messages = (0..length).map(message).collect();
            let mut seen = SeenMessages::default();
            prop_assert_eq!(seen.follow(&talk), 0);
            for step in steps {
                let next = changed(&talk, &step);
                let same = |(a, b): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(a, b);
                let shared = talk.iter().zip(next.iter()).take_while(same).count();
                let newest = next
                    .iter()
                    .rposition(|message| talk.iter().any(|seen| Arc::ptr_eq(seen, message)));
                prop_assert_eq!(seen.reaches(&next), newest.map_or(0, |at| at + 1));
                prop_assert_eq!(seen.shared(&next), shared);
                prop_assert_eq!(seen.follow(&next), shared);
                prop_assert_eq!((seen.len(), seen.shared(&next)), (next.len(), next.len()));
                talk = next;
            }
        }
    }

    #[test]
    fn an_address_is_never_mistaken_for_another_message() {
        let mut seen = SeenMessages::default();
        for n in 0..1_000 {
            // The allocator would use the same addresses again.
            let talk = Messages::from(vec![message(n)]);
            assert_eq!(seen.follow(&talk), 0);
        }
    }
}
