//! The kinds of parts that messages of each role accept.

/// The kinds of parts that a message accepts.
#[derive(Clone, Copy)]
pub(super) enum PartKinds {
    /// A user message: all parts are accepted.
    User,
    /// An assistant message: texts and refusals.
    Assistant,
    /// A system or tool message: texts.
    Texts,
    /// The source form: any part.
    Source,
}

impl PartKinds {
    pub(super) fn of(role: &str, for_source: bool) -> Self {
        match role {
            _ if for_source => Self::Source,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            _ => Self::Texts,
        }
    }

    pub(super) fn accept_media(self) -> bool {
        matches!(self, Self::User | Self::Source)
    }

    pub(super) fn accept_refusals(self) -> bool {
        matches!(self, Self::Assistant | Self::Source)
    }
}
