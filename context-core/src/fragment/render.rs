//! The seam between fragments and prompt text.
//!
//! A prompt is put together from pieces, one for each fragment, so that whoever calls can keep
//! them: a piece has to be rendered again only when its fragment changes, or the form in which it
//! stands among the others. Renderers keep nothing themselves.

mod pieces;

use std::fmt;

pub use pieces::{Arrangement, Form, Piece, Pieces};

use crate::{Error, ErrorKind, Fragment};

/// Turns fragments into prompt text.
///
/// Implementors: be pure, synchronous and iterative. The same fragments give the same bytes,
/// whatever else happened; a tree of any depth needs no stack, and unless the format prescribes it
/// no indentation that grows with the depth. The output is well-formed for every input, keeps the
/// order, shows which fragments are [untrusted](Fragment::untrusted) and drops nothing that has
/// content. Fragments that hold a message, an unknown kind or data that is still to be loaded are
/// not yours: refuse them, wherever they stand, by the name of the fragment. Callers: hand over
/// context fragments only.
///
/// ```
/// use context_core::{Renderer, hint, role};
/// use context_core::fragment::{Piece, Pieces, RenderError};
///
/// /// Names alone, for a table of contents.
/// #[derive(Debug)]
/// struct Contents;
///
/// impl Renderer for Contents {
///     fn name(&self) -> &str {
///         "contents"
///     }
///
///     fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError> {
///         for piece in pieces {
///             out.text().push_str(piece.fragment.name());
///             out.end_piece();
///         }
///         Ok(())
///     }
/// }
///
/// assert_eq!(Contents.render(&[role("You book trips."), hint("Prices are in EUR.")])?, "role\nhint");
/// # Ok::<(), RenderError>(())
/// ```
///
/// # Where to begin
///
/// Write [`name`](Self::name) and [`render_pieces`](Self::render_pieces): for each piece, append to
/// [`Pieces::text`] and call [`Pieces::end_piece`]. `examples/custom-renderer` is a renderer,
/// whole; `context_conformance::renderer` proves yours.
pub trait Renderer: fmt::Debug + Send + Sync + 'static {
    /// The format's name, such as `xml`.
    fn name(&self) -> &str;

    /// How the pieces of these fragments stand together. Called before every rendering, so look at
    /// names and shapes, not at texts. By default each stands for itself, on lines of its own.
    fn arrange(&self, fragments: &[&Fragment]) -> Arrangement {
        let _ = fragments;
        Arrangement::separated_by("\n")
    }

    /// Renders pieces, each for itself and in its form: one for each fragment, in their order. A
    /// fragment without content gives an empty one. What is written before an error is dropped.
    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError>;

    /// The prompt text of the fragments, without a line break at the end; empty if nothing has
    /// content.
    fn render(&self, fragments: &[Fragment]) -> Result<String, RenderError> {
        let fragments: Vec<_> = fragments.iter().collect();
        let arrangement = self.arrange(&fragments);
        let mut out = Pieces::default();
        self.render_pieces(&arrangement.pieces(&fragments), &mut out)?;
        Ok(arrangement.join(out.iter()))
    }
}

/// Why fragments could not be rendered.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The fragment holds something else than data.
    #[error("fragment {name:?} holds no data that can be rendered")]
    NotData {
        /// The fragment's name.
        name: String,
    },
    /// Something in the fragment is still to be loaded.
    #[error("data of {name:?} is still to be loaded; an engine loads it when it resolves")]
    NotLoaded {
        /// The name under which it stands.
        name: String,
    },
}

crate::readable_debug!(RenderError);

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        Error::new(ErrorKind::Invalid, "render", error.to_string()).with_source(error)
    }
}
