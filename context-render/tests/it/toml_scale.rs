//! Large and deep trees in TOML: rendering uses no recursion, and every level costs the same.

use context_core::{Fragment, FragmentData, Renderer, fragment, role};
use context_render::TomlRenderer;

use crate::toml_properties::read;

const LEVELS: usize = 200_000;

fn deep(levels: usize, around: impl Fn(FragmentData) -> FragmentData) -> Fragment {
    Fragment::new("f", (0..levels).fold(FragmentData::from("bottom"), |inner, _| around(inner)))
}

#[test]
fn a_million_nodes_render() {
    let row = |n: u64| FragmentData::map([("id", n), ("tens", n / 10), ("ten", n % 10)]);
    let rows = fragment("rows", (0..250_000).map(row));
    let tables =
        Fragment::new("tables", FragmentData::map((0..250_000).map(|n| (format!("t{n}"), row(n)))));
    let text = TomlRenderer::new().render(&[tables.clone(), rows.clone()]).unwrap();
    assert!(text.starts_with(
        "tables.t0.id = 0\ntables.t0.tens = 0\ntables.t0.ten = 0\ntables.t1.id = 1\n"
    ));
    assert!(text.ends_with("  { id = 249999, tens = 24999, ten = 9 },\n]"));
    let text = TomlRenderer::new().render(&[rows, tables]).unwrap();
    assert!(text.ends_with("\n\n[tables.t249999]\nid = 249999\ntens = 24999\nten = 9"));
}

#[test]
fn two_hundred_thousand_levels_render_in_every_shape() {
    let shapes: [fn(FragmentData) -> FragmentData; 4] = [
        |inner| Fragment::new("f", inner).into(),
        |inner| FragmentData::list([inner]),
        |inner| FragmentData::map([("f", inner)]),
        |inner| FragmentData::list([Fragment::new("f", inner)]),
    ];
    for shape in shapes {
        for toml in [TomlRenderer::new(), TomlRenderer::new().group(true)] {
            let nested = [deep(LEVELS, shape), role("r")];
            let text = toml.render(&nested).unwrap();
            assert_eq!(text.matches("\"bottom\"").count(), 1);
            let opened = text.matches(['{', '[']).count();
            assert_eq!(opened, text.matches(['}', ']']).count());
            assert!(opened >= LEVELS - 8);
        }
    }
}

/// Paths would make this quadratic: each level would repeat the names of all levels around it.
#[test]
fn output_grows_with_the_depth_not_with_its_square() {
    let bytes = |levels| {
        let nested = deep(levels, |inner| FragmentData::map([("f", inner), ("g", 1.into())]));
        TomlRenderer::new().render(&[nested]).unwrap().len()
    };
    let (once, twice, thrice) = (bytes(1_000), bytes(2_000), bytes(3_000));
    assert_eq!(thrice - twice, twice - once);
}

/// A long name in front of each of many keys would be as bad.
#[test]
fn long_names_are_not_repeated() {
    let name = "n".repeat(10_000);
    let wide = || FragmentData::map((0..1_000).map(|n| (format!("k{n}"), n)));
    let inner = FragmentData::map([("a", wide()), ("b", wide())]);
    let around = [Fragment::new(&*name, FragmentData::map([(&*name, inner)])), role("r")];
    for fragments in [around.as_slice(), &around[..1]] {
        let text = TomlRenderer::new().render(fragments).unwrap();
        assert!(text.len() < 60_000, "{}", text.len());
        read(&text);
    }
}

#[test]
fn many_names_are_compared_and_grouped_in_one_pass() {
    let names = 100_000;
    let all = |twice: usize| {
        fragment(
            "all",
            (0..twice * names).map(|n| Fragment::new(format!("n{}", n % names), n as u64)),
        )
    };
    let lines = |toml: TomlRenderer, twice| toml.render(&[all(twice)]).unwrap().lines().count();
    assert_eq!(lines(TomlRenderer::new(), 1), 1 + names);
    assert_eq!(lines(TomlRenderer::new(), 2), 2 + 2 * names);
    assert_eq!(lines(TomlRenderer::new().group(true), 2), 1 + names);
}

#[test]
fn a_long_text_is_written_once() {
    let text = "\"\"\"\\\n".repeat(1_000_000);
    let written = TomlRenderer::new().render(&[Fragment::new("x", text.as_str())]).unwrap();
    assert_eq!(written.len(), "x = \"\"\"\n\"\"\"".len() + 7 * 1_000_000);
    assert_eq!(toml::from_str::<toml::Table>(&written).unwrap()["x"].as_str(), Some(text.as_str()));
}
