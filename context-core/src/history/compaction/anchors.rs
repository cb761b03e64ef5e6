//! The messages that every cut keeps.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{HistoryView, Structure, pairs};
use crate::{Message, Part};

/// The positions of the messages that every plan keeps, and of those that it keeps unchanged.
///
/// | messages | kept | unchanged |
/// |---|---|---|
/// | the first and the newest request of the user | always | within the budget of the user's words |
/// | the user's requests, the newest first | within the budget | yes |
/// | [pinned](Message::is_pinned) messages, with the calls and results of their step | always | yes |
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Message, Role};
/// use context_core::history::Anchors;
///
/// let talk = [
///     Message::from("A train?"),
///     Message::text(Role::Assistant, "The 10:05, platform 4.").pinned(),
///     Message::text(Role::Assistant, "Anything else?"),
///     Message::from("A hotel."),
/// ];
/// let anchors = Anchors::of(&talk.map(Arc::new));
/// assert_eq!(anchors.positions().collect::<Vec<_>>(), [0, 1, 3]);
/// assert!(anchors.is_verbatim(1) && !anchors.is_verbatim(0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchors {
    kept: BTreeSet<usize>,
    verbatim: BTreeSet<usize>,
}

impl Anchors {
    /// Determines the anchors of a history without a budget for the user's words.
    pub fn of(messages: &[Arc<Message>]) -> Self {
        Self::new(messages, &Structure::of(messages))
    }

    pub(super) fn new(messages: &[Arc<Message>], structure: &Structure) -> Self {
        let verbatim = pinned_steps(messages, structure);
        let kept = structure.anchors().chain(verbatim.iter().copied()).collect();
        Self { kept, verbatim }
    }

    /// Determines the anchors of a view: the first request and then the newest ones are kept
    /// unchanged while they have at most `words` tokens together. A request that exceeds what is
    /// left of the budget is skipped, so that one long paste does not push out short instructions.
    pub(super) fn within(view: &HistoryView<'_>, words: u64) -> Self {
        let (messages, structure) = (view.messages(), view.structure());
        let mut anchors = Self::new(messages, structure);
        let requests = &structure.requests;
        let first = requests.first().into_iter();
        let mut left = words;
        for &request in first.chain(requests.iter().skip(1).rev()) {
            let tokens = view.tokens(request);
            if tokens <= left && !anchors.is_verbatim(request) && !has_results(&messages[request]) {
                left -= tokens;
                anchors.kept.insert(request);
                anchors.verbatim.insert(request);
            }
        }
        anchors
    }

    /// Returns the positions of the messages that stay, ascending.
    pub fn positions(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.kept.iter().copied()
    }

    /// Returns whether the message at a position stays.
    pub fn contains(&self, position: usize) -> bool {
        self.kept.contains(&position)
    }

    /// Returns whether the message at a position stays unchanged.
    pub fn is_verbatim(&self, position: usize) -> bool {
        self.verbatim.contains(&position)
    }
}

/// A request that also answers calls can be kept, but not without those calls.
fn has_results(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::ToolResult(_)))
}

/// Returns the pinned messages and the other messages of their steps. A call and its result are of
/// one step, wherever they are.
fn pinned_steps(messages: &[Arc<Message>], structure: &Structure) -> BTreeSet<usize> {
    let groups = |positions: &mut dyn Iterator<Item = usize>| -> BTreeSet<usize> {
        positions.filter_map(|at| structure.group_of(at)).collect()
    };
    let mut pinned = groups(&mut (0..messages.len()).filter(|at| messages[*at].is_pinned()));
    if pinned.is_empty() {
        return BTreeSet::new();
    }
    let pairs = pairs(messages);
    loop {
        let linked = groups(
            &mut pairs
                .iter()
                .map(|(call, result)| (structure.group_of(*call), structure.group_of(*result)))
                .zip(&pairs)
                .filter(|((call, result), _)| {
                    [call, result].iter().any(|group| group.is_some_and(|at| pinned.contains(&at)))
                })
                .flat_map(|(_, (call, result))| [*call, *result]),
        );
        let before = pinned.len();
        pinned.extend(linked);
        if pinned.len() == before {
            return pinned.into_iter().flat_map(|at| structure.groups[at].clone()).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::model::{TokenCount, TokenCounter};

    #[derive(Debug)]
    struct Bytes;

    impl TokenCounter for Bytes {
        fn name(&self) -> &str {
            "bytes"
        }

        fn count(&self, text: &str) -> TokenCount {
            TokenCount::exact(text.len() as u64)
        }
    }

    fn shared<const N: usize>(messages: [Message; N]) -> Vec<Arc<Message>> {
        messages.map(Arc::new).into()
    }

    #[test]
    fn a_pinned_step_stays_with_its_calls_and_results() {
        let call =
            |id| Message::new(Role::Assistant, [Part::tool_call(id, "f", serde_json::json!({}))]);
        let messages = shared([
            Message::from("go"),
            call("a"),
            Message::from("a reminder between").with_origin(crate::message::Origin::Synthetic),
            Message::new(Role::Tool, [Part::tool_result("a", "found")]).pinned(),
            call("b"),
            Message::new(Role::Tool, [Part::tool_result("b", "nothing")]),
            Message::from("thanks"),
        ]);
        let anchors = Anchors::of(&messages);
        assert_eq!(anchors.positions().collect::<Vec<_>>(), [0, 1, 3, 6]);
        assert_eq!((0..7).filter(|at| anchors.is_verbatim(*at)).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn the_first_request_then_the_newest_are_kept_within_the_budget() {
        let messages =
            shared(["first", "old", "a long paste of a log", "new", "newest"].map(Message::from));
        let kept = |words| {
            let anchors = HistoryView::new(&messages, &Bytes).user_words(words).anchors().clone();
            let verbatim = (0..5).filter(|at| anchors.is_verbatim(*at)).collect::<Vec<_>>();
            (anchors.positions().collect::<Vec<_>>(), verbatim)
        };
        assert_eq!(kept(0), (vec![0, 4], vec![]));
        assert_eq!(kept(5), (vec![0, 4], vec![0]));
        assert_eq!(kept(11), (vec![0, 4], vec![0, 4]));
        assert_eq!(kept(17), (vec![0, 1, 3, 4], vec![0, 1, 3, 4]), "the paste is skipped");
        assert_eq!(kept(99).0.len(), 5);
    }
}
