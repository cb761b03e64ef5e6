//! The limits of a simulated provider.

/// The number of images above which the limit for many images applies.
const MANY_IMAGES: usize = 20;

/// The limits of a provider. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// Tokens of a request.
    pub(super) window: Option<u64>,
    /// Tokens of an answer.
    pub(super) max_output: Option<u64>,
    /// Bytes of a body.
    pub(super) request_bytes: Option<u64>,
    /// The number of images.
    pub(super) images: Option<u64>,
    /// Bytes of an image.
    pub(super) image_bytes: Option<u64>,
    /// The longest edge of an image, in pixels.
    pub(super) image_pixels: Option<u64>,
    /// The longest edge of an image in a request with many images, in pixels.
    pub(super) many_images_pixels: Option<u64>,
}

impl Limits {
    /// Returns the longest allowed edge in a request of `images` images, and whether the limit for
    /// many images is the one that applies.
    pub(super) fn pixels(&self, images: usize) -> Option<(u64, bool)> {
        let many = self.many_images_pixels.filter(|_| images > MANY_IMAGES);
        match (self.image_pixels, many) {
            (Some(alone), Some(many)) if alone <= many => Some((alone, false)),
            (_, Some(many)) => Some((many, true)),
            (alone, None) => alone.map(|alone| (alone, false)),
        }
    }
}
