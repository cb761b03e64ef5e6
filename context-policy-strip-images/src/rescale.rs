//! The seam of scaling images down.

use std::fmt;

use context_core::model::ImageLimits;

/// Makes images smaller. An application that has a decoder gives one; without it, images that are
/// too large are removed.
///
/// Implementors: the same image and limits give the same bytes.
pub trait Rescale: fmt::Debug + Send + Sync + 'static {
    /// The image within these limits; nothing if that cannot be done. `image` is the file as it is,
    /// `media_type` what it is said to be.
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
    /// The file.
    pub bytes: Vec<u8>,
    /// What it is, such as `image/jpeg`.
    pub media_type: String,
}

impl Rescaled {
    /// This file of this type.
    pub fn new(bytes: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Self {
        Self { bytes: bytes.into(), media_type: media_type.into() }
    }
}
