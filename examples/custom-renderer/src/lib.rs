//! A custom renderer: prompts as YAML outlines, which depends on `context-core` alone.
//!
//! Copy this package and change the format. [`Renderer`] requires two calls: a name, and
//! [pieces](Renderer::render_pieces), one per fragment, so that an engine renders only changed
//! fragments again. `tests/conformance.rs` tests the renderer.
//!
//! A format makes four decisions, and each has a place here:
//!
//! * Separation of fragments: they are entries of one list. So two of the same name may follow each
//!   other, and each piece is independent. A format in which fragments depend on their neighbours
//!   implements [`Renderer::arrange`] as well.
//! * Tree traversal: `outline.rs`, with an explicit stack, since trees can be deeper than the stack
//!   of a thread.
//! * Escaping, so that no text can break out of its element: `scalar.rs`.
//! * Marking of untrusted content: the tag `!untrusted`.
//!
//! ```
//! use context_core::{FragmentData, Renderer, fragment, hint, role};
//! use custom_renderer::YamlRenderer;
//!
//! let prompt = YamlRenderer.render(&[
//!     role("You book trips."),
//!     fragment("rules", [hint("Ask before you pay."), hint("Prices: in EUR.")]),
//!     fragment("cities", ["Rome", "Oslo"]),
//! ])?;
//! assert_eq!(prompt, r#"- role: You book trips.
//! - rules:
//!     - hint: Ask before you pay.
//!     - hint: "Prices: in EUR."
//! - cities:
//!     - Rome
//!     - Oslo"#);
//! # Ok::<_, context_core::fragment::RenderError>(())
//! ```
//!
//! To use the renderer, pass it to the engine:
//! `ContextEngine::builder(store).renderer(YamlRenderer)`, as in `tests/engine.rs`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod outline;
mod scalar;

use context_core::fragment::{Piece, Pieces, RenderError};
use context_core::{FragmentData, Renderer};

/// A renderer of fragments as a YAML list. It has no options.
#[derive(Clone, Copy, Debug, Default)]
pub struct YamlRenderer;

impl Renderer for YamlRenderer {
    fn name(&self) -> &str {
        "yaml"
    }

    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError> {
        for piece in pieces {
            // A fragment without content is an empty piece. It is not left out, since each fragment
            // has a piece.
            if !piece.fragment.data().is_some_and(FragmentData::is_empty) {
                outline::write(piece.fragment, out.text())?;
            }
            out.end_piece();
        }
        Ok(())
    }
}
