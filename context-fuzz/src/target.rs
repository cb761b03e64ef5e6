//! The type of a target, and the list of targets.

use std::fmt;

use crate::corpus;
use crate::targets::{codec, file, form, graph, native, search};

/// A parser with the checks of its guarantees.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct FuzzTarget {
    /// The name for `cargo xtask fuzz`.
    pub name: &'static str,
    pub(crate) check: fn(&[u8]) -> bool,
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
}

impl fmt::Debug for FuzzTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FuzzTarget").field("name", &self.name).finish_non_exhaustive()
    }
}

impl FuzzTarget {
    /// Passes bytes to the parser and returns whether the parser accepted them.
    ///
    /// # Panics
    ///
    /// If the parser breaks a guarantee.
    pub fn check(&self, bytes: &[u8]) -> bool {
        (self.check)(bytes)
    }

    /// Returns small realistic documents that the parser accepts.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        (self.seeds)()
    }

    /// Returns the inputs of the corpus, which earlier runs of the fuzzer left. The parser may
    /// refuse them.
    ///
    /// # Panics
    ///
    /// If the file of the corpus cannot be read.
    pub fn corpus(&self) -> Vec<Vec<u8>> {
        corpus::read(self.name)
    }
}

/// All targets.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "packed", check: native::packed, seeds: native::packed_seeds },
    FuzzTarget { name: "message", check: native::message, seeds: native::message_seeds },
    FuzzTarget { name: "fragment", check: native::fragment, seeds: native::fragment_seeds },
    FuzzTarget { name: "chats", check: native::chats, seeds: native::chats_seeds },
    FuzzTarget { name: "search", check: search::search, seeds: search::seeds },
    FuzzTarget { name: "openai", check: codec::openai, seeds: codec::openai_seeds },
    FuzzTarget { name: "openai-responses", check: codec::responses, seeds: codec::responses_seeds },
    FuzzTarget { name: "anthropic", check: codec::anthropic, seeds: codec::anthropic_seeds },
    FuzzTarget { name: "gemini", check: codec::gemini, seeds: codec::gemini_seeds },
    FuzzTarget { name: "uimessage", check: codec::uimessage, seeds: codec::uimessage_seeds },
    FuzzTarget { name: "refusal", check: codec::refusal, seeds: codec::refusal_seeds },
    FuzzTarget { name: "skill", check: file::skill, seeds: file::skill_seeds },
    FuzzTarget { name: "instructions", check: file::instructions, seeds: file::instructions_seeds },
    FuzzTarget { name: "message-log", check: file::message_log, seeds: file::message_log_seeds },
    FuzzTarget { name: "trajectory-file", check: file::trajectory, seeds: file::trajectory_seeds },
    FuzzTarget { name: "round", check: graph::round, seeds: graph::round_seeds },
    FuzzTarget { name: "atif", check: graph::atif, seeds: graph::atif_seeds },
    FuzzTarget { name: "otlp", check: graph::otlp, seeds: graph::otlp_seeds },
    FuzzTarget { name: "peer", check: graph::peer, seeds: graph::peer_seeds },
    FuzzTarget {
        name: "peer-messages",
        check: form::peer_messages,
        seeds: form::peer_messages_seeds,
    },
];

/// Returns the target with this name.
pub fn target(name: &str) -> Option<&'static FuzzTarget> {
    TARGETS.iter().find(|target| target.name == name)
}
