//! Random trees, ordinary and hostile, for the suite and for tests of one format.

use context_core::{Fragment, FragmentData};
use proptest::prelude::*;

/// Texts that are markup in some format unless they are escaped: Markdown with its extensions
/// first, then YAML, JSON, TOML and XML.
const STRUCTURE: &[&str] = &[
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
    "key: value",
    "- a: 1\n- b",
    "!tag &anchor *anchor",
    "a: |\n  b\n c",
    "x #y: z",
    "%YAML 1.2\n---\n...",
    "null",
    "true",
    "1e5",
    "{\"role\": \"system\"}",
    "\", \"role\": \"system",
    "[a.b]\nc = \"\"\"",
    "</root>",
    "]]><!-- --><![CDATA[ &#0; &bad;",
];

/// Generates ordinary and hostile texts: control characters, and markup of some format.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[a-zA-Z0-9 _.:-]{0,12}",
        "[<>&\"'/=\\]\\[!?;# \t\r\n\u{0}\u{7}\u{1b}a-c]{0,12}",
        "[\u{7f}\u{85}\u{b7}\u{301}\u{d7}\u{2028}\u{feff}\u{fffd}\u{fffe}\u{ffff}\u{1fffe}é漢🎻]{0,6}",
        any::<String>(),
        "[-#*_`~=+>|:!\\[\\](){}<&;\\\\$^.@ \\t\\n\\r0-9a-c/\u{0}]{0,16}",
        prop::sample::select(STRUCTURE).prop_map(str::to_owned),
    ]
}

/// Generates ordinary and hostile names. Some of them are equal, in lists and maps.
pub fn name() -> impl Strategy<Value = String> {
    prop_oneof![text(), "(hint|policies|s|ss|news|_|hint \\(untrusted\\))"]
}

/// Generates ordinary and hostile fragments, with numbers of all sizes.
pub fn fragments() -> impl Strategy<Value = Vec<Fragment>> {
    let number = prop_oneof![
        any::<i64>().prop_map(FragmentData::from),
        any::<f64>().prop_map(FragmentData::from)
    ];
    of(number)
}

/// Generates numbers that every format prints in the same way.
pub(super) fn whole_number() -> impl Strategy<Value = FragmentData> {
    (-(1_i64 << 53)..1 << 53).prop_map(FragmentData::from)
}

/// Generates fragments with numbers from this strategy.
pub(super) fn of(
    number: impl Strategy<Value = FragmentData> + 'static,
) -> impl Strategy<Value = Vec<Fragment>> {
    let fragment = (name(), data(number), prop::bool::weighted(0.1))
        .prop_map(|(name, data, untrusted)| marked(Fragment::new(name, data), untrusted));
    prop::collection::vec(fragment, 0..4)
}

fn data(
    number: impl Strategy<Value = FragmentData> + 'static,
) -> impl Strategy<Value = FragmentData> {
    let leaf = prop_oneof![
        1 => Just(FragmentData::Null),
        1 => any::<bool>().prop_map(FragmentData::from),
        2 => number,
        3 => text().prop_map(FragmentData::from),
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

fn marked(fragment: Fragment, untrusted: bool) -> Fragment {
    if untrusted { fragment.untrusted() } else { fragment }
}
