//! Media that a model does not read: texts are sent in their place.

use std::sync::Arc;

use context_runtime::{
    ContextRuntime, DefaultContextRuntime, DiagnosticCode, Media, MediaSource, Message, Metadata,
    ModelContext, Part, PrepareInput, Role, ToolResult,
    model::TokenCounter,
    tokens::{ModelCounter, ModelTable},
};
use insta::assert_snapshot;

use crate::runtime_kit::{ask, call, reply};

const TEXT_ONLY: &str = "o3-mini";
const IMAGES: &str = "claude-sonnet-4-5";
const EVERYTHING: &str = "gemini-2.5-pro";

fn media(name: &str, media_type: &str, data: &str) -> Media {
    Media {
        source: MediaSource::Base64(data.into()),
        media_type: Some(media_type.into()),
        name: Some(name.into()),
        metadata: Metadata::default(),
    }
}

fn chart() -> Part {
    Part::Image(media("chart.png", "image/png", "AAAAAA=="))
}

fn message(parts: impl IntoIterator<Item = Part>) -> Arc<Message> {
    Arc::new(Message::new(Role::User, parts))
}

/// One of each kind, and a file of text.
fn files() -> Arc<Message> {
    let nameless = Media {
        source: MediaSource::Url("https://example.com/a".into()),
        media_type: None,
        name: None,
        metadata: Metadata::default(),
    };
    message([
        Part::text("What is in these?"),
        chart(),
        Part::Audio(media("call.wav", "audio/wav", "AAAA")),
        Part::Document(media("trip.mp4", "video/mp4", "AAAA")),
        Part::Document(media("lease ]\n[.pdf", "application/pdf", "AAAAAAA=")),
        Part::Document(media("notes.txt", "text/plain", "aGk=")),
        Part::Image(nameless),
    ])
}

fn result(id: &str, output: impl IntoIterator<Item = Part>) -> Arc<Message> {
    let result = ToolResult {
        call_id: id.into(),
        name: None,
        output: output.into_iter().collect(),
        is_error: false,
        metadata: Metadata::default(),
    };
    Arc::new(Message::new(Role::Tool, [Part::ToolResult(result)]))
}

fn runtime() -> DefaultContextRuntime {
    DefaultContextRuntime::builder().build().unwrap()
}

async fn prepare(
    runtime: &DefaultContextRuntime,
    model: &str,
    messages: &[Arc<Message>],
) -> ModelContext {
    let input = PrepareInput::new(("ada", "files"), "t", "openai", model)
        .messages(messages.iter().map(Arc::clone));
    runtime.prepare_for_model(input).await.unwrap()
}

/// Returns the parts that are sent, results included: texts as they are, media as their name.
fn sent(context: &ModelContext) -> String {
    fn line(part: &Part) -> String {
        match part {
            Part::Text(text) => text.text.to_string(),
            Part::Image(media) | Part::Audio(media) | Part::Document(media) => {
                format!("(media {})", media.name.as_deref().unwrap_or_default())
            }
            Part::ToolResult(result) => {
                result.output.iter().map(line).collect::<Vec<_>>().join("\n")
            }
            _ => "(other)".to_owned(),
        }
    }
    let parts = context.request.messages.iter().flat_map(|message| &message.parts);
    parts.map(line).collect::<Vec<_>>().join("\n")
}

fn reports(context: &ModelContext) -> Vec<&str> {
    let of_media = context
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.code == DiagnosticCode::MediaNotReadable);
    of_media.map(|diagnostic| diagnostic.message.as_str()).collect()
}

