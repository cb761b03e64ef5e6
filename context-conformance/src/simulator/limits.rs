//! How much a simulated provider takes.

/// Behind how many images the limit of many images counts.
const MANY_IMAGES: usize = 20;

/// How much is taken; what is not set is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// Tokens of a request.
    pub(super) window: Option<u64>,
    /// Tokens of an answer.
    pub(super) max_output: Option<u64>,
    /// Bytes of a body.
    pub(super) request_bytes: Option<u64>,
    /// How many images.
    pub(super) images: Option<u64>,
    /// Bytes of an image.
    pub(super) image_bytes: Option<u64>,
    /// The longest edge of an image.
    pub(super) image_pixels: Option<u64>,
    /// The longest edge of an image where there are many.
    pub(super) many_images_pixels: Option<u64>,
}

impl Limits {
    /// The longest edge of an image among so many, and whether that is because there are many.
    pub(super) fn pixels(&self, images: usize) -> Option<(u64, bool)> {
        let many = self.many_images_pixels.filter(|_| images > MANY_IMAGES);
        match (self.image_pixels, many) {
            (Some(alone), Some(many)) if alone <= many => Some((alone, false)),
            (_, Some(many)) => Some((many, true)),
            (alone, None) => alone.map(|alone| (alone, false)),
        }
    }
}
