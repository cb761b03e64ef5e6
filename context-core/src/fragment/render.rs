//! The interface between fragments and prompt text.
//!
//! A prompt is composed of pieces, one for each fragment, so that callers can cache them. A piece
//! has to be rendered again only if its fragment or its form changes. Renderers keep no state.

mod pieces;

use std::fmt;

pub use pieces::{Arrangement, Form, Piece, Pieces};

use crate::{Error, ErrorKind, Fragment};

/// Renders fragments as prompt text.
///
/// Contract with implementors: be pure, synchronous and iterative. The same fragments yield the
/// same bytes in any circumstances. A tree of any depth must not overflow the stack, and
/// indentation must not grow with the depth unless the format requires it. The output is
/// well-formed for every input, keeps the order, marks [untrusted](Fragment::untrusted) fragments,
/// and omits nothing that has content. Refuse fragments that hold a message, an unknown kind or
/// data that is not loaded yet, at any depth, with the name of the fragment. Callers pass context
/// fragments only.
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
/// Implement [`name`](Self::name) and [`render_pieces`](Self::render_pieces): for each piece,
/// append to [`Pieces::text`] and call [`Pieces::end_piece`]. `examples/custom-renderer` is a
/// complete renderer; `context_conformance::renderer` tests renderers.
pub trait Renderer: fmt::Debug + Send + Sync + 'static {
    /// Returns the name of the format, such as `xml`.
    fn name(&self) -> &str;

    /// Returns the arrangement of the pieces. Called before every rendering, so examine names and
    /// shapes, not texts. By default, each piece is independent and on lines of its own.
    fn arrange(&self, fragments: &[&Fragment]) -> Arrangement {
        let _ = fragments;
        Arrangement::separated_by("\n")
    }

    /// Renders pieces independently of each other, each in its form: one for each fragment, in
    /// order. A fragment without content yields an empty piece. After an error, the output is
    /// discarded.
    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError>;

    /// Renders fragments as prompt text, without a trailing line break. Empty if no fragment has
    /// content.
    fn render(&self, fragments: &[Fragment]) -> Result<String, RenderError> {
        let fragments: Vec<_> = fragments.iter().collect();
        let arrangement = self.arrange(&fragments);
        let mut out = Pieces::default();
        self.render_pieces(&arrangement.pieces(&fragments), &mut out)?;
        Ok(arrangement.join(out.iter()))
    }
}

/// An error of a fragment that cannot be rendered.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The fragment holds something other than data.
    #[error("fragment {name:?} holds no data that can be rendered")]
    NotData {
        /// The name of the fragment.
        name: String,
    },
    /// The fragment contains data that is not loaded yet.
    #[error("data of {name:?} is still to be loaded; an engine loads it when it resolves")]
    NotLoaded {
        /// The name of the fragment.
        name: String,
    },
}

crate::readable_debug!(RenderError);

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        Error::new(ErrorKind::Invalid, "render", error.to_string()).with_source(error)
    }
}
