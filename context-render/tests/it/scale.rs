//! Large and deep trees: rendering uses no recursion, and every level costs the same.

use context_core::{Fragment, FragmentData, Renderer, fragment};
use context_render::{MarkdownRenderer, XmlRenderer};

const LEVELS: usize = 200_000;

fn deep(levels: usize, around: impl Fn(FragmentData) -> FragmentData) -> Fragment {
    Fragment::new("f", (0..levels).fold(FragmentData::from("bottom"), |inner, _| around(inner)))
}

#[test]
fn a_million_nodes_render() {
    let rows = 250_000_u64;
    let row = |n: u64| FragmentData::map([("id", n), ("tens", n / 10), ("ten", n % 10)]);
    let text = XmlRenderer::new().render(&[fragment("rows", (0..rows).map(row))]).unwrap();
    assert_eq!(text.matches("<row>").count(), 250_000);
    assert!(text.starts_with(
        "<rows>\n  <row>\n    <id>0</id>\n    <tens>0</tens>\n    <ten>0</ten>\n  </row>\n"
    ));
    assert!(text.ends_with(
        "    <id>249999</id>\n    <tens>24999</tens>\n    <ten>9</ten>\n  </row>\n</rows>"
    ));
}

#[test]
fn two_hundred_thousand_levels_render_in_every_shape() {
    let shapes: [fn(FragmentData) -> FragmentData; 3] = [
        |inner| Fragment::new("f", inner).into(),
        |inner| FragmentData::list([inner]),
        |inner| FragmentData::map([("f", inner)]),
    ];
    for shape in shapes {
        for xml in [XmlRenderer::new(), XmlRenderer::new().group(true).indent_text(true)] {
            let text = xml.render(&[deep(LEVELS, shape)]).unwrap();
            assert_eq!(text.matches("<f>").count(), LEVELS + 1);
            assert_eq!(text.matches("</f>").count(), LEVELS + 1);
            assert_eq!(text.matches("<f>bottom</f>").count(), 1);
        }
    }
}

#[test]
fn deep_nothing_is_left_out() {
    let nothing = (0..LEVELS).fold(FragmentData::Null, |inner, _| FragmentData::list([inner]));
    assert_eq!(XmlRenderer::new().render(&[Fragment::new("f", nothing)]).unwrap(), "");
}

/// Indentation would make this quadratic: each level would be a little longer than the one around
/// it.
#[test]
fn output_grows_with_the_depth_not_with_its_square() {
    let bytes = |levels| {
        let nested = deep(levels, |inner| Fragment::new("f", inner).into());
        XmlRenderer::new().render(&[nested]).unwrap().len()
    };
    let (once, twice, thrice) = (bytes(1_000), bytes(2_000), bytes(3_000));
    assert_eq!(thrice - twice, twice - once);
}

#[test]
fn many_names_are_grouped_in_one_pass() {
    let names = 100_000;
    let child = |n: usize| Fragment::new(format!("n{}", n % names), n as u64);
    let all = fragment("all", (0..2 * names).map(child));
    let text = XmlRenderer::new().group(true).render(&[all]).unwrap();
    assert!(
        text.starts_with(
            "<all>\n  <n0s>\n    <n0>0</n0>\n    <n0>100000</n0>\n  </n0s>\n  <n1s>\n"
        )
    );
    assert_eq!(text.lines().count(), 2 + 4 * names);
}

#[test]
fn a_million_nodes_render_in_markdown() {
    let rows = 250_000_u64;
    let row = |n: u64| FragmentData::map([("id", n), ("tens", n / 10), ("ten", n % 10)]);
    let text = MarkdownRenderer::new().render(&[fragment("rows", (0..rows).map(row))]).unwrap();
    assert_eq!(text.lines().count(), 1 + 3 * 250_000);
    assert!(
        text.starts_with(
            "## Rows\n- - **id**: 0\n  - **tens**: 0\n  - **ten**: 0\n- - **id**: 1\n"
        )
    );
    assert!(text.ends_with("\n- - **id**: 249999\n  - **tens**: 24999\n  - **ten**: 9"));
}

#[test]
fn deep_markdown_renders_in_every_shape() {
    let levels = 20_000;
    let shapes: [fn(FragmentData) -> FragmentData; 4] = [
        |inner| Fragment::new("f", inner).into(),
        |inner| FragmentData::list([inner]),
        |inner| FragmentData::map([("f", inner), ("g", 1.into())]),
        |inner| FragmentData::list([FragmentData::map([("f", inner)])]),
    ];
    for shape in shapes {
        for markdown in
            [MarkdownRenderer::new(), MarkdownRenderer::new().group(true).untrusted(true)]
        {
            let text = markdown.render(&[deep(levels, shape)]).unwrap();
            assert!(
                text.contains("\n        - **f**:\n") || text.contains("\n- - - -"),
                "{}",
                &text[..200]
            );
            assert_eq!(text.matches("bottom").count(), 1);
            assert!(text.contains("(level 20000) "));
            assert!(text.len() < 400 * levels);
        }
    }
    let nothing = (0..levels).fold(FragmentData::Null, |inner, _| FragmentData::list([inner]));
    assert_eq!(MarkdownRenderer::new().render(&[Fragment::new("f", nothing)]).unwrap(), "");
}

/// A fence is longer than any run of backticks in its text. Finding the longest run must take
/// linear time.
#[test]
fn long_texts_of_marks_render_in_markdown() {
    let markdown = MarkdownRenderer::new().untrusted(true);
    let rendered = |text: &str| markdown.render(&[Fragment::new("f", text)]).unwrap().len();
    let ten_megabytes = "`".repeat(10_000_000);
    assert_eq!(rendered(&ten_megabytes), "## F (untrusted)\n".len() + 2 * 10_000_000);
    assert_eq!(
        rendered(&format!("{ten_megabytes}\n")),
        "## F (untrusted)\ntext\n\n\n".len() + 3 * 10_000_000 + 2
    );
    for mark in ["_", "&", "1", "\\", "a@b.", "www"] {
        let text = mark.repeat(500_000);
        assert!(rendered(&text) <= 40 + 2 * text.len());
        let named = [fragment(text.as_str(), [Fragment::new(text.as_str(), 1)])];
        assert!(markdown.render(&named).unwrap().len() <= 60 + 4 * text.len());
    }
    let lines = format!("{}x", "`\n".repeat(500_000));
    let lines = markdown.render(&[fragment("f", [lines.as_str()])]).unwrap();
    assert_eq!(lines.lines().count(), 500_000 + 4);
}
