//! Rules that the formats of plain data have in common.

use std::sync::Arc;

use context_core::{Fragment, FragmentData, Renderer, hint};
use context_render::{FORMATS, RenderOptions, by_name};

fn renderers() -> Vec<Arc<dyn Renderer>> {
    let options = [RenderOptions::new(), RenderOptions::new().group(true)];
    let named =
        |options| ["toml", "toon"].map(|name| by_name(name, options).expect("of this build"));
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
fn a_value_in_two_places_is_written_twice() {
    let shared = FragmentData::map([("k", 1)]);
    let twice = [Fragment::new("a", FragmentData::list([shared.clone(), shared]))];
    assert_eq!(renderers()[0].render(&twice).unwrap(), "a = [\n  { k = 1 },\n  { k = 1 },\n]");
    assert_eq!(renderers()[1].render(&twice).unwrap(), "a[2]{k}:\n  1\n  1");
}
