//! Limits that a provider names.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use context_core::{ImageLimits, MediaSource, ModelError, Part};
use context_policy_strip_images::{Rescale, Rescaled, StripImages};

use crate::{History, attached, content, image, left, media};

/// As much of a picture of this size as says how large it is.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn picture(name: &str, width: u32, height: u32) -> Part {
    Part::Image(media(MediaSource::Base64(STANDARD.encode(png(width, height))), Some(name)))
}

fn address(name: &str) -> Part {
    Part::Image(media(MediaSource::Url(format!("https://example.com/{name}")), Some(name)))
}

fn within(history: &History, policy: &StripImages, set: impl FnOnce(&mut ImageLimits)) -> Vec<String> {
    let mut limits = ImageLimits::default();
    set(&mut limits);
    content(&left(history, |view| policy.within(view, &limits)).expect("an image goes"))
}

/// A session took a screenshot at every step until the provider counted a hundred and refused each request from then on.
#[test]
fn of_too_many_images_the_oldest_go() {
    let history = vec![attached([image("1"), image("2")]), attached([image("3"), image("4")])];
    let left = within(&history, &StripImages::new(), |limits| limits.count = Some(2));
    assert_eq!(left, ["[image removed: 1]", "[image removed: 2]", "3", "4"]);
    let error = ModelError::classify("anyone", Some(400), "too many images: at most 3 images per request");
    let left = content(&crate::left(&history, |view| StripImages::new().for_error(view, &error)).unwrap());
    assert_eq!(left, ["[image removed: 1]", "2", "3", "4"]);
}

#[test]
fn of_images_that_are_too_large_only_those_go() {
    let history =
        vec![attached([picture("wide", 9_000, 10), picture("fine", 640, 480), picture("high", 10, 2_001)])];
    let left = within(&history, &StripImages::new(), |limits| limits.pixels = Some(2_000));
    assert_eq!(left, ["[image removed: wide]", "fine", "[image removed: high]"]);
    let heavy = Part::Image(media(MediaSource::Base64("A".repeat(4_000)), Some("heavy")));
    let history = vec![attached([heavy, picture("light", 9, 9)])];
    let left = within(&history, &StripImages::new(), |limits| limits.bytes = Some(3_999));
    assert_eq!(left, ["[image removed: heavy]", "light"]);
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

/// Makes every picture 1000 pixels square, or a file that is no picture.
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
    assert_eq!(wide.source, MediaSource::Base64(STANDARD.encode(png(1_000, 1_000))));
    assert_eq!((wide.media_type.as_deref(), wide.name.as_deref()), (Some("image/png"), Some("wide")));
    assert_eq!(*fine, history[0].parts[1]);
    let useless = StripImages::new().rescale(Shrink { side: 3_000 });
    let sent = left(&history, |view| useless.within(view, &limits)).unwrap();
    assert_eq!(content(&sent), ["[image removed: wide]", "fine"]);
}
