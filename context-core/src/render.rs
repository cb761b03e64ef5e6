//! The seam between fragments and prompt text.

use std::fmt;

use crate::{Error, ErrorKind, Fragment};

/// Turns fragments into prompt text.
///
/// Implementors: be pure, synchronous and iterative. The same fragments give the same bytes, whatever else
/// happened; a tree of any depth needs no stack. The output is well-formed for every input, keeps the order
/// and drops nothing that has content. Fragments that hold a message or an unknown kind are not yours: refuse
/// them. Callers: hand over context fragments only.
pub trait Renderer: fmt::Debug + Send + Sync + 'static {
    /// The format's name, such as `xml`.
    fn name(&self) -> &str;

    /// The prompt text of the fragments, without a line break at the end; empty if nothing has content.
    fn render(&self, fragments: &[Fragment]) -> Result<String, RenderError>;
}

/// Why fragments could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The fragment holds something else than data.
    #[error("fragment {name:?} holds no data that can be rendered")]
    NotData {
        /// The fragment's name.
        name: String,
    },
}

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        Error::new(ErrorKind::Invalid, "render", error.to_string()).with_source(error)
    }
}
