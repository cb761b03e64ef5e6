//! Pictures and documents.

use context_core::{
    BlobId, CompactionPolicy, HistoryView, Media, MediaSource, Message, Metadata, Part, Role,
};
use context_policy_microcompact::Microcompact;

use crate::helpers::{counter, goal, history, image, is_nothing, left, results, step, text};

fn with_images() -> Vec<std::sync::Arc<Message>> {
    let asked = Message::new(Role::User, [Part::text("look"), image()]);
    let steps = (0..6).flat_map(|n| step(&format!("c{n}"), "read_file", vec![Part::text("png"), image()]));
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
fn what_the_user_attached_is_cleared_last_and_only_if_asked_for() {
    let messages = with_images();
    let counter = counter();
    let view = HistoryView::new(&messages, &counter);
    let policy = Microcompact::new().clear_attached();
    let met = policy.plan(&view, &goal(view.total() * 9 / 10)).into_plan().unwrap();
    assert_eq!(met.first_change(), Some(2));
    let unmet = policy.plan(&view, &goal(100)).into_plan().unwrap();
    assert_eq!(unmet.what, "3 places cleared of media");
    assert_eq!(unmet.apply(&messages).unwrap().messages[0].plain_text(), "look\n[image cleared]");
}

#[test]
fn what_is_kept_elsewhere_can_still_be_found() {
    let blob = BlobId::of(b"a picture").to_reference();
    let source = MediaSource::Reference(blob.clone());
    let kept = Part::Image(Media { source, media_type: None, name: None, metadata: Metadata::default() });
    let first = step("c", "read_file", vec![kept]);
    let rest = (0..4).flat_map(|n| step(&format!("d{n}"), "read_file", vec![Part::text("x")]));
    let left = left(&Microcompact::new(), &history(first.into_iter().chain(rest)));
    assert_eq!(text(results(&left)[0]), format!("[image cleared: {blob}]"));
}
