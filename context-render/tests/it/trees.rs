//! Random trees, ordinary and hostile.

use context_core::{Fragment, FragmentData};
use proptest::prelude::*;

/// What is structure in Markdown, or in one of its extensions, if nothing prevents it.
const MARKDOWN: &[&str] = &[
    "# Heading",
    "Heading\n===",
    "Heading\n---",
    "---",
    "- - -",
    "- item\n  - item",
    "1. item",
    "> quotation",
    "> [!NOTE]\n> alert",
    "```\n```\n# Heading",
    "~~~~\n```",
    "    code",
    "``code`` `code",
    "*a* **b** _c_ __d__ ~~e~~ ^f^ ~g~ a*b*c",
    "<div>\n\n# Heading",
    "<!-- comment",
    "<script>",
    "<b>x</b>",
    "<https://example.org>",
    "[x]",
    "[x]: /url 'title'",
    "[x](/url) ![x](/url) [[x]] [[x|y]]",
    "[^1]",
    "[^1]: note",
    "[ ] task",
    "[x] task",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "a\n:-:\nb",
    "term\n: definition",
    ":::x",
    "&amp; &#35; &notanentity; &lt",
    "$x$ $$y$$",
    "{#id .class}",
    "x # {#id}",
    "a \\",
    "a\\\n",
    "a  \nb",
    "(untrusted)",
    "**: x",
    "+++\nkey = 1\n+++",
    "---\nkey: 1\n---",
];

/// Ordinary and hostile names and texts.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[a-zA-Z0-9 _.:-]{0,12}",
        "[<>&\"'/=\\]\\[!?;# \t\r\n\u{0}\u{7}\u{1b}a-c]{0,12}",
        "[\u{7f}\u{85}\u{b7}\u{301}\u{d7}\u{2028}\u{feff}\u{fffd}\u{fffe}\u{ffff}\u{1fffe}é漢🎻]{0,6}",
        any::<String>(),
        "[-#*_`~=+>|:!\\[\\](){}<&;\\\\$^.@ \\t\\n\\r0-9a-c/\u{0}]{0,16}",
        prop::sample::select(MARKDOWN).prop_map(str::to_owned),
        Just("</root>".to_owned()),
        Just("]]><!-- --><![CDATA[ &#0; &bad;".to_owned()),
    ]
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    // Few different ones, so that they meet in lists and maps.
    prop_oneof![text(), "(hint|policies|s|ss|news|_|hint \\(untrusted\\))"]
}

pub(crate) fn data() -> impl Strategy<Value = FragmentData> {
    let leaf = prop_oneof![
        Just(FragmentData::Null),
        any::<bool>().prop_map(FragmentData::from),
        any::<i64>().prop_map(FragmentData::from),
        any::<f64>().prop_map(FragmentData::from),
        text().prop_map(FragmentData::from),
    ];
    leaf.prop_recursive(6, 64, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(FragmentData::list),
            prop::collection::vec((name(), inner.clone()), 0..5).prop_map(FragmentData::map),
            (name(), inner, prop::bool::weighted(0.1)).prop_map(|(name, data, untrusted)| marked(
                Fragment::new(name, data),
                untrusted
            )
            .into()),
        ]
    })
}

pub(crate) fn fragments() -> impl Strategy<Value = Vec<Fragment>> {
    let fragment = (name(), data(), prop::bool::weighted(0.1))
        .prop_map(|(name, data, untrusted)| marked(Fragment::new(name, data), untrusted));
    prop::collection::vec(fragment, 0..4)
}

/// Trees of few keys and kinds, so that many of the maps in a list or a map are alike.
pub(crate) fn alike() -> impl Strategy<Value = Vec<Fragment>> {
    let leaf = prop_oneof![
        4 => (0_i64..10).prop_map(FragmentData::from),
        1 => prop::sample::select(vec!["x", "a,b", ""]).prop_map(FragmentData::from),
    ];
    let data = leaf.prop_recursive(4, 24, 3, |inner| {
        let key = || prop::sample::select(vec!["a", "b"]);
        prop_oneof![
            2 => prop::collection::vec((key(), inner.clone()), 1..4).prop_map(FragmentData::map),
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(FragmentData::list),
            1 => prop::collection::vec((key(), inner), 1..3)
                .prop_map(|list| FragmentData::list(list.into_iter().map(|(name, data)| Fragment::new(name, data)))),
        ]
    });
    let name = prop::sample::select(vec!["a", "b", "c"]);
    let fragments = prop::collection::vec((name, data), 1..4);
    (fragments, any::<bool>()).prop_map(|(fragments, one_name)| {
        let name = |name| if one_name { "a" } else { name };
        fragments.into_iter().map(|(given, data)| Fragment::new(name(given), data)).collect()
    })
}

fn marked(fragment: Fragment, untrusted: bool) -> Fragment {
    if untrusted { fragment.untrusted() } else { fragment }
}
