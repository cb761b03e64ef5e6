//! Media by reference.

use std::sync::Arc;

use context_core::message::is_blank;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context_runtime::{
    ContextRuntime, DiagnosticCode, LiveMedia, Media, MediaSource, Message, Metadata, Part,
    PrepareInput, Role, Spilled, ToolResult,
};

use super::{applied, builder, codes, input, kept, results, runtime, store, text, words};

fn picture(bytes: &[u8]) -> Part {
    Part::Image(Media {
        source: MediaSource::Base64(STANDARD.encode(bytes).into()),
        media_type: Some("image/png".to_owned()),
        name: Some("chart.png".to_owned()),
        metadata: Metadata::default(),
    })
}

fn result(output: Vec<Part>) -> Part {
    let Part::ToolResult(mut result) = Part::tool_result("a", "") else { unreachable!() };
    result.output = output;
    Part::ToolResult(result)
}

fn source(part: &Part) -> &MediaSource {
    let Part::Image(media) = part else { panic!("no picture: {part:?}") };
    &media.source
}

#[tokio::test]
async fn large_media_are_kept_by_reference_and_text_beside_them_is_measured() {
    let store = store().await;
    let runtime = runtime(&store);
    let (large, long) = (vec![7; 200_000], words("line", 20_000));
    let output =
        applied(&runtime, [result(vec![picture(&[1, 2, 3]), Part::text(&*long), picture(&large)])])
            .await;
    let result = results(&output)[0];
    assert_eq!(result.output[0], picture(&[1, 2, 3]));
    let Part::Text(shown) = &result.output[1] else { panic!("no text") };
    assert!(shown.text.len() <= 12_000);
    assert_eq!(kept(&runtime, result).await, long.as_bytes());
    let Part::Image(media) = &result.output[2] else { panic!("no picture") };
    let spilled = Spilled::of(&media.metadata).unwrap();
    assert_eq!(media.source, MediaSource::Reference(spilled.blob.to_reference()));
    assert_eq!((spilled.bytes, &*spilled.reason), (200_000, "media_too_large"));
    assert_eq!(codes(&output), [DiagnosticCode::ToolResultSpilled; 2]);
    let read = runtime
        .spill()
        .unwrap()
        .read(&("ada", "s").into(), &spilled.blob.to_reference(), 0..u64::MAX)
        .await
        .unwrap();
    assert_eq!((&read.bytes[..], read.media_type.as_deref()), (&large[..], Some("image/png")));
}

#[tokio::test]
async fn supplements_follow_the_results_and_are_no_request() {
    let store = store().await;
    let runtime = runtime(&store);
    let mut given = input([Part::tool_result("a", "see below")]);
    given.supplements = vec![Message::new(Role::User, [picture(&vec![7; 200_000])])];
    let output = runtime.apply_tool_results(given).await.unwrap();
    assert_eq!((output.messages.len(), output.appended.len()), (3, 2));
    assert!(output.appended[1].is_synthetic() && !output.appended[1].is_request());
    assert!(matches!(source(&output.appended[1].parts[0]), MediaSource::Reference(_)));
}

#[tokio::test]
async fn the_newest_pictures_are_shown_and_a_text_stands_for_older_ones() {
    let store = store().await;
    let runtime = builder(&store).live_media(LiveMedia::newest(2)).build().unwrap();
    let mut messages = vec![Arc::new(Message::from("watch"))];
    for i in 0..4_u8 {
        let call =
            Message::new(Role::Assistant, [Part::tool_call("a", "look", serde_json::json!({}))]);
        messages.push(Arc::new(call));
        let output = applied(&runtime, [result(vec![picture(&vec![i; 200_000])])]).await;
        messages.extend(output.appended);
    }
    let input =
        PrepareInput::new(("ada", "s"), "t", "anthropic", "gpt-4o").messages(messages.clone());
    let context = runtime.prepare_for_model(input).await.unwrap();
    let shown: Vec<&ToolResult> = context
        .request
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect();
    assert_eq!(text(shown[0]), "[image/png chart.png, 200000 bytes: no longer shown]");
    assert_eq!(text(shown[1]), text(shown[0]));
    for (i, result) in shown.iter().enumerate().skip(2) {
        assert_eq!(
            source(&result.output[0]),
            &MediaSource::Base64(STANDARD.encode(vec![i as u8; 200_000]).into())
        );
    }
    assert!(Arc::ptr_eq(&context.request.messages[0], &messages[0]));
}

#[tokio::test]
async fn media_that_cannot_be_read_are_said_to_be_missing() {
    let store = store().await;
    let runtime = runtime(&store);
    let foreign = runtime
        .spill()
        .unwrap()
        .put(&("ada", "another session").into(), vec![1; 9], "image/png")
        .await
        .unwrap();
    let Part::Image(mut media) = picture(&[]) else { unreachable!() };
    media.source = MediaSource::Reference(foreign.id.to_reference());
    let theirs = Part::Image(media.clone());
    media.source = MediaSource::Reference("file_123".to_owned());
    let file = Part::Image(media);
    let message = Message::new(Role::User, [Part::text("look"), theirs, file.clone()]);
    let input = PrepareInput::new(("ada", "s"), "t", "anthropic", "gpt-4o").messages([message]);
    let context = runtime.prepare_for_model(input).await.unwrap();
    assert_eq!(
        context.request.messages[0].parts[1],
        Part::text("[image/png chart.png: not available]")
    );
    assert_eq!(context.request.messages[0].parts[2], file);
    assert!(
        context
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.code == DiagnosticCode::MediaUnavailable)
    );
    assert!(!is_blank(&context.request.messages[0].plain_text()));
}
