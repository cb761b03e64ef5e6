//! Scaling images down, which [`StripImages`](crate::strip_images::StripImages) tries before it
//! removes an image that is too large.
//!
//! The crate `image` decodes and encodes. This module does not decide which images are too large.

use std::io::Cursor;

use context_core::model::ImageLimits;
use context_policy_strip_images::{Rescale, Rescaled};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType as PngFilter, PngEncoder};
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, GenericImageView, ImageDecoder, ImageFormat, ImageReader, Limits};

/// The longest edge that is decoded, in pixels.
const LONGEST_EDGE: u32 = 16_384;
/// The maximum memory for decoding an image, in bytes. A file of a few bytes can claim any size.
const MOST_MEMORY: u64 = 256 * 1024 * 1024;
/// The JPEG qualities to try, from the best to the lowest that still shows the content of an image.
const QUALITIES: [u8; 4] = [85, 70, 55, 40];
/// The number of sizes to try.
const SIZES: usize = 8;

/// Scales images down, so that those too large for a provider need not be removed.
///
/// Reads PNG, JPEG, GIF and WebP, detected by content; the declared media type is ignored. An image
/// keeps its aspect ratio and never grows, in pixels or in bytes. An image with transparency
/// becomes a PNG. Any other image becomes a PNG if it was a PNG or a GIF and fits, or else a JPEG,
/// first with lower quality and then at a smaller size. Of an animation only the first frame is
/// kept. Camera metadata is dropped, except that the orientation is applied. An image within the
/// limits is unchanged.
///
/// Refuses an image that it cannot read, with an edge over 16,384 pixels, or that takes more than
/// 256 MiB decoded. The work is done on the calling thread, and takes up to seconds for the largest
/// images.
///
/// ```
/// use context_runtime::strip_images::StripImages;
/// use context_runtime::{DecisionSet, ImageRescaler, RecoveryChain};
///
/// let chain = RecoveryChain::new(DecisionSet::Full).strip(StripImages::new().rescale(ImageRescaler::new()));
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ImageRescaler;

impl ImageRescaler {
    /// Returns the rescaler.
    pub fn new() -> Self {
        Self
    }
}

impl Rescale for ImageRescaler {
    fn rescale(&self, image: &[u8], _: Option<&str>, limits: &ImageLimits) -> Option<Rescaled> {
        let reader = ImageReader::new(Cursor::new(image)).with_guessed_format().ok()?;
        let format = reader.format()?;
        let most_bytes = limits.bytes.map_or(u64::MAX, raw).min(image.len() as u64);
        let most_edge =
            limits.pixels.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
        if most_bytes == 0 || most_edge == 0 {
            return None;
        }
        let decoder = bounded(reader)?;
        let (width, height) = decoder.dimensions();
        let edge = width.max(height);
        if image.len() as u64 <= most_bytes && edge <= most_edge {
            return Some(Rescaled::new(image, format.to_mime_type()));
        }
        let picture =
            DecodedImage::decode(decoder, matches!(format, ImageFormat::Png | ImageFormat::Gif))?;
        picture.within(edge.min(most_edge), most_bytes)
    }
}

/// Returns the length of a file with a Base64 form of this length, since providers count the
/// encoded bytes.
fn raw(base64: u64) -> u64 {
    base64 / 4 * 3
}

/// Returns a decoder that refuses images whose declared size is too large to decode.
fn bounded(mut reader: ImageReader<Cursor<&[u8]>>) -> Option<impl ImageDecoder> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(LONGEST_EDGE);
    limits.max_image_height = Some(LONGEST_EDGE);
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let decoder = reader.into_decoder().ok()?;
    // The limits apply to the decoder's own memory. The decoded image comes on top.
    (decoder.total_bytes() <= MOST_MEMORY).then_some(decoder)
}

/// An image with eight bits for each channel it needs.
struct DecodedImage {
    pixels: DynamicImage,
    transparent: bool,
    /// Whether the source format suggests a drawing that suits PNG, such as a screenshot.
    drawn: bool,
}

