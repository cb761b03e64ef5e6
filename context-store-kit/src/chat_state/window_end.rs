//! The end condition of a windowed read that walks from the end of a chain towards its root. The
//! read costs time in the size of the window, not of the chain.

use context_core::message::NodeKind;
use context_core::store::Window;
use context_core::{MessageId, Node};

/// An incremental form of [`Window::of`], evaluated for each node, newest first. A test checks that
/// both agree.
pub(super) enum WindowEnd<'a> {
    Never,
    /// Stop after this many more nodes.
    Count(usize),
    /// Stop after the newest boundary.
    Boundary {
        met: bool,
    },
    /// Stop when the next node exceeds the remaining budget. The newest node is always included.
    Tokens {
        left: Option<u64>,
        newest: bool,
    },
    Message(&'a MessageId),
}

impl<'a> WindowEnd<'a> {
    pub(super) fn of(window: &'a Window, generation: u64) -> Self {
        match window {
            Window::Whole => Self::Never,
            Window::Last(count) => Self::Count(*count),
            Window::Boundary => Self::Boundary { met: false },
            Window::Tokens(budget) => Self::Tokens { left: Some(*budget), newest: true },
            Window::After { message, generation: read } if *read == generation => {
                Self::Message(message)
            }
            Window::After { .. } => Self::Never,
        }
    }

    /// Returns whether this node and all nodes before it are left out.
    pub(super) fn is_before(&mut self, node: &Node) -> bool {
        match self {
            Self::Never => false,
            Self::Count(0) => true,
            Self::Count(left) => {
                *left -= 1;
                false
            }
            Self::Boundary { met } => std::mem::replace(met, node.kind == NodeKind::Boundary),
            Self::Tokens { left, newest } => {
                *left = left.and_then(|left| left.checked_sub(node.weight()));
                let newest = std::mem::take(newest);
                left.is_none() && !newest
            }
            Self::Message(message) => node.id == **message,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use crate::ChatState;
    use context_core::message::NodeKind;
    use context_core::store::{ChainEnd, Chat, Commit, NewChat, Target, Window};
    use context_core::{BranchName, ChatRef, Encoded, Message, Node, Role, Timestamp};

    fn node(i: usize, kind: u8, tokens: u32) -> Arc<Node> {
        let (id, at) = (format!("m{i}"), Timestamp::default());
        let node = match kind {
            0 => Node::from_encoded(id.into(), NodeKind::Boundary, at, Encoded::new("cut", 1, "")),
            _ => Node::new(id, Message::text(Role::User, "x"), at),
        };
        Arc::new(node.with_tokens(tokens))
    }

    proptest! {
        #[test]
        fn a_windowed_read_is_the_window_of_the_whole(
            nodes in prop::collection::vec((0u8..5, 0u32..9), 0..30), n in 0usize..40,
                tokens in 0u64..60, stale: bool,
        ) {
            let chat = ChatRef::new("u", "c");
            let mut state = ChatState::new(Chat::new(NewChat::new(chat.clone(),
                Timestamp::default())), 3);
            let target = Target::Extend { branch: BranchName::main(), expected: None };
            let nodes = nodes.iter().enumerate().map(|(i, (kind, tokens))| node(i, *kind,
                *tokens)).collect();
            let _applied =
                state.commit(Commit { nodes,
                    ..Commit::new(chat, target, Timestamp::default()) }).unwrap();
            let end = ChainEnd::Branch(BranchName::main());
            let whole = state.chain(&end, &Window::Whole).unwrap();
            let generation = whole.generation() + u64::from(stale);
            let message = format!("m{n}").into();
            let windows =
                [Window::Last(n), Window::Boundary, Window::Tokens(tokens),
                    Window::After { message, generation }];
            for window in windows {
                prop_assert_eq!(state.chain(&end, &window).unwrap(), window.of(&whole), "{:?}",
                    window);
            }
        }
    }
}
