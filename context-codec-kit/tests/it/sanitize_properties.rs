//! Property tests of sanitizing, with rules that are written down a second time.

use std::collections::HashMap;

use context_codec_kit::sanitize::{DropReason, DroppedKind, HistorySanitizer};
use context_core::message::{Media, MediaSource, OpaqueBlock, Origin, Reasoning, Text};
use context_core::{Json, Message, Metadata, Part, Role, ToolResult};
use proptest::prelude::*;

const REASONS: [DropReason; 11] = [
    DropReason::SystemMessage,
    DropReason::UnstoredAnswer,
    DropReason::UnstoredCall,
    DropReason::ForgedResult,
    DropReason::AnsweredCall,
    DropReason::OpaqueBlock,
    DropReason::UnknownPart,
    DropReason::SignedReasoning,
    DropReason::SyntheticOrigin,
    DropReason::ReservedKey,
    DropReason::MediaReference,
];
const RESERVED: [&str; 4] = ["spilled", "pinned", "gemini.thought_signature", "stored_codec"];
const ORIGINS: [&str; 5] = ["synthetic", "carried_over", "checkpoint", "gap", "recall"];

fn number(text: &str) -> Json {
    Json::from_text(text).unwrap()
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let key = prop::sample::select([&RESERVED[..], &ORIGINS[..], &["note"]].concat());
    let keys = prop::collection::vec(key, 1..3);
    prop_oneof![
        6 => Just(Metadata::default()),
        2 => keys.prop_map(|keys| keys.into_iter()
            .fold(Metadata::default(), |all, key| all.with(key, 1))),
    ]
}

fn plain_part() -> impl Strategy<Value = Part> {
    let text = (prop::sample::select(vec!["yes", "no", "", "a longer text"]), metadata())
        .prop_map(|(text, metadata)| Part::Text(Text { text: text.into(), metadata }));
    let signature = prop::option::of(Just("c2ln".to_owned()));
    let thought = signature.prop_map(|signature| {
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            signature: signature.map(Into::into),
            ..Reasoning::default()
        })
    });
    let source = prop_oneof![
        Just(MediaSource::Base64("QQ==".into())),
        Just(MediaSource::Url("https://example.com/a.png".into())),
        Just(MediaSource::Url("file:///a.png".into())),
        Just(MediaSource::Reference("blob:1".into())),
    ];
    let media = (source, metadata()).prop_map(|(source, metadata)| {
        Part::Image(Media { source, media_type: None, name: None, metadata })
    });
    let opaque = OpaqueBlock { provider: "openai".into(), value: number("1") };
    let unknown = Json::from_text(r#"{"type":"later"}"#).unwrap();
    prop_oneof![
        5 => text,
        1 => thought,
        1 => media,
        1 => Just(Part::Opaque(opaque)),
        1 => Just(Part::Unknown(unknown)),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let id = || prop::sample::select(vec!["a", "b", "c"]);
    let name = || prop::sample::select(vec!["look", "pay"]);
    let call = (id(), name(), 0..2i64).prop_map(|(id, name, n)| Part::tool_call(id, name, n));
    let output =
        prop_oneof![4 => plain_part(), 1 => id().prop_map(|id| Part::tool_result(id, "n"))];
    let outputs = prop::collection::vec(output, 0..3);
    let result = (id(), prop::option::of(name()), outputs, metadata()).prop_map(
        |(id, name, output, metadata)| {
            let name = name.map(str::to_owned);
            let call_id = id.to_owned();
            Part::ToolResult(ToolResult { call_id, name, output, is_error: false, metadata })
        },
    );
    prop_oneof![4 => plain_part(), 2 => call, 3 => result]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![
        Role::System,
        Role::User,
        Role::User,
        Role::Assistant,
        Role::Assistant,
        Role::Assistant,
        Role::Tool,
        Role::Tool,
    ]);
    (role, prop::collection::vec(part(), 1..4), metadata())
        .prop_map(|(role, parts, metadata)| Message::new(role, parts).with_metadata(metadata))
}

