//! A prompt is assembled from the kept pieces of the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_runtime::{
    ChangeKind, ContextEngine, Fragment, FragmentData, Renderer, ResolveOptions, Resolved,
    XmlRenderer, fragment,
    fragments::{Piece, Pieces, RenderError},
    hint, role,
};
use proptest::prelude::*;

use crate::kit::{builder, engine, store};

/// An XML renderer that counts the pieces it rendered.
#[derive(Clone, Debug, Default)]
struct CountingRenderer(Arc<AtomicUsize>);

impl CountingRenderer {
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Renderer for CountingRenderer {
    fn name(&self) -> &str {
        "xml"
    }

    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError> {
        self.0.fetch_add(pieces.len(), Ordering::SeqCst);
        XmlRenderer::new().render_pieces(pieces, out)
    }
}

fn changes(turn: &Resolved) -> Vec<(String, ChangeKind)> {
    turn.changes.fragments.iter().map(|change| (change.name.to_string(), change.kind)).collect()
}

async fn resolve(chat: &mut ContextEngine) -> Resolved {
    chat.resolve().await.unwrap()
}

#[tokio::test]
async fn only_what_changed_is_rendered_again_and_the_engine_says_what_did() {
    let counting = CountingRenderer::default();
    let mut chat = builder(&store().await).renderer(counting.clone()).open().await.unwrap();
    chat.set([role("R"), hint("one").with_id("h"), hint("two")]);
    let first = resolve(&mut chat).await;
    assert_eq!(counting.take(), 3);
    assert_eq!(
        changes(&first),
        [("role", ChangeKind::Added), ("hint", ChangeKind::Added), ("hint", ChangeKind::Added)]
            .map(|(name, kind)| (name.to_owned(), kind))
    );
    assert_eq!(first.changes.unchanged_prefix, 0);

    let same = resolve(&mut chat).await;
    assert_eq!(counting.take(), 0);
    assert!(same.changes.is_empty() && same.system_prompt.as_ptr() == first.system_prompt.as_ptr());
    assert_eq!(same.changes.unchanged_prefix, first.system_prompt.len());

    chat.set([hint("One").with_id("h"), fragment("new", ["x"])]);
    let changed = resolve(&mut chat).await;
    assert_eq!(counting.take(), 2);
    assert_eq!(
        changed.system_prompt,
        "<role>R</role>\n<hint>One</hint>\n<hint>two</hint>\n<new>\n  <new>x</new>\n</new>"
    );
    assert_eq!(
        changes(&changed),
        [("hint".to_owned(), ChangeKind::Changed), ("new".to_owned(), ChangeKind::Added)]
    );
    assert_eq!(changed.changes.unchanged_prefix, "<role>R</role>\n<hint>".len());

    assert!(chat.unset(&"h".into()).await.unwrap());
    let removed = resolve(&mut chat).await;
    assert_eq!(counting.take(), 0);
    assert_eq!(changes(&removed), [("hint".to_owned(), ChangeKind::Removed)]);
    assert_eq!(removed.changes.fragments[0].id, Some("h".into()));
}

#[tokio::test]
async fn another_renderer_for_one_turn_leaves_what_is_kept_alone() {
    let counting = CountingRenderer::default();
    let mut chat = builder(&store().await).renderer(counting.clone()).open().await.unwrap();
    chat.set([role("R"), hint("a < b")]);
    let first = resolve(&mut chat).await;
    counting.take();
    let grouped = XmlRenderer::new().group(true);
    let other = chat.resolve_with(ResolveOptions::new().renderer(&grouped)).await.unwrap();
    assert_eq!(other.system_prompt, first.system_prompt);
    assert!(other.changes.is_empty());
    assert_eq!(resolve(&mut chat).await.system_prompt, first.system_prompt);
    assert_eq!(counting.take(), 0);
}

/// A change of the fragments between two prompts.
#[derive(Clone, Debug)]
enum Step {
    Set(u8, Fragment),
    Add(Fragment),
    Unset(u8),
}

/// Few names and shapes, so that they collide: the neighbours of a fragment decide its form.
fn any_fragment() -> impl Strategy<Value = Fragment> {
    let text = || "[a-z<]{0,3}".prop_map(FragmentData::from);
    let row = (text(), text(), any::<bool>()).prop_map(|(a, b, swapped)| {
        let mut entries = [("a", a), ("b", b)];
        if swapped {
            entries.reverse();
        }
        FragmentData::map(entries)
    });
    let data = prop_oneof![
        2 => text(),
        2 => row,
        1 => prop::collection::vec(text(), 0..3).prop_map(FragmentData::list),
        1 => text().prop_map(|text| hint(text).into()),
        1 => Just(FragmentData::Null),
    ];
    ("(hint|rule|é)", data, prop::bool::weighted(0.2)).prop_map(|(name, data, untrusted)| {
        let fragment = Fragment::new(name, data);
        if untrusted { fragment.untrusted() } else { fragment }
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4_u8, any_fragment()).prop_map(|(id, fragment)| Step::Set(id, fragment)),
        any_fragment().prop_map(Step::Add),
        (0..4_u8).prop_map(Step::Unset),
    ]
}

proptest! {
    /// A prompt assembled from kept pieces equals the one that rendering everything at once gives.
    #[test]
    fn a_prompt_from_kept_pieces_is_the_prompt(steps in prop::collection::vec((step(),
        any::<bool>()), 0..24), format in 0..8_usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let name = context_runtime::FORMATS[format % context_runtime::FORMATS.len()];
            let renderer = context_runtime::renderer(name, Default::default()).unwrap();
            let builder = builder(&store().await).shared_renderer(Arc::clone(&renderer));
            let mut chat = builder.open().await.unwrap();
            let mut last = String::new();
            for (step, resolve) in steps {
                match step {
                    Step::Set(id, fragment) => { chat.set([fragment.with_id(format!("f{id}"))]); }
                    Step::Add(fragment) => { chat.set([fragment]); }
                    Step::Unset(id) => { chat.unset(&format!("f{id}").into()).await.unwrap(); }
                }
                if resolve {
                    let before = chat.fragments().cloned().collect::<Vec<Fragment>>();
                    let turn = chat.resolve().await.unwrap();
                    let text = renderer.render(&before).unwrap();
                    prop_assert_eq!(turn.system_prompt, text.as_str());
                    let same = last.chars().zip(text.chars()).take_while(|(a, b)| a == b);
                    prop_assert_eq!(turn.changes.unchanged_prefix,
                        same.map(|(c, _)| c.len_utf8()).sum::<usize>());
                    last = text;
                }
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn an_engine_without_fragments_has_an_empty_prompt() {
    let turn = engine(&store().await).await.resolve().await.unwrap();
    assert!(turn.system_prompt.is_empty() && turn.changes.is_empty());
}
