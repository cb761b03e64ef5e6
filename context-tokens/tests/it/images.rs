//! Images, documents and sound.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use context_core::message::{Media, MediaSource};
use context_core::model::{MediaKind, TokenCount, TokenCounter};
use context_core::{Json, Metadata, Part, ToolResult};
use context_tokens::{ImageRule, ModelCounter, ModelTable};
use proptest::prelude::*;

/// Returns the beginning of a PNG of this size; the rest is never read.
fn png(width: u32, height: u32) -> Media {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0]);
    bytes.resize(600, 0);
    media(MediaSource::Base64(BASE64_STANDARD.encode(bytes).into()))
}

fn media(source: MediaSource) -> Media {
    Media { source, media_type: None, name: None, metadata: Metadata::default() }
}

fn image(model: &str, media: &Media) -> TokenCount {
    ModelCounter::for_model(model).count_media(MediaKind::Image, media)
}

#[test]
fn published_examples_of_tiles() {
    assert_eq!(image("gpt-4o", &png(1024, 1024)), TokenCount::exact(765));
    assert_eq!(image("gpt-4o", &png(2048, 4096)), TokenCount::exact(1105));
    assert_eq!(image("gpt-4o", &png(512, 512)), TokenCount::exact(255));
    let mut low = png(4096, 8192);
    low.metadata.insert("openai.detail", Json::from("low"));
    assert_eq!(image("gpt-4o", &low), TokenCount::exact(85));
}

#[test]
fn published_examples_of_patches() {
    let rule = ImageRule::Patches { size: 32, budget: 1536, high_budget: None, multiplier: 1.0 };
    assert_eq!(rule.tokens(1024, 1024), TokenCount::exact(1024));
    assert_eq!(rule.tokens(1800, 2400), TokenCount::exact(1452));
    assert_eq!(image("gpt-4.1-mini", &png(1024, 1024)), TokenCount::exact(1659));
    // As measured elsewhere.
    assert_eq!(image("gpt-5.5", &png(1920, 1080)), TokenCount::exact(2448));
}

#[test]
fn published_examples_of_areas() {
    let claude = |width, height| image("claude-sonnet-4-5", &png(width, height));
    assert_eq!(claude(200, 200).tokens(), 53);
    assert_eq!(claude(1000, 1000).tokens(), 1333);
    assert!(claude(8000, 8000).tokens() <= 1600);
    // The measured values lie within the interval.
    for (width, height, measured) in [
        (256, 256, 100),
        (512, 512, 361),
        (1024, 1024, 1369),
        (1920, 1080, 1560),
        (3840, 2160, 1592),
    ] {
        let count = claude(width, height);
        assert!(
            (count.low()..=count.high()).contains(&measured),
            "{width} x {height}: {count}, measured {measured}"
        );
    }
    for (width, height, measured) in [(1920, 1080, 2691), (3840, 2160, 2992), (4032, 3024, 3928)] {
        let count = image("claude-opus-5-5", &png(width, height));
        assert!(
            (count.low()..=count.high()).contains(&measured),
            "{width} x {height}: {count}, measured {measured}"
        );
    }
}

#[test]
fn published_examples_of_blocks() {
    assert_eq!(image("gemini-2.5-pro", &png(384, 384)), TokenCount::exact(258));
    assert_eq!(image("gemini-2.5-pro", &png(1536, 769)), TokenCount::exact(4 * 258));
    assert_eq!(image("gemini-3.5-flash", &png(4000, 3000)).tokens(), 1120);
}

#[test]
fn an_image_is_the_same_within_a_result_and_as_a_data_address() {
    let counter = ModelCounter::for_model("gpt-4o");
    let picture = png(1024, 1024);
    let MediaSource::Base64(data) = &picture.source else { unreachable!() };
    let address = media(MediaSource::Url(format!("data:image/png;base64,{data}")));
    assert_eq!(image("gpt-4o", &address), image("gpt-4o", &picture));
    let result = |output| {
        counter.count_part(&Part::ToolResult(ToolResult {
            call_id: "c".into(),
            name: None,
            output,
            is_error: false,
            metadata: Metadata::default(),
        }))
    };
    assert_eq!(
        result(vec![Part::Image(picture.clone())]),
        result(vec![]) + counter.count_part(&Part::Image(picture))
    );
}

#[test]
fn unknown_sizes_give_an_interval() {
    let somewhere = media(MediaSource::Url("https://example.com/a.png".into()));
    let broken = media(MediaSource::Base64("AAAA".repeat(1000).into()));
    for model in ModelTable::builtin().models() {
        for media in [&somewhere, &broken] {
            let counter = model.counter();
            let unknown = counter.count_media(MediaKind::Image, media);
            assert!(!unknown.is_exact(), "{}", model.name());
            for (width, height) in [(64, 64), (512, 512), (1920, 1080), (1000, 3000)] {
                let known = counter.count_media(MediaKind::Image, &png(width, height));
                assert!(
                    unknown.low() <= known.low() && known.high() <= unknown.high(),
                    "{}: {width} x {height} is {known}, unknown {unknown}",
                    model.name()
                );
            }
        }
    }
}

#[test]
fn documents_of_text_are_counted_and_others_guessed() {
    let counter = ModelCounter::for_model("gpt-4o");
    let mut text = media(MediaSource::Base64(BASE64_STANDARD.encode("hello world").into()));
    text.media_type = Some("text/plain".into());
    assert_eq!(counter.count_media(MediaKind::Document, &text), TokenCount::exact(2));
    let pdf = |bytes: usize| media(MediaSource::Base64("A".repeat(bytes / 3 * 4).into()));
    let (small, large) = (pdf(30_000), pdf(3_000_000));
    let count = |media| counter.count_media(MediaKind::Document, media);
    assert!(!count(&small).is_exact() && count(&small).tokens() < count(&large).tokens());
    let sound = counter.count_media(MediaKind::Audio, &pdf(160_000));
    assert!(sound.low() <= 10 * 10 && 10 * 32 <= sound.high(), "{sound}");
}

proptest! {
    #[test]
    fn any_size_is_counted(width in any::<u64>(), height in any::<u64>()) {
        for rule in [
            ImageRule::Tiles { base: 85, tile: 170 },
            ImageRule::Patches { size: 32, budget: 1536, high_budget: Some(2500),
                multiplier: 1.62 },
            ImageRule::Area { pixels: 750, long_edge: 1568, most: 1600 },
            ImageRule::Blocks { small: 384, side: 768, tokens: 258 },
        ] {
            let count = rule.tokens(width, height);
            prop_assert!(count.tokens() > 0 && count.low() <= count.tokens());
        }
    }

    #[test]
    fn any_bytes_are_media(data in any::<String>(),
        bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let counter = ModelCounter::for_model("claude-opus-5-5");
        for text in [data, BASE64_STANDARD.encode(bytes)] {
            for kind in [MediaKind::Image, MediaKind::Document, MediaKind::Audio] {
                let inline = media(MediaSource::Base64(text.as_str().into()));
                let count = counter.count_media(kind, &inline);
                prop_assert!(count.low() <= count.high());
            }
        }
    }
}