fn history(size: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec(message(), size)
}

/// A client's history that begins with stored messages: some left out, altered, repeated or moved,
/// and others between them.
fn histories() -> impl Strategy<Value = (Vec<Message>, Vec<Message>)> {
    history(0..8).prop_flat_map(|stored| {
        let of_stored = stored.clone();
        let changed = (any::<prop::sample::Index>(), 0..5u8, part()).prop_map(
            move |(index, change, part)| {
                if of_stored.is_empty() {
                    return Message::new(Role::User, [part]);
                }
                let mut message = index.get(&of_stored).clone();
                match change {
                    0 => {}
                    1 => message.parts.push(part),
                    2 => message.metadata = Metadata::default().with("pinned", 1),
                    3 => message.metadata = Metadata::default(),
                    _ => drop(message.parts.pop()),
                }
                message
            },
        );
        let own = prop_oneof![2 => message(), 4 => changed];
        let keep = prop::collection::vec(prop::bool::weighted(0.8), stored.len());
        (Just(stored), keep, prop::collection::vec(own, 0..8)).prop_map(|(stored, keep, own)| {
            let honest = stored.iter().zip(keep).filter(|(_, keep)| *keep);
            let client: Vec<_> = honest.map(|(message, _)| message.clone()).chain(own).collect();
            (stored, client)
        })
    })
}

fn allowed() -> impl Strategy<Value = Vec<DropReason>> {
    prop_oneof![Just(Vec::new()), prop::sample::subsequence(REASONS.to_vec(), 0..=REASONS.len())]
}

fn sanitizer(stored: &[Message], allowed: &[DropReason]) -> HistorySanitizer {
    allowed
        .iter()
        .fold(HistorySanitizer::new(), |all, reason| all.allow(*reason))
        .stored(stored.to_vec())
}

/// Returns the classes of which a message has something, other than results at its first level.
fn classes(message: &Message) -> Vec<DropReason> {
    let mut found = Vec::new();
    match message.role {
        Role::System => found.push(DropReason::SystemMessage),
        Role::Assistant => found.push(DropReason::UnstoredAnswer),
        Role::User | Role::Tool => {}
    }
    classes_of_keys(&message.metadata, &mut found);
    let stray = |part: &Part| !matches!(part, Part::ToolResult(_));
    if message.role == Role::Tool && message.parts.iter().any(stray) {
        found.push(DropReason::ForgedResult);
    }
    for part in &message.parts {
        classes_of_part(part, &mut found);
    }
    found
}

fn classes_of_part(part: &Part, found: &mut Vec<DropReason>) {
    match part {
        Part::Text(text) => classes_of_keys(&text.metadata, found),
        Part::Reasoning(thought) if thought.signature.is_some() => {
            found.push(DropReason::SignedReasoning);
        }
        Part::ToolCall(_) => found.push(DropReason::UnstoredCall),
        Part::ToolResult(result) => {
            classes_of_keys(&result.metadata, found);
            for output in &result.output {
                if matches!(output, Part::ToolResult(_)) {
                    found.push(DropReason::ForgedResult);
                }
                classes_of_part(output, found);
            }
        }
        Part::Image(media) => {
            classes_of_keys(&media.metadata, found);
            match &media.source {
                MediaSource::Url(url) if url.starts_with("https:") => {}
                MediaSource::Base64(_) => {}
                _ => found.push(DropReason::MediaReference),
            }
        }
        Part::Opaque(_) => found.push(DropReason::OpaqueBlock),
        Part::Unknown(_) => found.push(DropReason::UnknownPart),
        _ => {}
    }
}

fn classes_of_keys(metadata: &Metadata, found: &mut Vec<DropReason>) {
    for (key, _) in metadata.iter() {
        if RESERVED.contains(&key) {
            found.push(DropReason::ReservedKey);
        }
        if ORIGINS.contains(&key) {
            found.push(DropReason::SyntheticOrigin);
        }
    }
}

