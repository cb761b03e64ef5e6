//! Proves that a renderer keeps the contract of [`Renderer`].
//!
//! ```
//! use context_conformance::renderer::{BoxError, assert_renderer_conforms};
//! use context_core::{Fragment, Renderer};
//! use context_core::fragment::{Arrangement, Piece, Pieces, RenderError};
//! # fn shown(_: &str, _: &context_core::FragmentData) -> String { String::new() }
//!
//! /// What stands in a prompt, read by a parser that is not the renderer's own.
//! fn read(prompt: &str) -> Result<Vec<String>, BoxError> {
//!     prompt.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
//! }
//!
//! fn conforms(renderer: &dyn Renderer) {
//!     assert_renderer_conforms(renderer, &read);
//! }
//! ```
//!
//! Cases are random and the same in every run. `PROPTEST_CASES` says how many there are of each
//! property, 64 if it says nothing, and `CONTEXT_CONFORMANCE_SEED` where they begin. A failure
//! shows the smallest fragments found, in the form that `context render` reads, and the prompt.
//!
//! # What is asked
//!
//! [`assert_renders_soundly`] asks what can be seen of any format. Its trees have a name and a text
//! of their own everywhere, made of small letters and digits, which no format has to write
//! otherwise (a capital may begin a name):
//!
//! * Every name and every text is there, in the order of the fragments. A table may have its names
//!   in front.
//! * The same fragments give the same bytes. Each piece is what it is beside other pieces, and the
//!   pieces put together are the whole prompt: so an engine may keep them.
//! * What has no content is left out, and no line break stands at the end.
//! * An untrusted fragment is shown otherwise than one that is trusted, wherever it stands.
//! * Messages, unknown kinds and data that is still to be loaded are refused, wherever they stand,
//!   with the right error.
//! * Trees of thousands of levels need no stack.
//!
//! [`assert_grows_with_depth`] asks whether a deep tree stays small: where every level is indented,
//! a prompt has the square of its depth in spaces. Only a format that prescribes indentation, such
//! as TOON, has a reason to leave it out.
//!
//! [`assert_reads_back`] asks for a reader of the format, best somebody else's, and has hostile
//! names and texts written:
//!
//! * Every prompt can be read, and each text comes back whole: so none ends its place, and none
//!   becomes another's.
//!
//! It does not ask how a prompt looks, nor how names that are no words are written.

mod deep;
mod numbered;
mod reading;
mod refused;
mod sound;
mod trees;

use std::error::Error;

use context_core::{Fragment, Renderer};
use proptest::prelude::*;

pub use trees::{fragments, name, text};

use crate::property::{self, Broken};
use crate::reported::Question;

/// What a [reader](PromptReader) may fail with.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Reads prompts of a format, to find out what a model would see in them.
///
/// A function `fn(&str) -> Result<Vec<String>, BoxError>` is one. Use a parser that shares no code
/// with the renderer, or the two may be wrong together.
pub trait PromptReader {
    /// The texts, numbers and truth values of a prompt, without names and marks. An error, or a
    /// panic, says that the prompt is not well-formed.
    fn read(&self, prompt: &str) -> Result<Vec<String>, BoxError>;

