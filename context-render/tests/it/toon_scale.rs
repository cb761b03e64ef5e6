//! Large and deep trees in TOON: rendering uses no recursion, and no node is examined repeatedly.

use context_core::{Fragment, FragmentData, Renderer, fragment, role};
use context_render::ToonRenderer;

/// Indentation makes the output of a deep tree long: these levels take a hundred megabytes.
const LEVELS: usize = 10_000;

fn deep(levels: usize, around: impl Fn(FragmentData) -> FragmentData) -> Fragment {
    Fragment::new("f", (0..levels).fold(FragmentData::from("bottom"), |inner, _| around(inner)))
}

#[test]
fn a_million_nodes_render() {
    let row = |n: u64| FragmentData::map([("id", n), ("tens", n / 10), ("ten", n % 10)]);
    let rows = fragment("rows", (0..250_000).map(row));
    let text = ToonRenderer::new().render(&[role("r"), rows]).unwrap();
    assert!(text.starts_with("role: r\nrows[250000]{id,tens,ten}:\n  0,0,0\n  1,0,1\n"));
    assert!(text.ends_with("\n  249999,24999,9"));
}

#[test]
fn as_many_nodes_that_are_not_alike_render() {
    let entry = |n: u64| FragmentData::map([(format!("k{n}"), n)]);
    let items = fragment("items", (0..250_000).map(entry));
    let fields = Fragment::new(
        "fields",
        FragmentData::map((0..250_000).map(|n| (format!("f{n}"), entry(n)))),
    );
    let text = ToonRenderer::new().render(&[items, fields]).unwrap();
    assert!(text.starts_with("items[250000]:\n  - k0: 0\n  - k1: 1\n"));
    assert!(text.ends_with("\n  f249999:\n    k249999: 249999"));
}

#[test]
fn ten_thousand_levels_render_in_every_shape() {
    let shapes: [fn(FragmentData) -> FragmentData; 4] = [
        |inner| Fragment::new("f", inner).into(),
        |inner| FragmentData::list([inner]),
        |inner| FragmentData::map([("f", inner), ("g", 1.into())]),
        |inner| FragmentData::list([Fragment::new("f", inner)]),
    ];
    for shape in shapes {
        let text = ToonRenderer::new().group(true).render(&[deep(LEVELS, shape)]).unwrap();
        assert_eq!(text.matches("bottom").count(), 1);
        assert!(text.lines().count() >= LEVELS);
    }
}

/// Rows may contain objects down to a maximum depth; deeper ones are written as fields.
#[test]
fn columns_are_as_deep_as_the_format_allows() {
    let text = |levels| {
        let row = |levels| deep(levels, |inner| FragmentData::map([("k", inner)])).data().cloned();
        let rows = FragmentData::list([row(levels), row(levels)].map(Option::unwrap_or_default));
        ToonRenderer::new().render(&[Fragment::new("x", rows)]).unwrap()
    };
    let head =
        |levels| format!("x[2]{}{}:\n  bottom\n  bottom", "{k".repeat(levels), "}".repeat(levels));
    assert_eq!(text(257), head(257));
    assert!(text(258).starts_with("x[2]:\n  - k:\n      k:\n"));
    assert_eq!(text(10_000).matches("bottom").count(), 2);
}

/// Shapes of tables are computed from the inside out. Computing them anew at every level would take
/// as many comparisons as there are pairs of nested nodes.
#[test]
fn tables_that_differ_at_the_bottom_only() {
    let side = |key: &'static str| {
        (0..200).fold(FragmentData::map([(key, 1)]), |inner, _| FragmentData::map([("k", inner)]))
    };
    let pairs = (0..500).map(|n| (format!("p{n}"), FragmentData::list([side("a"), side("b")])));
    let text = ToonRenderer::new().render(&[Fragment::new("x", FragmentData::map(pairs))]).unwrap();
    assert_eq!(text.matches("[2]:").count(), 500);
}

#[test]
fn a_prompt_of_many_fragments() {
    let named = |n: u64| Fragment::new(format!("n{n}"), FragmentData::map([("a", n)]));
    let text = ToonRenderer::new().render(&(0..100_000).map(named).collect::<Vec<_>>()).unwrap();
    assert!(text.starts_with("[100000:]{a}:\n  n0: 0\n  n1: 1\n"));
    let alike = |n: u64| Fragment::new("n", n);
    let text = ToonRenderer::new().render(&(0..100_000).map(alike).collect::<Vec<_>>()).unwrap();
    assert!(text.starts_with("[100000]{n}:\n  0\n  1\n"));
}
