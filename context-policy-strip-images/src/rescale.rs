//! The trait for scaling images down.

use std::fmt;

use context_core::model::ImageLimits;

/// Makes images smaller. An application that has a decoder supplies an implementation; without one,
/// images that are too large are removed.
///
/// Implementors: the same image and limits must give the same bytes.
pub trait Rescale: fmt::Debug + Send + Sync + 'static {
    /// Returns the image within these limits, or `None` if that cannot be done. `image` is the
    /// content of the file, `media_type` its declared type.
    fn rescale(
        &self,
        image: &[u8],
        media_type: Option<&str>,
        limits: &ImageLimits,
    ) -> Option<Rescaled>;
}

/// An image that was made smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rescaled {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The media type, such as `image/jpeg`.
    pub media_type: String,
}

impl Rescaled {
    /// Creates a rescaled image from a file and its media type.
    pub fn new(bytes: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Self {
        Self { bytes: bytes.into(), media_type: media_type.into() }
    }
}