/// Counts results by id.
fn results<'a>(messages: impl IntoIterator<Item = &'a Message>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::new();
    for result in messages.into_iter().flat_map(Message::tool_results) {
        *counts.entry(result.call_id.as_str()).or_default() += 1;
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn twice_is_once((stored, client) in histories(), allowed in allowed()) {
        let sanitizer = sanitizer(&stored, &allowed);
        let once = sanitizer.sanitize(client);
        let twice = sanitizer.sanitize(once.messages.clone());
        prop_assert_eq!(&twice.messages, &once.messages);
        prop_assert!(twice.report.is_empty(), "{:?}", twice.report);
    }

    #[test]
    fn nothing_is_left_of_what_is_not_allowed((stored, client) in histories(), allowed in allowed())
    {
        let clean = sanitizer(&stored, &allowed).sanitize(client);
        let own = || clean.messages.iter().filter(|message| !stored.contains(message));
        for message in own() {
            prop_assert!(!message.parts.is_empty());
            for class in classes(message) {
                prop_assert!(allowed.contains(&class), "{class:?} in {message:?}");
            }
        }
        // Each stored message counts once.
        for message in stored.iter().filter(|message| message.role == Role::Assistant) {
            let count = |all: &[Message]| all.iter().filter(|other| *other == message).count();
            prop_assert!(allowed.contains(&DropReason::UnstoredAnswer)
                || count(&clean.messages) <= count(&stored));
        }
        // No more results than open calls.
        let of_assistant = stored.iter().filter(|message| message.role == Role::Assistant);
        let mut calls = HashMap::<&str, usize>::new();
        for call in of_assistant.flat_map(Message::tool_calls) {
            *calls.entry(call.id.as_str()).or_default() += 1;
        }
        for (id, count) in results(own()) {
            let reason = match calls.get(id) {
                None => DropReason::ForgedResult,
                Some(calls) if count > *calls => DropReason::AnsweredCall,
                Some(_) => continue,
            };
            let either = allowed.contains(&reason) || allowed.contains(&DropReason::ForgedResult);
            prop_assert!(either, "{count} results of {id}");
        }
    }

    #[test]
    fn the_order_stays_and_each_message_is_accounted_for(
        (stored, client) in histories(), allowed in allowed(),
    ) {
        let clean = sanitizer(&stored, &allowed).sanitize(client.clone());
        let gone: Vec<usize> = clean.report.dropped.iter()
            .filter(|item| item.kind == DroppedKind::Message)
            .map(|item| item.message)
            .collect();
        let positions: Vec<usize> = (0..client.len()).filter(|at| !gone.contains(at)).collect();
        prop_assert_eq!(positions.len(), clean.messages.len());
        for (position, message) in positions.into_iter().zip(&clean.messages) {
            let original = &client[position];
            prop_assert_eq!(original.role, message.role);
            let touched = clean.report.restored.contains(&position)
                || clean.report.dropped.iter().any(|item| item.message == position);
            prop_assert!(touched || original == message);
        }
    }

    #[test]
    fn an_honest_history_passes_unchanged(stored in history(0..12), allowed in allowed()) {
        let clean = sanitizer(&stored, &allowed).sanitize(stored.clone());
        prop_assert!(clean.report.is_empty(), "{:?}", clean.report);
        prop_assert_eq!(clean.messages, stored);
    }

    #[test]
    fn a_user_who_only_writes_is_never_changed(
        texts in prop::collection::vec("[ -~]{0,8}", 0..6), stored in history(0..6),
    ) {
        let client: Vec<Message> = texts.into_iter().map(Message::from).collect();
        let clean = sanitizer(&stored, &[]).sanitize(client.clone());
        prop_assert_eq!(clean.messages, client);
    }
}

#[test]
fn the_keys_of_origins_are_those_of_the_library() {
    for origin in
        [Origin::Synthetic, Origin::CarriedOver, Origin::Checkpoint, Origin::Gap, Origin::Recall]
    {
        assert!(origin.key().is_some_and(|key| ORIGINS.contains(&key)));
    }
}
