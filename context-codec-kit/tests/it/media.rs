//! The check of media that every codec makes before it sends them.

use context_codec_kit::wire::{
    ANTHROPIC_MEDIA, GEMINI_MEDIA, MediaFault, MediaRules, OPENAI_MEDIA, counted_media, lost_media,
};
use context_core::Metadata;
use context_core::message::{Media, MediaSource};
use context_core::model::MediaKind;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";
const JPEG: &str = "/9j/wAARCAABAAEDASIAAhEBAxEB";
const GIF: &str = "R0lGODlhAQABAAAA";
const PDF: &str = "JVBERi0xLjcK";
const WAV: &str = "UklGRgQAAABXQVZF";
const ALL: [&MediaRules; 3] = [&OPENAI_MEDIA, &ANTHROPIC_MEDIA, &GEMINI_MEDIA];

fn media(data: &str, media_type: &str) -> Media {
    let media_type = Some(media_type.to_owned()).filter(|media_type| !media_type.is_empty());
    let source = MediaSource::Base64(data.into());
    Media { source, media_type, name: None, metadata: Metadata::default() }
}

fn at(url: &str) -> Media {
    Media { source: MediaSource::Url(url.to_owned()), ..media("", "") }
}

fn fault(rules: &MediaRules, kind: MediaKind, media: &Media) -> Option<MediaFault> {
    rules.check(kind, media).err()
}

#[test]
fn what_is_what_it_says_is_taken_under_the_providers_name() {
    for rules in ALL {
        let kind = |media: &Media| {
            rules.check(MediaKind::Image, media).unwrap().media_type.map(str::to_owned)
        };
        assert_eq!(kind(&media(PNG, "image/png")).as_deref(), Some("image/png"));
        assert_eq!(kind(&media(JPEG, "image/JPG; q=1")).as_deref(), Some("image/jpeg"));
        let in_url = at(&format!("data:image/png;charset=x;base64,{PNG}"));
        assert_eq!(rules.check(MediaKind::Image, &in_url).unwrap().data.as_str(), PNG);
        let pdf = media(PDF, "application/pdf");
        assert!(rules.check(MediaKind::Document, &pdf).is_ok());
    }
    assert!(ANTHROPIC_MEDIA.check(MediaKind::Image, &media(GIF, "image/gif")).is_ok());
    assert!(GEMINI_MEDIA.check(MediaKind::Document, &media(WAV, "audio/wav")).is_ok());
}

#[test]
fn damaged_media_are_refused_with_the_reason() {
    for rules in ALL {
        let of = |data: &str, named: &str| fault(rules, MediaKind::Image, &media(data, named));
        assert_eq!(of("", "image/png"), Some(MediaFault::Empty));
        for data in [
            "not base64!",
            "iVBORw0KGgo",
            "iVBORw0K====",
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAC\n",
            "QUI=QUI=",
        ] {
            assert_eq!(of(data, "image/png"), Some(MediaFault::NotBase64), "{data}");
        }
        // Bits are left over in the last character.
        assert_eq!(
            of("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAB==", "image/png"),
            Some(MediaFault::NotBase64)
        );
        assert_eq!(of(PNG, ""), Some(MediaFault::NoType));
        assert_eq!(of(PNG, "image/bmp"), Some(MediaFault::Type));
        assert_eq!(of(PNG, "image"), Some(MediaFault::Type));
        assert_eq!(of(JPEG, "image/png"), Some(MediaFault::OtherType));
        assert_eq!(of(PDF, "image/png"), Some(MediaFault::OtherType));
        // The signature alone, without a size, and bytes that are no image.
        assert_eq!(of("iVBORw0KGgo=", "image/png"), Some(MediaFault::Undecodable));
        assert_eq!(of("QUJDREVGR0hJSktMTU5PUFFS", "image/png"), Some(MediaFault::Undecodable));
        // An image of zero pixels.
        assert_eq!(
            of("iVBORw0KGgoAAAANSUhEUgAAAAAAAAAA", "image/png"),
            Some(MediaFault::Undecodable)
        );
        let of = |media: &Media| fault(rules, MediaKind::Image, media);
        assert_eq!(of(&at("data:image/png,abc")), Some(MediaFault::NotBase64));
        assert!(of(&at(&format!("data:image/svg+xml;base64,{PNG}"))).is_some());
        assert_eq!(of(&at("file:///a.png")), Some(MediaFault::Address));
        let pdf = media(PNG, "application/pdf");
        assert_eq!(fault(rules, MediaKind::Document, &pdf), Some(MediaFault::OtherType));
    }
}

#[test]
fn media_longer_than_a_provider_takes_are_refused() {
    let mut long = PNG.to_owned();
    long.push_str(&"A".repeat((5 << 20) + 4 - PNG.len()));
    let long = media(&long, "image/png");
    assert_eq!(fault(&ANTHROPIC_MEDIA, MediaKind::Image, &long), Some(MediaFault::TooLarge));
    assert_eq!(fault(&OPENAI_MEDIA, MediaKind::Image, &long), None);
}

#[test]
fn one_provider_alone_reads_the_alphabet_for_urls() {
    let sound = media("__t0xAADwAABpAAA", "audio/mpeg");
    assert_eq!(fault(&GEMINI_MEDIA, MediaKind::Audio, &sound), None);
    assert_eq!(fault(&OPENAI_MEDIA, MediaKind::Audio, &sound), Some(MediaFault::NotBase64));
    let mixed = media("__t0xAA/wAABpAAA", "audio/mpeg");
    assert_eq!(fault(&GEMINI_MEDIA, MediaKind::Audio, &mixed), Some(MediaFault::NotBase64));
}

#[test]
fn results_say_what_of_them_is_not_shown() {
    use MediaKind::{Audio, Document, Image};
    assert_eq!(lost_media(&[]), None);
    assert_eq!(lost_media(&[Image]).as_deref(), Some("[1 image cannot be shown]"));
    assert_eq!(lost_media(&[Audio, Audio]).as_deref(), Some("[2 sounds cannot be shown]"));
    assert_eq!(counted_media(&[Image, Document]), "2 files");
}
