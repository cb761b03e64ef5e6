//! The prefix of a request: its hash and its cache breakpoints.

use context_core::ModelRequest;
use context_core::model::Tool;

use super::fingerprint::ChainHash;

/// The hash of what precedes the history: system prompt, tools, output schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PromptHash([u8; 32]);

impl PromptHash {
    /// Computes the hash.
    pub(super) fn of(system: &[String], request: &ModelRequest) -> Self {
        // The context string separates these hashes from all others. Change it when the hashed data
        // changes.
        let mut hasher = blake3::Hasher::new_derive_key("context-runtime request, form 1");
        let mut feed = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        feed(&system.len().to_string());
        system.iter().for_each(|text| feed(text));
        for tool in &request.tools {
            match tool {
                Tool::Function(tool) => {
                    feed("function");
                    feed(&tool.name);
                    feed(tool.description.as_deref().unwrap_or_default());
                    feed(tool.input_schema.as_str());
                    feed(match tool.strict {
                        None => "",
                        Some(true) => "strict",
                        Some(false) => "free",
                    });
                }
                Tool::Opaque(block) => {
                    feed("opaque");
                    feed(&block.provider);
                    feed(block.value.as_str());
                }
                _ => feed("another"),
            }
        }
        if let Some(output) = &request.output {
            feed("output");
            feed(&output.name);
            feed(output.description.as_deref().unwrap_or_default());
            feed(output.schema.as_str());
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// Returns the hash of a request with this prefix and history, in hexadecimal.
    pub(super) fn with(&self, history: ChainHash) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"request").update(&self.0).update(history.as_bytes());
        hasher.finalize().to_hex().to_string()
    }
}

/// Whether a provider takes explicit cache breakpoints.
pub(super) fn wants_marks(provider: &str) -> bool {
    provider.split('-').next() == Some("anthropic")
}

/// Returns the messages after which cache entries end: the last one that the next turn has too,
/// which is the user request or the message before it; the end of the entry that exists; and the
/// end of this request. Never a recall that is a message, which the next turn does not have. With
/// the breakpoint on the system prompt these are four, the most a provider accepts.
pub(super) fn marks(
    messages: usize,
    stable: Option<usize>,
    recall: Option<usize>,
    before: Option<usize>,
) -> Vec<usize> {
    let last = messages
        .checked_sub(1)
        .map(|last| if Some(last) == recall { last.saturating_sub(1) } else { last });
    let mut marks: Vec<usize> = [stable, before, last].into_iter().flatten().collect();
    marks.retain(|at| Some(*at) != recall && *at < messages);
    marks.sort_unstable();
    marks.dedup();
    marks
}
