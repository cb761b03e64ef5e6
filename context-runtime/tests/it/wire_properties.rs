//! Lowered requests are valid, whatever happened to a history: the codecs against the request
//! checker of the conformance kit.

use std::borrow::Cow;
use std::sync::Arc;

use context_conformance::codec::{assert_reads_anything, assert_sends_valid};
use context_conformance::histories::{damaged, histories};
use context_runtime::anthropic::messages::MessagesCodec;
use context_runtime::gemini::generate::GenerateCodec;
use context_runtime::openai::chat::ChatCodec;
use context_runtime::openai::responses::ResponsesCodec;
use context_runtime::provider_rules::check_body;
use context_runtime::{
    Message,
    model::{HistoryRules, ModelCodec, Unanswered, normalize},
};
use proptest::prelude::*;
use proptest::test_runner::Config;

fn sends_valid(codec: &dyn ModelCodec) {
    assert_sends_valid(codec, |body| check_body(codec.name(), body));
}

fn reads_anything(codec: &dyn ModelCodec) {
    assert_reads_anything(codec, |body| check_body(codec.name(), body));
}

#[test]
fn chat_completions_are_valid() {
    sends_valid(&ChatCodec);
}

#[test]
fn responses_are_valid() {
    sends_valid(&ResponsesCodec);
}

#[test]
fn anthropic_messages_are_valid() {
    sends_valid(&MessagesCodec);
}

#[test]
fn gemini_contents_are_valid() {
    sends_valid(&GenerateCodec);
}

#[test]
fn chat_completions_read_anything() {
    reads_anything(&ChatCodec);
}

#[test]
fn responses_read_anything() {
    reads_anything(&ResponsesCodec);
}

#[test]
fn anthropic_messages_read_anything() {
    reads_anything(&MessagesCodec);
}

#[test]
fn gemini_contents_read_anything() {
    reads_anything(&GenerateCodec);
}

/// Rules of every kind, stricter and laxer than those of the codecs.
fn rules() -> impl Strategy<Value = HistoryRules> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let lengths = prop::sample::select(vec![1, 8, 40, 64, usize::MAX]);
    (flags, lengths.clone(), lengths, prop::sample::select(vec!["", ".:"])).prop_map(
        |((anywhere, last, prefill, alternate, any_id), ids, names, characters)| {
            let mut rules = HistoryRules::new();
            (rules.system_anywhere, rules.assistant_last, rules.prefill) =
                (anywhere, last, prefill);
            (rules.alternate, rules.any_id, rules.name_characters) =
                (alternate, any_id, characters);
            (rules.max_id_len, rules.max_name_len) = (ids.max(16), names.max(16));
            rules
        },
    )
}

fn config() -> Config {
    let cases =
        if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { 64 };
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_repaired_history_is_repaired(
        (history, _) in damaged(), rules in rules(), remove in any::<bool>(),
            prefill in any::<bool>(),
    ) {
        let unanswered = if remove { Unanswered::Remove } else { Unanswered::Answer };
        let before: Vec<Message> = history.iter().map(|message| (**message).clone()).collect();
        let once = normalize(&history, &rules, unanswered, prefill);
        prop_assert_eq!(&once, &normalize(&history, &rules, unanswered, prefill));
        let twice = normalize(&once.messages, &rules, unanswered, prefill);
        prop_assert!(twice.diagnostics.is_empty(), "{:#?}", twice.diagnostics);
        prop_assert!(matches!(twice.messages, Cow::Borrowed(_)));
        prop_assert!(std::ptr::eq(&*twice.messages, &*once.messages));
        prop_assert!(history.iter().map(|message| &**message).eq(&before));
    }

    #[test]
    fn a_valid_history_is_left_alone(history in histories()) {
        let same = normalize(&history, &HistoryRules::new(), Unanswered::Answer, false);
        prop_assert!(same.diagnostics.is_empty(), "{:#?}", same.diagnostics);
        prop_assert!(matches!(same.messages, Cow::Borrowed(_)));
        let shared = same.messages.iter().zip(&history).all(|(a, b)| Arc::ptr_eq(a, b));
        prop_assert!(shared && same.messages.len() == history.len());
    }
}
