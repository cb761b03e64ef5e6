//! Modalities of models and of media.

use context_core::message::{Media, MediaSource};
use context_core::model::MediaKind;
use context_core::{Metadata, Part};
use context_tokens::{Modalities, Modality, ModelTable};

fn media(url: &str, media_type: Option<&str>) -> Media {
    Media {
        source: MediaSource::Url(url.into()),
        media_type: media_type.map(Into::into),
        name: None,
        metadata: Metadata::default(),
    }
}

#[test]
fn media_have_the_modality_of_their_type_and_else_of_their_part() {
    let with = |kind, media_type| Modality::of_media(kind, &media("https://x.y/z", media_type));
    assert_eq!(with(MediaKind::Image, None), Modality::Image);
    assert_eq!(with(MediaKind::Audio, None), Modality::Audio);
    assert_eq!(with(MediaKind::Document, None), Modality::Document);
    assert_eq!(with(MediaKind::Document, Some("APPLICATION/PDF")), Modality::Document);
    assert_eq!(with(MediaKind::Document, Some("application/json")), Modality::Text);
    assert_eq!(with(MediaKind::Document, Some(" Text/Plain; charset=x")), Modality::Text);
    assert_eq!(with(MediaKind::Image, Some("video/mp4")), Modality::Video);
    assert_eq!(with(MediaKind::Document, Some("nonsense")), Modality::Document);
    assert_eq!(with(MediaKind::Document, Some("")), Modality::Document);
    let inline = media("data:audio/wav;base64,AAAA", None);
    assert_eq!(Modality::of_media(MediaKind::Document, &inline), Modality::Audio);
}

#[test]
fn parts_that_are_media_are_found() {
    let image = Part::Image(media("https://x.y/z.png", None));
    assert_eq!(Modality::media_of(&image).map(|(kind, _)| kind), Some(MediaKind::Image));
    assert_eq!(Modality::media_of(&Part::text("words")), None);
}

#[test]
fn a_model_without_an_output_list_writes_text() {
    let json = r#"{"as_of": "d", "currency": "USD", "families": {}, "models": {
        "reads": {"family": "claude", "input": ["text", "video"]},
        "draws": {"family": "claude", "input": ["text"], "output": ["text", "image"]},
        "unknown": {"family": "claude"}}}"#;
    let table = ModelTable::from_json(json).unwrap();
    let of = |name| table.model(name).modalities();
    let reads = Modalities::new([Modality::Text, Modality::Video], [Modality::Text]);
    assert_eq!(of("reads"), Some(reads));
    assert!(of("draws").unwrap().output.contains(&Modality::Image));
    assert_eq!(of("unknown"), None);
    assert_eq!(of("claude-opus-5"), None); // the custom table does not list it
    let names = ["text", "image", "audio", "video", "document"];
    let parsed: Vec<Modality> = serde_json::from_value(serde_json::json!(names)).unwrap();
    assert!(parsed.iter().map(|modality| modality.as_str()).eq(names));
}
