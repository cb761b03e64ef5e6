//! Images too large for a provider are scaled down, and removed only if that cannot be done.

use std::io::Cursor;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use context_runtime::strip_images::{Rescale, Rescaled, StripImages};
use context_runtime::{
    DecisionSet, ImageRescaler, Media, MediaSource, Message, Metadata, Part, RecoveryChain, Role,
    compaction::{Failure, HistoryView},
    model::{ImageLimits, TokenCount, TokenCounter},
};
use image::codecs::jpeg::JpegEncoder;
use image::{
    DynamicImage, GenericImageView, ImageEncoder, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage,
};
use proptest::prelude::*;

/// Counts one token per byte of text.
#[derive(Debug)]
struct ByteCounter;

impl TokenCounter for ByteCounter {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len() as u64)
    }
}

/// Returns an image that compresses badly: each pixel is a hash of its position.
fn noise(width: u32, height: u32) -> DynamicImage {
    let pixel = |x: u32, y: u32| {
        let mixed = (x << 16 ^ y).wrapping_mul(2_654_435_761);
        let mixed = (mixed ^ mixed >> 15).wrapping_mul(2_246_822_519);
        let [red, green, blue, _] = (mixed ^ mixed >> 13).to_le_bytes();
        Rgb([red, green, blue])
    };
    RgbImage::from_fn(width, height, pixel).into()
}

fn file(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn pixels(most: u64) -> ImageLimits {
    let mut limits = ImageLimits::default();
    limits.pixels = Some(most);
    limits
}

fn bytes(most: u64) -> ImageLimits {
    let mut limits = ImageLimits::default();
    limits.bytes = Some(most);
    limits
}

fn scaled(image: &[u8], limits: &ImageLimits) -> Option<Rescaled> {
    ImageRescaler::new().rescale(image, None, limits)
}

fn read(file: &Rescaled) -> DynamicImage {
    let image = image::load_from_memory(&file.bytes).unwrap();
    let format = image::guess_format(&file.bytes).unwrap();
    assert_eq!(format.to_mime_type(), file.media_type);
    image
}

#[test]
fn too_many_pixels_are_scaled_down_and_the_ratio_stays() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let wide = scaled(&file(&noise(300, 100), format), &pixels(120)).unwrap();
        assert_eq!(read(&wide).dimensions(), (120, 40), "{format:?}");
        let high = scaled(&file(&noise(50, 250), format), &pixels(100)).unwrap();
        assert_eq!(read(&high).dimensions(), (20, 100), "{format:?}");
    }
    let line = scaled(&file(&noise(300, 1), ImageFormat::Png), &pixels(100)).unwrap();
    assert_eq!(read(&line).dimensions(), (100, 1));
}

#[test]
fn an_image_within_the_limits_stays_as_it_is() {
    let image = file(&noise(40, 30), ImageFormat::WebP);
    let mut limits = pixels(40);
    limits.bytes = Some(image.len() as u64 * 2);
    assert_eq!(scaled(&image, &limits), Some(Rescaled::new(image, "image/webp")));
}

/// Providers count the encoded bytes, which are a third more than the file has.
#[test]
fn too_many_bytes_cost_quality_first_and_then_pixels() {
    let image = file(&noise(160, 120), ImageFormat::Png);
    let sent = |most: u64| {
        let file = scaled(&image, &bytes(most)).unwrap();
        assert!(STANDARD.encode(&file.bytes).len() as u64 <= most, "{most}");
        (read(&file).dimensions(), file.media_type)
    };
    assert_eq!(sent(40_000), ((160, 120), "image/jpeg".to_owned()));
    let ((width, height), media_type) = sent(4_000);
    assert!(
        (20..160).contains(&width) && width.abs_diff(height * 4 / 3) <= 2,
        "{width} x {height}"
    );
    assert_eq!(media_type, "image/jpeg");
    assert_eq!(scaled(&image, &bytes(100)), None, "no picture is that small");
}

#[test]
fn what_is_transparent_stays_so() {
    let glass =
        |x: u32, y: u32| Rgba([x as u8, y as u8, (x * y) as u8, if x < 100 { 0 } else { 255 }]);
    let image = file(&RgbaImage::from_fn(200, 100, glass).into(), ImageFormat::Png);
    for limits in [pixels(50), bytes(image.len() as u64)] {
        let file = scaled(&image, &limits).unwrap();
        let image = read(&file);
        assert_eq!(file.media_type, "image/png");
        assert_eq!(image.get_pixel(1, 1).0[3], 0);
        assert_eq!(image.get_pixel(image.width() - 1, 1).0[3], 255);
    }
}

