//! The published vocabularies, and counting with them.

mod merge;
mod runs;

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use tiktoken::CoreBpe;

use self::merge::Merger;
use self::runs::Splitter;

/// A published vocabulary. Counts are exact: they equal those of the provider's own tokenizer.
///
/// Text that looks like a special token, such as `<|endoftext|>`, is counted as ordinary text. The
/// time is linear in the length of any text. A vocabulary is loaded once per process, at its first
/// use (about a tenth of a second).
///
/// ```
/// use context_tokens::Vocabulary;
///
/// assert_eq!(Vocabulary::O200kBase.count("hello world"), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Vocabulary {
    /// The vocabulary of GPT-4o and all of OpenAI's models since.
    #[serde(rename = "o200k_base")]
    O200kBase,
    /// The vocabulary of GPT-4, GPT-3.5 and OpenAI's embeddings.
    #[serde(rename = "cl100k_base")]
    Cl100kBase,
}

/// The tokenizer of a loaded vocabulary.
struct Tokenizer {
    fast: &'static CoreBpe,
    splitter: Splitter,
    /// For texts on which `fast` is slow; most programs never need it.
    merger: LazyLock<Merger, Box<dyn FnOnce() -> Merger + Send>>,
}

static O200K_BASE: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::new(Vocabulary::O200kBase));
static CL100K_BASE: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::new(Vocabulary::Cl100kBase));

impl Tokenizer {
    fn new(vocabulary: Vocabulary) -> Self {
        let fast =
            tiktoken::get_encoding(vocabulary.name()).expect("the vocabulary is compiled in");
        let splitter = Splitter::new(vocabulary);
        Self { fast, splitter, merger: LazyLock::new(Box::new(|| Merger::new(fast))) }
    }
}

impl Vocabulary {
    /// Returns the stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// Counts the tokens of a text.
    pub fn count(self, text: &str) -> u64 {
        let tokenizer = match self {
            Self::O200kBase => &*O200K_BASE,
            Self::Cl100kBase => &*CL100K_BASE,
        };
        runs::count(
            text,
            &tokenizer.splitter,
            |text| tokenizer.fast.count(text),
            || &tokenizer.merger,
        ) as u64
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
