//! Tests of which media are removed, and in which order.

use std::sync::Arc;

use context_conformance::histories::histories;
use context_conformance::policy::assert_policy_conforms;
use context_core::history::{
    Attempt, Failure, Goal, HistoryView, RecoveryDecision, RecoveryPolicy,
};
use context_core::message::{Media, MediaSource, Reasoning};
use context_core::model::{Budget, MediaKind, ModelErrorCode as Code, TokenCount, TokenCounter};
use context_core::{CompactionPolicy, Message, ModelError, Part, Role, ToolResult};
use context_policy_strip_images::{Marker, StripImages};
use proptest::prelude::*;

use crate::{Bytes, MessageList, attached, called, content, image, left, media, shown};

#[test]
fn notes_keep_the_contract() {
    assert_policy_conforms(&StripImages::new());
}

#[test]
fn media_of_every_kind_go_wherever_they_stand() {
    let thought = Part::Reasoning(Reasoning {
        text: "hm".into(),
        signature: Some("s".into()),
        ..Reasoning::default()
    });
    let pdf = Part::Document(media(MediaSource::Reference("file-1".into()), Some("terms.pdf")));
    let sound = Part::Audio(media(MediaSource::Url("https://example.com/a.wav".into()), None));
    let history = vec![
        attached([Part::text("look"), image("a.png"), pdf]),
        Arc::new(Message::new(Role::Assistant, [thought.clone(), image("made.png")])),
        called("c1"),
        shown("c1", [Part::text("shot"), image("screen.png"), sound], true),
    ];
    let sent = left(&history, |view| StripImages::new().all(view)).unwrap();
    let expected = [
        "look",
        "[image removed: a.png]",
        "[document removed: terms.pdf]",
        "[image removed: made.png]",
        "shot",
        "[image removed: screen.png]",
        "[audio removed]",
    ];
    assert_eq!(content(&sent), expected);
    assert_eq!(sent[1].parts[0], thought);
    assert!(Arc::ptr_eq(&sent[2], &history[2]));
    let [Part::ToolResult(ToolResult { call_id, is_error: true, .. })] = &sent[3].parts[..] else {
        panic!("{:?}", sent[3])
    };
    assert_eq!(call_id, "c1");
    assert_eq!(left(&sent, |view| StripImages::new().all(view)), None);
}

#[test]
fn a_note_says_what_there_was_and_nothing_ends_it() {
    let history = vec![attached([image("a]\n[b.png"), image("")])];
    let short = left(&history, |view| StripImages::new().marker(Marker::Kind).all(view)).unwrap();
    assert_eq!(content(&short), ["[image]", "[image]"]);
    let told = left(&history, |view| StripImages::new().all(view)).unwrap();
    assert_eq!(content(&told), ["[image removed: a   b.png]", "[image removed]"]);
}

/// Screenshots of a tool must not push out the one image that the user asks about.
#[test]
fn to_make_room_the_oldest_go_first_and_what_the_user_attached_last() {
    let history = vec![
        attached([image("mine 1")]),
        called("c1"),
        shown("c1", [image("tool 1")], false),
        called("c2"),
        shown("c2", [image("tool 2")], false),
        attached([image("mine 2")]),
    ];
    let view = HistoryView::new(&history, &Bytes);
    let mut order = Vec::new();
    for tokens in [350, 270, 190, 100] {
        let tokens = view.total() - 400 + tokens;
        let sent = left(&history, |view| StripImages::new().keep_tokens(view, tokens)).unwrap();
        order.push(
            content(&sent)
                .iter()
                .filter(|name| name.contains("removed"))
                .cloned()
                .collect::<Vec<_>>(),
        );
    }
    let note = |name: &str| format!("[image removed: {name}]");
    assert_eq!(order[0], [note("tool 1")]);
    assert_eq!(order[1], [note("tool 1"), note("tool 2")]);
    assert_eq!(order[2], [note("mine 1"), note("tool 1"), note("tool 2")]);
    assert_eq!(order[3], [note("mine 1"), note("tool 1"), note("tool 2"), note("mine 2")]);
    let goal = Goal::new(Budget::new(10_000, 0), 0, 10_000);
    assert_eq!(StripImages::new().plan(&view, &goal).into_plan(), None);
}

