//! Limits that a provider names.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use context_core::message::MediaSource;
use context_core::model::{ImageLimits, ModelErrorCode};
use context_core::{ModelError, Part};
use context_policy_strip_images::{Rescale, Rescaled, StripImages};

use crate::{MessageList, attached, content, image, left, media};

/// Returns the beginning of a PNG of this size, with the header that states the size.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn picture(name: &str, width: u32, height: u32) -> Part {
    Part::Image(media(MediaSource::Base64(STANDARD.encode(png(width, height)).into()), Some(name)))
}

fn address(name: &str) -> Part {
    Part::Image(media(MediaSource::Url(format!("https://example.com/{name}")), Some(name)))
}

fn within(
    history: &MessageList,
    policy: &StripImages,
    set: impl FnOnce(&mut ImageLimits),
) -> Vec<String> {
    let mut limits = ImageLimits::default();
    set(&mut limits);
    content(&left(history, |view| policy.within(view, &limits)).expect("an image goes"))
}

/// The case: a session took a screenshot at every step until the provider counted a hundred and
/// refused each further request.
#[test]
fn of_too_many_images_the_oldest_go() {
    let history = vec![attached([image("1"), image("2")]), attached([image("3"), image("4")])];
    let left = within(&history, &StripImages::new(), |limits| limits.count = Some(2));
    assert_eq!(left, ["[image removed: 1]", "[image removed: 2]", "3", "4"]);
    let error = context_codec_kit::classify(
        "anyone",
        Some(400),
        "too many images: at most 3 images per request",
    );
    let left =
        content(&crate::left(&history, |view| StripImages::new().for_error(view, &error)).unwrap());
    assert_eq!(left, ["[image removed: 1]", "2", "3", "4"]);
}

#[test]
fn of_images_that_are_too_large_only_those_go() {
    let history = vec![attached([
        picture("wide", 9_000, 10),
        picture("fine", 640, 480),
        picture("high", 10, 2_001),
    ])];
    let left = within(&history, &StripImages::new(), |limits| limits.pixels = Some(2_000));
    assert_eq!(left, ["[image removed: wide]", "fine", "[image removed: high]"]);
    let heavy = Part::Image(media(MediaSource::Base64("A".repeat(4_000).into()), Some("heavy")));
    let history = vec![attached([heavy, picture("light", 9, 9)])];
    let left = within(&history, &StripImages::new(), |limits| limits.bytes = Some(3_999));
    assert_eq!(left, ["[image removed: heavy]", "light"]);
}

#[test]
fn what_just_meets_a_limit_stays() {
    let weighing = |bytes: usize| {
        Part::Image(media(
            MediaSource::Base64("A".repeat(bytes).into()),
            Some(if bytes > 4_000 { "over" } else { "at" }),
        ))
    };
    let history = vec![attached([weighing(4_000), weighing(4_004)])];
    let left = within(&history, &StripImages::new(), |limits| limits.bytes = Some(4_000));
    assert_eq!(left, ["at", "[image removed: over]"]);
    let history = vec![attached([picture("at", 2_000, 10), picture("over", 10, 2_001)])];
    let left = within(&history, &StripImages::new(), |limits| limits.pixels = Some(2_000));
    assert_eq!(left, ["at", "[image removed: over]"]);
}

/// A limit of images counts only images.
#[test]
fn other_media_do_not_count_as_images() {
    let pdf = Part::Document(media(MediaSource::Reference("file-1".into()), Some("terms.pdf")));
    let history = vec![attached([pdf, image("1"), image("2"), image("3")])];
    let left = within(&history, &StripImages::new(), |limits| limits.count = Some(2));
    assert_eq!(left, ["terms.pdf", "[image removed: 1]", "2", "3"]);
}

#[test]
fn an_error_that_is_not_of_images_takes_all_media_out_whatever_limits_it_mentions() {
    let history = vec![attached([image("1"), image("2")])];
    let mut error =
        ModelError::new("anyone", ModelErrorCode::RequestTooLarge, "too large; at most 1 image");
    error.images.count = Some(1);
    let sent = left(&history, |view| StripImages::new().for_error(view, &error)).unwrap();
    assert_eq!(content(&sent), ["[image removed: 1]", "[image removed: 2]"]);
}

/// Cameras write a preview and other data in front of the size, and a browser passes images as data
/// addresses.
#[test]
fn the_size_is_found_behind_what_a_camera_writes_and_in_a_data_url() {
    let mut photo = vec![0xFF, 0xD8, 0xFF, 0xE1];
    photo.extend(60_000_u16.to_be_bytes());
    photo.resize(4 + 60_000, b' ');
    photo.extend([0xFF, 0xC0, 0, 17, 8]);
    photo.extend([10_u16, 9_000].map(u16::to_be_bytes).concat());
    photo.extend([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
    let photo =
        Part::Image(media(MediaSource::Base64(STANDARD.encode(photo).into()), Some("photo")));
    let url = format!("data:image/png;base64,{}", STANDARD.encode(png(9_000, 10)));
    let pasted = Part::Image(media(MediaSource::Url(url), Some("pasted")));
    let history = vec![attached([photo, pasted, picture("fine", 640, 480), address("unknown")])];
    let left = within(&history, &StripImages::new(), |limits| limits.pixels = Some(2_000));
    assert_eq!(left, ["[image removed: photo]", "[image removed: pasted]", "fine", "unknown"]);
}

#[test]
fn where_none_is_known_to_be_beyond_the_limit_those_of_unknown_size_go_then_all() {
    let history = vec![attached([picture("here", 10, 10), address("there")])];
    let left = within(&history, &StripImages::new(), |limits| limits.pixels = Some(2_000));
    assert_eq!(left, ["here", "[image removed: there]"]);
    let history = vec![attached([picture("here", 10, 10)])];
    let left = within(&history, &StripImages::new(), |limits| limits.pixels = Some(2_000));
    assert_eq!(left, ["[image removed: here]"]);
}

/// Makes every image a square of `side` pixels, or a file that is not an image.
#[derive(Debug)]
struct Shrink {
    side: u32,
}

impl Rescale for Shrink {
    fn rescale(&self, image: &[u8], _: Option<&str>, limits: &ImageLimits) -> Option<Rescaled> {
        assert_eq!((image, limits.pixels), (&png(9_000, 10)[..], Some(2_000)));
        Some(Rescaled::new(png(self.side, self.side), "image/png"))
    }
}

#[test]
fn an_image_is_scaled_down_rather_than_removed_where_that_suffices() {
    let history = vec![attached([picture("wide", 9_000, 10), picture("fine", 640, 480)])];
    let mut limits = ImageLimits::default();
    limits.pixels = Some(2_000);
    let policy = StripImages::new().rescale(Shrink { side: 1_000 });
    let sent = left(&history, |view| policy.within(view, &limits)).unwrap();
    let [Part::Image(wide), fine] = &sent[0].parts[..] else { panic!("{sent:?}") };
    assert_eq!(wide.source, MediaSource::Base64(STANDARD.encode(png(1_000, 1_000)).into()));
    assert_eq!(
        (wide.media_type.as_deref(), wide.name.as_deref()),
        (Some("image/png"), Some("wide"))
    );
    assert_eq!(*fine, history[0].parts[1]);
    let useless = StripImages::new().rescale(Shrink { side: 3_000 });
    let sent = left(&history, |view| useless.within(view, &limits)).unwrap();
    assert_eq!(content(&sent), ["[image removed: wide]", "fine"]);
}
