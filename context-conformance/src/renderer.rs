//! Contract tests for implementations of [`Renderer`].
//!
//! ```
//! use context_conformance::renderer::assert_renderer_conforms;
//! use context_core::{BoxError, Fragment, Renderer};
//! use context_core::fragment::{Arrangement, Piece, Pieces, RenderError};
//! # fn shown(_: &str, _: &context_core::FragmentData) -> String { String::new() }
//!
//! /// Returns the values in a prompt, with a parser that shares no code with the renderer.
//! fn read(prompt: &str) -> Result<Vec<String>, BoxError> {
//!     prompt.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
//! }
//!
//! fn conforms(renderer: &dyn Renderer) {
//!     assert_renderer_conforms(renderer, &read);
//! }
//! ```
//!
//! Cases are random and the same in every run. `PROPTEST_CASES` sets the number of cases per
//! property (default 64), and `CONTEXT_CONFORMANCE_SEED` the seed. A failure shows the smallest
//! failing fragments found, in the form that `context render` reads, and their prompt.
//!
//! # Coverage
//!
//! [`assert_renders_soundly`] checks the properties that are visible in any format. In its trees,
//! every name and every text is unique. They consist of small letters and digits, which no format
//! has to escape (a name may begin with a capital):
//!
//! * Every name and every text is present, in the order of the fragments. A table may print its
//!   names first.
//! * Rendering is deterministic. Each piece is the same next to any other pieces, and the joined
//!   pieces are the whole prompt, so that an engine may cache them.
//! * Fragments without content are left out, and a prompt has no trailing line break.
//! * An untrusted fragment is rendered differently from a trusted one, wherever it occurs.
//! * Messages, unknown kinds and data that is not loaded yet are refused wherever they occur, with
//!   the correct error.
//! * Trees with thousands of levels do not overflow the stack.
//!
//! [`assert_grows_with_depth`] checks that the prompt of a deep tree stays small: if every level is
//! indented, the prompt grows with the square of its depth. Only a format that prescribes
//! indentation, such as TOON, has a reason to skip this check.
//!
//! [`assert_reads_back`] needs a reader of the format, preferably a third-party one, and renders
//! hostile names and texts:
//!
//! * Every prompt can be parsed, and each text reads back whole. So no text ends its element, and
//!   no text becomes part of another one.
//!
//! The suite does not check the looks of a prompt, nor the spelling of names that are not words.

mod deep;
mod numbered;
mod reading;
mod refused;
mod sound;
mod trees;

use context_core::{BoxError, Fragment, Renderer};
use proptest::prelude::*;

pub use trees::{fragments, name, text};

use crate::property::{self, Counterexample};
use crate::suite_check::SuiteCheck;
use crate::verdict::Stop;

/// A parser of a prompt format, which finds out what a model would see in a prompt.
///
/// A function `fn(&str) -> Result<Vec<String>, BoxError>` is a reader. Use a parser that shares no
/// code with the renderer, or both may have the same bug.
pub trait PromptReader {
    /// Returns the texts, numbers and booleans of a prompt, without names and markup. An error or a
    /// panic means that the prompt is not well-formed.
    fn read(&self, prompt: &str) -> Result<Vec<String>, BoxError>;

    /// Returns the form in which a text reads back, for formats that cannot represent every text.
    /// By default a text reads back unchanged.
    fn expected_text(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Whether trusted texts read back too. They do not in a format where they are markup, such as
    /// Markdown. By default they do.
    fn reads_trusted(&self) -> bool {
        true
    }
}

impl<F: Fn(&str) -> Result<Vec<String>, BoxError>> PromptReader for F {
    fn read(&self, prompt: &str) -> Result<Vec<String>, BoxError> {
        self(prompt)
    }
}

/// Runs all checks: [`assert_renders_soundly`], [`assert_grows_with_depth`] and
/// [`assert_reads_back`].
///
/// # Panics
///
/// If a case breaks the contract. The message shows the smallest one.
pub fn assert_renderer_conforms(renderer: &dyn Renderer, reader: &dyn PromptReader) {
    let mut kit = Kit::new(renderer);
    kit.renders_soundly();
    kit.grows_with_depth();
    kit.reads_back(reader);
    kit.suite.finish();
}

/// Checks the properties that need no reader; see the [module](self).
///
/// # Panics
///
/// If a case breaks the contract. The message shows the smallest one. A renderer that walks the
/// tree by recursion aborts the test program: its stack overflows, in a thread whose name says so.
pub fn assert_renders_soundly(renderer: &dyn Renderer) {
    let mut kit = Kit::new(renderer);
    kit.renders_soundly();
    kit.suite.finish();
}

/// Checks that a prompt grows linearly with the depth of its tree; see the [module](self).
///
/// # Panics
///
/// If the prompt grows with the square of the depth.
pub fn assert_grows_with_depth(renderer: &dyn Renderer) {
    let mut kit = Kit::new(renderer);
    kit.grows_with_depth();
    kit.suite.finish();
}

/// Checks that hostile texts read back, each whole and in its element; see the [module](self).
///
/// # Panics
///
/// If a text does not read back. The message shows the smallest case.
pub fn assert_reads_back(renderer: &dyn Renderer, reader: &dyn PromptReader) {
    let mut kit = Kit::new(renderer);
    kit.reads_back(reader);
    kit.suite.finish();
}

struct Kit<'a> {
    renderer: &'a dyn Renderer,
    suite: SuiteCheck,
}