/// Counts a token per byte of text, and an image like its note if its name is one letter.
#[derive(Debug)]
struct FixedSizeMedia;

impl TokenCounter for FixedSizeMedia {
    fn name(&self) -> &str {
        "as long as its note"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len() as u64)
    }

    fn count_media(&self, _: MediaKind, _: &Media) -> TokenCount {
        self.count("[image removed: b]")
    }
}

#[test]
fn a_picture_that_is_no_larger_than_its_note_stays() {
    let history = vec![attached([image("b"), image("")])];
    let view = HistoryView::new(&history, &FixedSizeMedia);
    let plan = StripImages::new().keep_tokens(&view, 10).into_plan().unwrap();
    assert_eq!(content(&plan.apply(&history).unwrap().messages.to_vec()), ["b", "[image removed]"]);
}

/// The error's code decides, not its message.
#[test]
fn a_code_that_is_known_decides() {
    let history: MessageList = vec![attached([image("a.png")])];
    let view = HistoryView::new(&history, &Bytes);
    let decide = |code, helped: bool| {
        let mut error = ModelError::new("anyone", code, "an image, too long");
        error.helped_by_fewer_images = helped;
        StripImages::new().decide(&Failure::new(&error, &view)).is_some()
    };
    assert!(decide(Code::Image, false) && !decide(Code::ContextOverflow, true));
    assert!(decide(Code::Unknown, true) && !decide(Code::Unknown, false));
}

#[test]
fn images_that_are_refused_go_once_and_an_overflow_is_left_to_others() {
    let history: MessageList = vec![attached([image("a.png")])];
    let view = HistoryView::new(&history, &Bytes);
    let bare = HistoryView::new(&[], &Bytes);
    let decide = |code, view: &HistoryView<'_>, attempts: &[Attempt]| {
        let error = ModelError::new("anyone", code, "an image, too long");
        let mut failure = Failure::new(&error, view);
        failure.attempts = attempts;
        StripImages::new().decide(&failure)
    };
    let stripped = decide(Code::Image, &bare, &[]).unwrap();
    assert!(matches!(stripped, RecoveryDecision::StripImagesAndRetry { .. }));
    assert_eq!(decide(Code::Image, &view, &[Attempt::new(stripped.clone(), 100, 20)]), None);
    assert!(decide(Code::RequestTooLarge, &view, &[]).is_some());
    assert_eq!(decide(Code::RequestTooLarge, &bare, &[]), None);
    assert_eq!(decide(Code::ContextOverflow, &view, &[]), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn afterwards_no_media_are_left_and_everything_else_is(history in histories()) {
        let is_media = |part: &Part| matches!(part,
            Part::Image(_) | Part::Document(_) | Part::Audio(_));
        let Some(sent) = left(&history, |view| StripImages::new().all(view)) else {
            prop_assert!(!history.iter().flat_map(|message| &message.parts).any(is_media));
            return Ok(());
        };
        prop_assert_eq!(sent.len(), history.len());
        for (now, before) in sent.iter().zip(&history) {
            prop_assert_eq!((now.role, now.parts.len()), (before.role, before.parts.len()));
            for (now, before) in now.parts.iter().zip(&before.parts) {
                prop_assert!(!is_media(now));
                match (now, before) {
                    (Part::ToolResult(now), Part::ToolResult(before)) => {
                        prop_assert_eq!((&now.call_id, now.is_error),
                            (&before.call_id, before.is_error));
                        prop_assert!(!now.output.iter().any(is_media));
                    }
                    (now, before) if !is_media(before) => prop_assert_eq!(now, before),
                    _ => {}
                }
            }
        }
        prop_assert_eq!(left(&sent, |view| StripImages::new().all(view)), None);
    }
}

/// The name is part of reports, and is the same through both traits.
#[test]
fn it_has_one_name() {
    let policy = StripImages::new();
    assert_eq!(CompactionPolicy::name(&policy), "strip-images");
    assert_eq!(RecoveryPolicy::name(&policy), "strip-images");
}
