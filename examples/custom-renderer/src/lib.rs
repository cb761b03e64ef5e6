//! A renderer of your own: prompts as YAML outlines, on `context-core` alone.
//!
//! Copy this package and change what is said in YAML. [`Renderer`] asks for two calls: a name, and
//! [pieces](Renderer::render_pieces), one for each fragment, so that an engine renders again only
//! what has changed. `tests/conformance.rs` proves the whole.
//!
//! A format decides four things, and each has a place here:
//!
//! * How fragments stand beside each other: as entries of one list, so two of the same name may
//!   follow each other and each piece stands for itself. A format where they depend on their
//!   neighbours implements [`Renderer::arrange`] as well.
//! * How a tree is walked: `outline.rs`, with a stack of its own, since trees can be deeper than a
//!   thread's.
//! * How a text keeps its place, whatever it says: `scalar.rs`.
//! * How a model is told that somebody else wrote something: the tag `!untrusted`.
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
//! To use it, hand it to the engine: `ContextEngine::builder(store).renderer(YamlRenderer)`;
//! `tests/engine.rs` does.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod outline;
mod scalar;

use context_core::fragment::{Piece, Pieces, RenderError};
use context_core::{FragmentData, Renderer};

/// Renders fragments as a YAML list. It has no options, so it is its own value.
#[derive(Clone, Copy, Debug, Default)]
pub struct YamlRenderer;

impl Renderer for YamlRenderer {
    fn name(&self) -> &str {
        "yaml"
    }

    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError> {
        for piece in pieces {
            // What has nothing to say is an empty piece, and not left out: each fragment has one.
            if !piece.fragment.data().is_some_and(FragmentData::is_empty) {
                outline::write(piece.fragment, out.text())?;
            }
            out.end_piece();
        }
        Ok(())
    }
}