impl<'a> Kit<'a> {
    fn new(renderer: &'a dyn Renderer) -> Self {
        Self { renderer, suite: SuiteCheck::new("renderer", renderer.name()) }
    }

    fn renders_soundly(&mut self) {
        let renderer = self.renderer;
        self.ask("content_is_shown_in_order", "numbered words", numbered::shapes(), |shape| {
            sound::shows_all(renderer, shape)
        });
        self.ask("untrusted_fragments_are_marked", "a mark", numbered::marked(), |shape| {
            sound::shows_marks(renderer, shape)
        });
        self.ask("pieces_make_up_the_prompt", "hostile fragments", fragments(), |fragments| {
            sound::pieces_are_kept(renderer, fragments)
        });
        self.once("nothing_leaves_nothing", "nothing", || sound::nothing_is_empty(renderer));
        self.once("foreign_content_is_refused", "what is not a renderer's", || {
            refused::all(renderer)
        });
        self.once("deep_trees_need_no_stack", "a deep tree", || deep::without_recursion(renderer));
    }

    fn grows_with_depth(&mut self) {
        let renderer = self.renderer;
        self.once("prompts_grow_with_depth", "a deep tree", || {
            deep::grows_with_the_depth(renderer)
        });
    }

    fn reads_back(&mut self, reader: &dyn PromptReader) {
        let renderer = self.renderer;
        let reads_back = |fragments: &_| reading::reads_back(renderer, reader, fragments);
        let untrusted = "untrusted_texts_read_back";
        self.ask(untrusted, "untrusted fragments", reading::untrusted(), reads_back);
        let trusted = "trusted_texts_read_back";
        if reader.reads_trusted() {
            self.ask(trusted, "hostile fragments", reading::trusted(), reads_back);
        } else {
            let skip = || Err(Stop::Skip("trusted texts are markup".to_owned()));
            self.suite.case(trusted, skip);
        }
        let long = || reading::long(renderer, reader);
        self.once("long_texts_read_back", "long names and texts", long);
    }

    fn ask<S: Strategy>(
        &mut self,
        name: &str,
        label: &str,
        cases: S,
        property: impl Fn(&S::Value) -> Result<(), String>,
    ) where
        S::Value: AsRef<[Fragment]> + std::fmt::Debug,
    {
        let renderer = self.renderer;
        self.suite.case(name, || {
            let asked = property::ask(&cases, |case| property(case).map_err(TestCaseError::fail));
            asked.map_err(|Counterexample { why, case, reproduction }| {
                let shown = case.map(|case| shown(renderer, case.as_ref())).unwrap_or_default();
                broken(renderer, label, &format!("{why}\n{shown}{reproduction}"))
            })
        });
    }

    fn once(&mut self, name: &str, label: &str, check: impl FnOnce() -> Result<(), String>) {
        let renderer = self.renderer;
        self.suite.case(name, || check().map_err(|why| broken(renderer, label, &why)));
    }
}

fn broken(renderer: &dyn Renderer, label: &str, why: &str) -> Stop {
    let name = renderer.name();
    Stop::Fail(format!("the renderer {name:?} does not keep its contract, given {label}: {why}"))
}

/// Formats fragments and the outcome of rendering them. Catches a panic of the renderer, which may
/// be the failure that is reported.
fn shown(renderer: &dyn Renderer, fragments: &[Fragment]) -> String {
    let json = serde_json::to_string(fragments).unwrap_or_else(|_| format!("{fragments:?}"));
    let render = std::panic::AssertUnwindSafe(|| renderer.render(fragments));
    let prompt = match std::panic::catch_unwind(render) {
        Ok(Ok(prompt)) => format!("its prompt:\n{prompt}\n(end of the prompt)"),
        Ok(Err(error)) => format!("its error: {error}"),
        Err(_) => "it panics".to_owned(),
    };
    format!("fragments: {json}\n{prompt}\n")
}
