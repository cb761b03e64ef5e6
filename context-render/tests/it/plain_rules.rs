//! What the formats of plain data have in common.

use std::sync::Arc;

use context_core::{
    Encoded, Fragment, FragmentContent, FragmentData, FragmentKind, RenderError, Renderer, assistant,
    fragment, hint, last_assistant_message, user,
};
use context_render::{FORMATS, RenderOptions, by_name};

fn renderers() -> Vec<Arc<dyn Renderer>> {
    let options = [RenderOptions::new(), RenderOptions::new().group(true)];
    let named = |options| ["toml", "toon"].map(|name| by_name(name, options).expect("of this build"));
    options.into_iter().flat_map(named).collect()
}

#[test]
fn are_known_by_name() {
    for name in ["toml", "toon"] {
        assert!(FORMATS.contains(&name));
        assert_eq!(by_name(name, RenderOptions::new()).expect("of this build").name(), name);
    }
    let everything = by_name("toon", RenderOptions::new().untrusted(true)).expect("of this build");
    assert_eq!(everything.render(&[hint("h")]).unwrap(), "\"hint (untrusted)\": h");
}

#[test]
fn fragments_without_data_are_refused_wherever_they_stand() {
    let unknown = Encoded::new("chart", 1, "{}");
    let unknown = Fragment::from_content("graph", FragmentKind::Context, FragmentContent::Unknown(unknown));
    for (foreign, name) in [(user("hi"), "user"), (assistant("yes"), "assistant"), (unknown, "graph")] {
        let refused = Err(RenderError::NotData { name: name.to_owned() });
        let map = |value: FragmentData| FragmentData::map([("key", value)]);
        for fragments in [
            vec![hint("before"), foreign.clone()],
            vec![foreign.clone(), foreign.clone()],
            vec![Fragment::new("a", map(1.into())), Fragment::new("b", map(foreign.clone().into()))],
            vec![Fragment::new("a", map(1.into())), Fragment::new("a", map(foreign.clone().into()))],
            vec![fragment("box", [FragmentData::from("a"), foreign.clone().into()])],
            vec![fragment("box", [foreign.clone(), foreign.clone()])],
            vec![Fragment::new("box", foreign.clone())],
        ] {
            for renderer in renderers() {
                assert_eq!(renderer.render(&fragments), refused);
            }
        }
    }
    for renderer in renderers() {
        let refused = Err(RenderError::NotData { name: "assistant".to_owned() });
        assert_eq!(renderer.render(&[last_assistant_message("later")]), refused);
    }
}

#[test]
fn a_value_in_two_places_is_written_twice() {
    let shared = FragmentData::map([("k", 1)]);
    let twice = [Fragment::new("a", FragmentData::list([shared.clone(), shared]))];
    assert_eq!(renderers()[0].render(&twice).unwrap(), "a = [\n  { k = 1 },\n  { k = 1 },\n]");
    assert_eq!(renderers()[1].render(&twice).unwrap(), "a[2]{k}:\n  1\n  1");
}
