//! Pictures and documents.

use context_core::base::BlobId;
use context_core::history::HistoryView;
use context_core::message::{Media, MediaSource};
use context_core::model::{MediaKind, TokenCount, TokenCounter};
use context_core::{CompactionPolicy, Message, Metadata, Part, Role};
use context_policy_microcompact::Microcompact;

use crate::helpers::{counter, goal, history, image, is_nothing, left, long, results, step, text};

fn with_images() -> Vec<std::sync::Arc<Message>> {
    let asked = Message::new(Role::User, [Part::text("look"), image()]);
    let steps =
        (0..6).flat_map(|n| step(&format!("c{n}"), "read_file", vec![Part::text("png"), image()]));
    history([asked].into_iter().chain(steps).chain([Message::from("and now?")]))
}

#[test]
fn images_in_old_results_are_cleared_and_those_of_the_user_stay() {
    let messages = with_images();
    let left = left(&Microcompact::new(), &messages);
    let shown: Vec<String> = results(&left).into_iter().map(text).collect();
    assert_eq!(shown, ["png\n[image cleared]", "png\n[image cleared]", "png", "png", "png", "png"]);
    assert_eq!(left[0], messages[0]);
    assert!(is_nothing(&Microcompact::new(), &left));
}

#[test]
fn documents_and_recordings_are_cleared_under_their_names() {
    let media = |media_type: &str| Media {
        source: MediaSource::Base64("A".repeat(40_000).into()),
        media_type: Some(media_type.into()),
        name: None,
        metadata: Metadata::default(),
    };
    let output = vec![Part::Document(media("application/pdf")), Part::Audio(media("audio/wav"))];
    let steps = [step("c0", "read_file", output), step("c1", "read_file", Vec::new())];
    let left = left(&Microcompact::new().keep_results(1), &history(steps.into_iter().flatten()));
    assert_eq!(text(results(&left)[0]), "[document cleared]\n[audio cleared]");
}

#[test]
fn what_the_user_attached_is_cleared_last_and_only_if_asked_for() {
    let messages = with_images();
    let counter = counter();
    let view = HistoryView::new(&messages, &counter);
    let policy = Microcompact::new().clear_attached();
    let met = policy.plan(&view, &goal(view.total() * 9 / 10)).into_plan().unwrap();
    assert_eq!(met.first_change(), Some(2));
    let unmet = policy.plan(&view, &goal(100)).into_plan().unwrap();
    assert_eq!(unmet.description, "3 places cleared of media");
    assert_eq!(unmet.apply(&messages).unwrap().messages[0].plain_text(), "look\n[image cleared]");
}

/// Media that the model made are part of its answer.
#[test]
fn only_what_the_user_attached_is_cleared_for_being_attached() {
    let made = Message::new(Role::Assistant, [Part::text("here"), image()]);
    let sent = Message::new(Role::User, [image()]);
    let steps = (0..6).flat_map(|n| step(&format!("c{n}"), "bash", vec![Part::text("x")]));
    let messages =
        history([sent, made].into_iter().chain(steps).chain([Message::from("and now?")]));
    let left = left(&Microcompact::new().clear_attached(), &messages);
    assert_eq!((left[0].plain_text().as_ref(), &left[1..]), ("[image cleared]", &messages[1..]));
}

/// Counts text by its bytes, and an image like its note.
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
        self.count("[image cleared]")
    }
}

#[test]
fn a_picture_that_costs_no_more_than_its_note_stays() {
    let steps = [step("c0", "bash", vec![image()]), step("c1", "bash", vec![Part::text(long())])];
    let messages = history(steps.into_iter().flatten().chain(step("c2", "bash", Vec::new())));
    let view = HistoryView::new(&messages, &FixedSizeMedia);
    let plan = Microcompact::new().keep_results(1).plan(&view, &goal(10)).into_plan().unwrap();
    assert_eq!((plan.first_change(), plan.description.as_str()), (Some(3), "1 result shortened"));
}

#[test]
fn what_is_kept_elsewhere_can_still_be_found() {
    let blob = BlobId::of(b"a picture").to_reference();
    let source = MediaSource::Reference(blob.clone());
    let kept =
        Part::Image(Media { source, media_type: None, name: None, metadata: Metadata::default() });
    let first = step("c", "read_file", vec![kept]);
    let rest = (0..4).flat_map(|n| step(&format!("d{n}"), "read_file", vec![Part::text("x")]));
    let left = left(&Microcompact::new(), &history(first.into_iter().chain(rest)));
    assert_eq!(text(results(&left)[0]), format!("[image cleared: {blob}]"));
}