#[tokio::test]
async fn a_model_of_text_is_sent_texts_that_name_the_media() {
    let history = [files()];
    let before = Message::clone(&history[0]);
    let context = prepare(&runtime(), TEXT_ONLY, &history).await;
    assert_snapshot!(sent(&context), @r"
    What is in these?
    [image left out, because this model does not read it: chart.png, image/png, 4 bytes]
    [audio left out, because this model does not read it: call.wav, audio/wav, 3 bytes]
    [video left out, because this model does not read it: trip.mp4, video/mp4, 3 bytes]
    [document left out, because this model does not read it: lease    .pdf, application/pdf, 5 bytes]
    (media notes.txt)
    [image left out, because this model does not read it]
    ");
    assert_snapshot!(reports(&context).join("\n"), @r#""o3-mini" does not read 2 images, 1 audio, 1 video, 1 document: a text takes the place of each"#);
    assert_eq!(*history[0], before, "the history keeps its media");
}

#[tokio::test]
async fn a_model_is_sent_what_it_reads() {
    let context = prepare(&runtime(), IMAGES, &[files()]).await;
    assert_snapshot!(sent(&context), @r"
    What is in these?
    (media chart.png)
    [audio left out, because this model does not read it: call.wav, audio/wav, 3 bytes]
    [video left out, because this model does not read it: trip.mp4, video/mp4, 3 bytes]
    (media lease ]
    [.pdf)
    (media notes.txt)
    (media )
    ");
    assert_snapshot!(reports(&context).join("\n"), @r#""claude-sonnet-4-5" does not read 1 audio, 1 video: a text takes the place of each"#);
    let history = [files()];
    let context = prepare(&runtime(), EVERYTHING, &history).await;
    assert!(Arc::ptr_eq(&context.request.messages[0], &history[0]));
    assert_eq!(reports(&context), [""; 0]);
}

#[tokio::test]
async fn media_of_a_model_with_unknown_modalities_are_sent() {
    for model in ["of-a-friend", "gpt-4o-of-mine"] {
        assert_eq!(ModelTable::builtin().model(model).modalities(), None);
        let history = [files()];
        let context = prepare(&runtime(), model, &history).await;
        assert!(Arc::ptr_eq(&context.request.messages[0], &history[0]), "{model}");
        assert_eq!(reports(&context), [""; 0], "{model}");
    }
}

#[tokio::test]
async fn media_in_a_tool_result_are_replaced_too() {
    let history =
        [ask("Draw it."), call("c1"), result("c1", [Part::text("Done."), chart(), chart()])];
    let context = prepare(&runtime(), TEXT_ONLY, &history).await;
    assert_snapshot!(sent(&context), @r"
    Draw it.
    (other)
    Done.
    [image left out, because this model does not read it: chart.png, image/png, 4 bytes]
    [image left out, because this model does not read it: chart.png, image/png, 4 bytes]
    ");
    assert_eq!(reports(&context).len(), 1);
    let Part::ToolResult(result) = &context.request.messages[2].parts[0] else {
        panic!("{:?}", context.request.messages[2])
    };
    assert_eq!(result.call_id, "c1");
    // With a message that has to be repaired first, positions differ.
    let history =
        [reply("Hello."), history[0].clone(), call("c0"), history[1].clone(), history[2].clone()];
    let context = prepare(&runtime(), TEXT_ONLY, &history).await;
    assert!(!sent(&context).contains("(media"), "{}", sent(&context));
    assert_eq!(reports(&context).len(), 1);
}

#[tokio::test]
async fn the_beginning_of_requests_stays_the_same_and_a_change_is_reported_once() {
    let runtime = runtime();
    let mut history = vec![files()];
    let mut before: Vec<Arc<Message>> = Vec::new();
    for turn in 0..4 {
        let context = prepare(&runtime, TEXT_ONLY, &history).await;
        let messages = &context.request.messages;
        assert_eq!(messages[..before.len()], before[..], "turn {turn}");
        // Not even made anew.
        assert!(before.iter().zip(messages).all(|(old, new)| Arc::ptr_eq(old, new)), "turn {turn}");
        assert!(context.prefix.intact, "turn {turn}");
        let is_changed = [0, 2].contains(&turn);
        assert_eq!(reports(&context).len(), usize::from(is_changed), "turn {turn}");
        before = messages.to_vec();
        history.push(reply("I see."));
        history.push(if turn == 1 { message([chart()]) } else { ask("And now?") });
    }
    // Equal messages in other allocations, as another process has them: the same bytes are sent.
    let copies: Vec<_> = history.iter().map(|message| Arc::new(Message::clone(message))).collect();
    let again = prepare(&self::runtime(), TEXT_ONLY, &copies).await;
    assert_eq!(again.request.messages[..before.len()], before[..]);
}

#[tokio::test]
async fn another_model_is_shown_the_media_again() {
    let runtime = runtime();
    let history = [files()];
    assert!(!sent(&prepare(&runtime, TEXT_ONLY, &history).await).contains("(media chart.png)"));
    let context = prepare(&runtime, EVERYTHING, &history).await;
    assert!(Arc::ptr_eq(&context.request.messages[0], &history[0]));
    let context = prepare(&runtime, TEXT_ONLY, &history).await;
    assert_eq!(reports(&context).len(), 1, "a change of the model changes the request");
}

#[tokio::test]
async fn the_texts_are_counted_and_not_the_media() {
    let large = "A".repeat(1 << 20);
    let history = [message([
        Part::text("What is this?"),
        Part::Document(media("lease.pdf", "application/pdf", &large)),
    ])];
    let context = prepare(&runtime(), TEXT_ONLY, &history).await;
    let counter = ModelCounter::for_model(TEXT_ONLY);
    assert_eq!(context.breakdown.history, counter.count_messages(&context.request.messages));
    assert!(context.breakdown.history.high() < 100, "{}", context.breakdown.history);
    assert!(counter.count_messages(&history).tokens() > 10_000);
    // Documents are read by this one, and counted as what they are.
    let context = prepare(&runtime(), IMAGES, &history).await;
    assert!(context.breakdown.history.tokens() > 10_000);
}

#[tokio::test]
async fn a_table_of_ones_own_says_what_a_model_reads() {
    let mut table = ModelTable::builtin().clone();
    let mine = r#"{"as_of": "2027-01-01", "currency": "USD", "families": {}, "models": {
        "house-1": {"family": "other", "window": 100000, "input": ["text", "audio"]}}}"#;
    table.extend(ModelTable::from_json(mine).unwrap()).unwrap();
    let runtime = DefaultContextRuntime::builder().models(table).build().unwrap();
    let context = prepare(&runtime, "house-1", &[files()]).await;
    assert!(sent(&context).contains("(media call.wav)"), "{}", sent(&context));
    assert!(!sent(&context).contains("(media chart.png)"), "{}", sent(&context));
}