/// Regression: a photograph taken upright lay on its side after its camera metadata was dropped.
#[test]
fn a_photograph_stays_upright() {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new(&mut bytes);
    // One entry: the tag 0x0112, orientation, is 6, a quarter turn.
    let turned = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    encoder.set_exif_metadata(turned.to_vec()).unwrap();
    noise(200, 100).write_with_encoder(encoder).unwrap();
    let file = scaled(&bytes, &pixels(100)).unwrap();
    assert_eq!(read(&file).dimensions(), (50, 100));
}

/// A file of a few bytes that claims 4 GB of pixels is not decoded to find out.
#[test]
fn what_claims_to_be_enormous_is_refused() {
    for side in [16_384_u32, 30_000, u32::MAX] {
        let mut image = file(&noise(8, 8), ImageFormat::Png);
        image[16..20].copy_from_slice(&side.to_be_bytes());
        image[20..24].copy_from_slice(&side.to_be_bytes());
        // The header's checksum, so that it is the size that is refused.
        let sum = crc32(&image[12..29]);
        image[29..33].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(scaled(&image, &pixels(100)), None, "{side}");
    }
}

/// The checksum of PNG.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

fn attached(name: &str, bytes: &[u8]) -> Part {
    let source = MediaSource::Base64(STANDARD.encode(bytes).into());
    let media_type = Some("image/png".to_owned());
    Part::Image(Media {
        source,
        media_type,
        name: Some(name.to_owned()),
        metadata: Metadata::default(),
    })
}

/// Returns the images of the history after a refusal with this message: size, or the note instead.
fn after(refusal: &str, image: &[u8]) -> Vec<String> {
    let chain = RecoveryChain::new(DecisionSet::Full)
        .strip(StripImages::new().rescale(ImageRescaler::new()));
    let history = [Arc::new(Message::new(
        Role::User,
        [attached("first", image), Part::text("what is this?")],
    ))];
    let error = context_codec_kit::classify("anyone", Some(400), refusal);
    let view = HistoryView::new(&history, &ByteCounter);
    let recovered = chain.recover(&Failure::new(&error, &view));
    assert_eq!(recovered.decision.kind().as_str(), "strip_images_and_retry");
    let shown = |part: &Part| match part {
        Part::Image(Media { source: MediaSource::Base64(data), .. }) => {
            let image = image::load_from_memory(&STANDARD.decode(data).unwrap()).unwrap();
            format!("{} x {}", image.width(), image.height())
        }
        Part::Text(text) => text.text.to_string(),
        other => panic!("{other:?}"),
    };
    recovered.carried.unwrap().rewrite.messages[0].parts.iter().map(shown).collect()
}

const TOO_WIDE: &str = "At least one of the image dimensions exceed max allowed size: 200 pixels";

#[test]
fn an_image_that_a_provider_refused_for_its_size_is_scaled_down_and_not_removed() {
    let image = file(&noise(300, 150), ImageFormat::Png);
    assert_eq!(after(TOO_WIDE, &image), ["200 x 100", "what is this?"]);
    let [size, _] = &after("image exceeds 100 KB maximum", &image)[..] else { panic!("two parts") };
    assert_eq!(size, "300 x 150", "it is enough to write it as a JPEG");
}

#[test]
fn an_image_that_cannot_be_read_is_removed() {
    // Its size can be read, the rest is missing.
    let broken = &file(&noise(300, 150), ImageFormat::Png)[..60];
    assert_eq!(scaled(broken, &pixels(200)), None);
    assert_eq!(after(TOO_WIDE, broken), ["[image removed: first]", "what is this?"]);
    assert_eq!(scaled(b"<svg width='9000' height='10'/>", &pixels(200)), None);
}

fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let format = prop::sample::select(vec![
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Gif,
        ImageFormat::WebP,
    ]);
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let end = prop::option::of(any::<prop::sample::Index>());
    (1..40_u32, 1..40_u32, format, damage, end).prop_map(|(width, height, format, damage, end)| {
        let mut bytes = file(&noise(width, height), format);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.map_or(usize::MAX, |end| end.index(bytes.len())));
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(64) })]

    /// For any file, the scaled image is within the limits, no larger than before, and the same the
    /// next time.
    #[test]
    fn what_is_scaled_is_within_the_limits_and_never_larger(
        image in any_file(),
        edge in prop::option::of(0..50_u64),
        most in prop::option::of(0..8_000_u64),
    ) {
        let mut limits = ImageLimits::default();
        (limits.pixels, limits.bytes) = (edge, most);
        let file = scaled(&image, &limits);
        prop_assert_eq!(&file, &scaled(&image, &limits));
        if let Some(file) = file {
            prop_assert!(file.bytes.len() <= image.len());
            let sent = STANDARD.encode(&file.bytes).len() as u64;
            prop_assert!(most.is_none_or(|most| sent <= most));
            if file.bytes != image {
                let (width, height) = read(&file).dimensions();
                prop_assert!(edge.is_none_or(|edge| u64::from(width.max(height)) <= edge));
            }
        }
    }
}