    /// What a text is after it was written and read, where the format cannot say all texts. By
    /// default it is itself.
    fn said(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Whether trusted texts read back too. In a format where they are markup, as in Markdown, they
    /// do not. By default they do.
    fn reads_trusted(&self) -> bool {
        true
    }
}

impl<F: Fn(&str) -> Result<Vec<String>, BoxError>> PromptReader for F {
    fn read(&self, prompt: &str) -> Result<Vec<String>, BoxError> {
        self(prompt)
    }
}

/// Asks everything: [`assert_renders_soundly`], [`assert_grows_with_depth`] and
/// [`assert_reads_back`].
///
/// # Panics
///
/// With the smallest case that breaks the contract.
pub fn assert_renderer_conforms(renderer: &dyn Renderer, reader: &dyn PromptReader) {
    assert_renders_soundly(renderer);
    assert_grows_with_depth(renderer);
    assert_reads_back(renderer, reader);
}

/// Asks what can be asked without a reader; see the [module](self).
///
/// # Panics
///
/// With the smallest case that breaks the contract. A renderer that walks by recursion ends the
/// test program: its stack overflows, in a thread whose name says so.
pub fn assert_renders_soundly(renderer: &dyn Renderer) {
    let _asked = Question::new("renderer", renderer.name(), "renders soundly");
    let kit = Kit { renderer };
    kit.ask("numbered words", numbered::shapes(), |shape| sound::shows_all(renderer, shape));
    kit.ask("a mark", numbered::marked(), |shape| sound::shows_marks(renderer, shape));
    kit.ask("hostile fragments", fragments(), |fragments| {
        sound::pieces_are_kept(renderer, fragments)
    });
    kit.once("nothing", sound::nothing_is_empty(renderer));
    kit.once("what is not a renderer's", refused::all(renderer));
    kit.once("a deep tree", deep::without_recursion(renderer));
}

/// Asks whether a prompt grows with the depth of its tree, and not with the square of it; see the
/// [module](self).
///
/// # Panics
///
/// If it grows with the square.
pub fn assert_grows_with_depth(renderer: &dyn Renderer) {
    let _asked = Question::new("renderer", renderer.name(), "grows with depth");
    Kit { renderer }.once("a deep tree", deep::grows_with_the_depth(renderer));
}

/// Asks whether hostile texts read back, each whole and in its place; see the [module](self).
///
/// # Panics
///
/// With the smallest case that does not.
pub fn assert_reads_back(renderer: &dyn Renderer, reader: &dyn PromptReader) {
    let _asked = Question::new("renderer", renderer.name(), "reads back");
    let kit = Kit { renderer };
    kit.ask("untrusted fragments", reading::untrusted(), |fragments| {
        reading::reads_back(renderer, reader, fragments)
    });
    if reader.reads_trusted() {
        kit.ask("hostile fragments", reading::trusted(), |fragments| {
            reading::reads_back(renderer, reader, fragments)
        });
    }
    kit.once("long names and texts", reading::long(renderer, reader));
}

struct Kit<'a> {
    renderer: &'a dyn Renderer,
}

impl Kit<'_> {
    fn ask<S: Strategy>(
        &self,
        what: &str,
        cases: S,
        property: impl Fn(&S::Value) -> Result<(), String>,
    ) where
        S::Value: AsRef<[Fragment]> + std::fmt::Debug,
    {
        let Err(broken) = property::ask(&cases, |case| property(case).map_err(TestCaseError::fail))
        else {
            return;
        };
        let Broken { why, case, again } = broken;
        let shown = case.map(|case| self.shown(case.as_ref())).unwrap_or_default();
        panic!("{}, given {what}: {why}\n{shown}{again}", self.whose());
    }

    fn once(&self, what: &str, checked: Result<(), String>) {
        if let Err(why) = checked {
            panic!("{}, given {what}: {why}", self.whose());
        }
    }

    fn whose(&self) -> String {
        format!("the renderer {:?} does not keep its contract", self.renderer.name())
    }

    /// Fragments, and what becomes of them. What panicked before is not asked again.
    fn shown(&self, fragments: &[Fragment]) -> String {
        let json = serde_json::to_string(fragments).unwrap_or_else(|_| format!("{fragments:?}"));
        let render = std::panic::AssertUnwindSafe(|| self.renderer.render(fragments));
        let prompt = match std::panic::catch_unwind(render) {
            Ok(Ok(prompt)) => format!("its prompt:\n{prompt}\n(end of the prompt)"),
            Ok(Err(error)) => format!("its error: {error}"),
            Err(_) => "it panics".to_owned(),
        };
        format!("fragments: {json}\n{prompt}\n")
    }
}
