//! Functions that create fragments.

use std::sync::Arc;

use super::{Fragment, FragmentContent, FragmentData, FragmentKind, LazyMessage};
use crate::{Message, Role};

/// Creates a fragment with the role of the model, rendered as `role`.
pub fn role(content: impl Into<FragmentData>) -> Fragment {
    Fragment::new("role", content).with_codec("role")
}

/// Creates a guideline, rendered as `hint`.
pub fn hint(text: impl Into<FragmentData>) -> Fragment {
    Fragment::new("hint", text).with_codec("hint")
}

/// Creates a free fragment from children, which are rendered inside one element, section or table
/// with this name.
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

/// Creates a user message.
pub fn user(content: impl Into<Message>) -> Fragment {
    message_of(Role::User, content)
}

/// Creates an assistant message.
pub fn assistant(content: impl Into<Message>) -> Fragment {
    message_of(Role::Assistant, content)
}

/// Replaces the newest assistant message at the time of the resolve or save, by these rules:
///
/// 1. If an assistant message is pending, it is replaced in place, once.
/// 2. Otherwise the newest stored assistant message of the branch is amended in place. The head
///    stays, even if a user message is newer.
/// 3. If there is no assistant message, a new one is created.
/// 4. Of two replacements in one save, the last wins.
/// 5. If it is resolved before it is saved, the prompt shows only the new text.
/// 6. If it is saved with branching, a new branch is created at the parent of the replaced message.
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