impl DecodedImage {
    fn decode(mut decoder: impl ImageDecoder, drawn: bool) -> Option<Self> {
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let mut image = DynamicImage::from_decoder(decoder).ok()?;
        image.apply_orientation(orientation);
        let color = image.color();
        let transparent =
            color.has_alpha() && image.pixels().any(|(_, _, pixel)| pixel.0[3] < u8::MAX);
        let pixels = match (color.has_color(), transparent) {
            (true, true) => image.into_rgba8().into(),
            (true, false) => image.into_rgb8().into(),
            (false, true) => image.into_luma_alpha8().into(),
            (false, false) => image.into_luma8().into(),
        };
        Some(Self { pixels, transparent, drawn })
    }

    /// Returns the largest and best form within a number of bytes, with edges of at most `edge`
    /// pixels.
    fn within(&self, mut edge: u32, most_bytes: u64) -> Option<Rescaled> {
        for size in 0..SIZES {
            let scaled = self.scaled(edge);
            let mut least = u64::MAX;
            for form in self.forms(size == 0) {
                let file = form.encode(&scaled)?;
                let bytes = file.bytes.len() as u64;
                if bytes <= most_bytes {
                    return Some(file);
                }
                least = least.min(bytes);
            }
            if edge == 1 {
                return None;
            }
            edge = smaller(edge, least, most_bytes);
        }
        None
    }

    /// Returns the forms to try for one size, in order. A drawing that is too large as a PNG at its
    /// first size is handled as a photograph.
    fn forms(&self, first: bool) -> impl Iterator<Item = Encoding> {
        let png = self.transparent || (self.drawn && first);
        let jpeg =
            QUALITIES.iter().filter(|_| !self.transparent).map(|quality| Encoding::Jpeg(*quality));
        png.then_some(Encoding::Png).into_iter().chain(jpeg)
    }

    /// Returns the image with this longest edge.
    fn scaled(&self, edge: u32) -> DynamicImage {
        let (width, height) = self.pixels.dimensions();
        let longest = width.max(height);
        if edge >= longest {
            return self.pixels.clone();
        }
        let part = |length: u32| {
            let scaled =
                (u64::from(length) * u64::from(edge) + u64::from(longest) / 2) / u64::from(longest);
            u32::try_from(scaled).unwrap_or(edge).max(1)
        };
        let (new_width, new_height) = (part(width), part(height));
        // The better filter keeps four floats per pixel of its intermediate image.
        match u64::from(width) * u64::from(new_height) * 16 > MOST_MEMORY {
            true => self.pixels.thumbnail_exact(new_width, new_height),
            false => self.pixels.resize_exact(new_width, new_height, FilterType::CatmullRom),
        }
    }
}

/// Returns the next edge to try, given the bytes of this one. Bytes grow with the area.
fn smaller(edge: u32, bytes: u64, most_bytes: u64) -> u32 {
    let share = (most_bytes as f64 / bytes as f64).sqrt().clamp(0.25, 0.85);
    ((f64::from(edge) * share) as u32).max(1)
}

/// The encoding of an image.
enum Encoding {
    Png,
    /// The quality, from 1 to 100.
    Jpeg(u8),
}

impl Encoding {
    fn encode(&self, image: &DynamicImage) -> Option<Rescaled> {
        let mut bytes = Vec::new();
        let (written, format) = match self {
            Self::Png => {
                let (compression, filter) = (CompressionType::Default, PngFilter::Adaptive);
                let encoder = PngEncoder::new_with_quality(&mut bytes, compression, filter);
                (image.write_with_encoder(encoder), ImageFormat::Png)
            }
            Self::Jpeg(quality) => {
                let encoder = JpegEncoder::new_with_quality(&mut bytes, *quality);
                (image.write_with_encoder(encoder), ImageFormat::Jpeg)
            }
        };
        written.ok()?;
        Some(Rescaled::new(bytes, format.to_mime_type()))
    }
}
