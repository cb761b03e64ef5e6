//! The plain functions fragments are made with.

use std::sync::Arc;

use super::{Fragment, FragmentContent, FragmentData, FragmentKind, LazyMessage};
use crate::{Message, Role};

/// What the model is: rendered as `role`.
pub fn role(content: impl Into<FragmentData>) -> Fragment {
    Fragment::new("role", content).with_codec("role")
}

/// A guideline: rendered as `hint`.
pub fn hint(text: impl Into<FragmentData>) -> Fragment {
    Fragment::new("hint", text).with_codec("hint")
}

/// A free fragment of children, rendered inside one element, section or table of this name.
///
/// ```
/// use context_core::{FragmentData, fragment, hint};
///
/// let database = fragment("database", [
///     FragmentData::from("PostgreSQL 15"),
///     fragment("constraints", [hint("No DELETE without audit.")]).into(),
/// ]);
/// # assert_eq!(database.name(), "database");
/// ```
pub fn fragment<C>(name: impl Into<Arc<str>>, children: impl IntoIterator<Item = C>) -> Fragment
where
    C: Into<FragmentData>,
{
    Fragment::new(name, FragmentData::list(children))
}

/// A user message.
pub fn user(content: impl Into<Message>) -> Fragment {
    message_of(Role::User, content)
}

/// An assistant message.
pub fn assistant(content: impl Into<Message>) -> Fragment {
    message_of(Role::Assistant, content)
}

/// Replaces the newest assistant message, wherever it is when the engine resolves or saves.
///
/// 1. An assistant message is pending: that one is replaced, once, in place.
/// 2. Else the newest stored assistant message of the branch is amended in place; the head stays,
///    also when a user message is newer.
/// 3. There is none: a new assistant message.
/// 4. Of two in one save the last wins.
/// 5. Resolved before saved: the prompt shows the new text only.
/// 6. Saved with branching asked for: a new branch at the replaced message's parent.
pub fn last_assistant_message(text: impl Into<Arc<str>>) -> Fragment {
    let lazy = LazyMessage::LastAssistant { text: text.into() };
    Fragment::from_content(
        Role::Assistant.as_str(),
        FragmentKind::Message,
        FragmentContent::Lazy(lazy),
    )
}

fn message_of(role: Role, content: impl Into<Message>) -> Fragment {
    Fragment::from(content.into().with_role(role))
}
