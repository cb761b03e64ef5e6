//! Each rule of the Markdown renderer by example.

use context_core::{Fragment, FragmentData, Renderer, fragment, hint, role};
use context_render::{MarkdownRenderer, RenderOptions, by_name, title_case};

fn render(fragments: impl IntoIterator<Item = Fragment>) -> String {
    let fragments: Vec<_> = fragments.into_iter().collect();
    MarkdownRenderer::new().render(&fragments).expect("fragments of data")
}

/// Returns the text under the heading of a section called `x`.
fn body(data: impl Into<FragmentData>) -> String {
    let text = render([Fragment::new("x", data)]);
    text.strip_prefix("## X").expect("a heading").trim_start_matches('\n').to_owned()
}

fn untrusted_body(data: impl Into<FragmentData>) -> String {
    let text = render([Fragment::new("x", data).untrusted()]);
    text.strip_prefix("## X (untrusted)").expect("a heading").trim_start_matches('\n').to_owned()
}

fn list<T: Into<FragmentData>>(items: impl IntoIterator<Item = T>) -> FragmentData {
    FragmentData::list(items)
}

fn map<V: Into<FragmentData>>(
    entries: impl IntoIterator<Item = (&'static str, V)>,
) -> FragmentData {
    FragmentData::map(entries)
}

#[test]
fn sections_are_parted_by_an_empty_line() {
    let markdown = by_name("markdown", RenderOptions::new()).expect("the feature is on");
    assert_eq!(markdown.name(), "markdown");
    assert_eq!(markdown.render(&[role("r"), hint("h")]).unwrap(), "## Role\nr\n\n## Hint\nh");
    assert_eq!(render([role("r"), hint("h")]), "## Role\nr\n\n## Hint\nh");
    assert_eq!(
        render([role("r"), Fragment::new("none", FragmentData::Null), hint("")]),
        "## Role\nr\n\n## Hint"
    );
    assert_eq!(render([]), "");
}

#[test]
fn text_of_a_section_is_not_touched() {
    for text in
        ["a\r\nb\tc", "  both sides  ", "# h\n- **k**: v\n```\n<div>", "line\n", "&amp; \\*"]
    {
        assert_eq!(render([role(text)]), format!("## Role\n{text}"));
    }
}

#[test]
fn everything_below_is_a_list() {
    assert_eq!(
        body(list([1.into(), "two".into(), FragmentData::Null, true.into()])),
        "- 1\n- two\n- true"
    );
    let nested = map([
        ("a", map([("b", map([("c", "deep")]))])),
        ("tags", list(["x", "y"])),
        ("none", list::<i64>([])),
        ("plain", 1.into()),
        ("rule", hint("inside").into()),
        ("hint", hint("the same").into()),
    ]);
    assert_eq!(
        body(nested),
        "\
- **a**:
  - **b**:
    - **c**: deep
- **tags**:
  - x
  - y
- **plain**: 1
- **rule**:
  - **hint**: inside
- **hint**: the same"
    );
}

#[test]
fn order_is_kept() {
    let items = [FragmentData::from("loose"), hint("h").into(), 3.into(), role("r").into()];
    assert_eq!(body(list(items)), "- loose\n- **hint**: h\n- 3\n- **role**: r");
}

#[test]
fn items_that_are_containers_keep_their_boundaries() {
    let rows = list([
        list([list([1, 2]), list([3])]),
        map([("a", 1)]),
        map([("a", 1), ("b", 2)]),
        map([
            ("a", FragmentData::from(1)),
            ("none", FragmentData::Null),
            ("also none", list::<i64>([])),
        ]),
        map([("none", FragmentData::Null), ("b", FragmentData::from(2))]),
        map([("a", list([1, 2])), ("b", list(["x"]))]),
        list([map([("a", 1)]), map([("b", 1)])]),
        list::<i64>([]),
        "end".into(),
    ]);
    assert_eq!(
        body(rows),
        "\
- - - 1
    - 2
  - - 3
- **a**: 1
- - **a**: 1
  - **b**: 2
- **a**: 1
- **b**: 2
- - **a**:
    - 1
    - 2
  - **b**:
    - x
- - **a**: 1
  - **b**: 1
- end"
    );
}

#[test]
fn lines_of_a_text_stay_in_their_item() {
    assert_eq!(
        body(list([
            FragmentData::from("one\ntwo"),
            map([("k", "a\r\n\r\nb\rc"), ("l", "\nfirst line empty")]),
            list(["x\n- y"]),
            "  indented\n  more".into(),
            "    code\n    more".into(),
        ])),
        "\
- one
  two
- - **k**: a\r\n\r\n    b\r    c
  - **l**:
    first line empty
- - x
    - y
-   indented
    more
-     code
      more"
    );
}

#[test]
fn an_item_is_never_empty_nor_a_line_across() {
    assert_eq!(body(list([""])), "- \"\"");
    assert_eq!(body(list(["  ", "\n"])), "- \"  \"\n- \"\n  \"");
    assert_eq!(body(list(["---", "-", " - -"])), "- \\---\n- \\-\n-  \\- -");
    assert_eq!(body(list(["\n---"])), "- &#32;\n  ---");
    assert_eq!(body(map([("k", ""), ("l", "---")])), "- **k**:\n- **l**: ---");
}

#[test]
fn deep_levels_say_how_deep_they_are() {
    let inner = map([("a", list([FragmentData::from("x\ny"), list([1, 2]), "".into()]))]);
    let deep = (0..63).fold(inner, |inner, n| map([(["k", "l"][n % 2], inner)]));
    let text = body(deep);
    let last: Vec<_> = text
        .lines()
        .skip(62)
        .map(|line| (line.len() - line.trim_start().len(), line.trim_start()))
        .collect();
    assert_eq!(
        last,
        [
            (124, "- **k**:"),
            (126, "- **a**:"),
            (128, "- (level 65) x"),
            (130, "y"),
            (128, "- (level 65):"),
            (128, "- (level 66) 1"),
            (128, "- (level 66) 2"),
            (128, "- (level 65) \"\""),
        ]
    );
}

#[test]
fn groups_are_gathered_in_sections_only() {
    let markdown = MarkdownRenderer::new().group(true);
    let inner = fragment("inner", [hint("1"), hint("2")]);
    let rules = fragment(
        "rules",
        [FragmentData::from("loose"), hint("h1").into(), inner.into(), hint("h2").into()],
    );
    assert_eq!(
        markdown.render(&[rules, hint("top"), hint("level")]).unwrap(),
        "\
## Rules
- loose
- **Hints**:
  - **hint**: h1
  - **hint**: h2
- **Inners**:
  - **inner**:
    - **hint**: 1
    - **hint**: 2

## Hint
top

## Hint
level"
    );
}

#[test]
fn names_cannot_forge_anything() {
    for (name, heading, label) in [
        ("API_key", "Api Key", "API_key"),
        ("a<b>", r"A\<b\>", r"a\<b\>"),
        ("", "(unnamed)", "(unnamed)"),
        (" \r\n", "(unnamed)", "(unnamed)"),
        ("_", "(unnamed)", r"\_"),
        ("**x**", r"\*\*x\*\*", r"\*\*x\*\*"),
        ("x\n# y", "X # Y", "x # y"),
        ("C #", r"C \#", "C #"),
        ("###", r"##\#", "###"),
        ("b \\", r"B \\", r"b \\"),
        ("R&D &amp; &#35;", r"R&d \&amp; \&#35;", r"R&D \&amp; \&#35;"),
        ("_x_ __y", "X    Y", r"\_x\_ \_\_y"),
        ("[a](b) `c`", r"\[a\](b) \`c\`", r"\[a\](b) \`c\`"),
        ("h {#id}", r"H {#id\}", "h {#id}"),
    ] {
        let inner = Fragment::new(name, 1);
        let text = render([Fragment::new(name, list([inner]))]);
        assert_eq!(text, format!("## {heading}\n- **{label}**: 1"), "{name:?}");
    }
}

#[test]
fn untrusted_lines_are_escaped() {
    for (text, expected) in [
        ("plain. text, with (some) \"marks\"!", "plain. text, with (some) \"marks\"!"),
        ("# h", r"\# h"),
        ("- i", r"\- i"),
        ("-5", "-5"),
        ("---", r"\---"),
        ("===", r"\==="),
        ("+ i", r"\+ i"),
        ("1. i", r"1\. i"),
        ("12) i", r"12\) i"),
        ("3.14", "3.14"),
        ("> q", r"\> q"),
        ("*e* _e_ snake_case __s__ ~~d~~", r"\*e\* \_e\_ snake_case \_\_s\_\_ \~\~d\~\~"),
        ("`c` ``` x", r"\`c\` \`\`\` x"),
        ("<div> <!-- c --> <http:x>", r"\<div\> \<!-- c --\> \<http:x\>"),
        ("[x]: /url", r"\[x\]: /url"),
        ("![x](y) [^1] [ ] t", r"!\[x\](y) \[^1\] \[ \] t".replace("[^", r"[\^").as_str()),
        ("| a | b |", r"\| a \| b \|"),
        ("&amp; & &#35; &x", r"\&amp; & \&#35; &x"),
        ("ends with \\", r"ends with \\"),
        ("a $x$ b", r"a \$x\$ b"),
        (": def", r"\: def"),
        ("nul \0", "nul \u{FFFD}"),
    ] {
        assert_eq!(untrusted_body(text), expected, "{text:?}");
        let markdown = MarkdownRenderer::new().untrusted(true);
        let all = markdown.render(&[Fragment::new("x", text)]).unwrap();
        assert_eq!(all, format!("## X (untrusted)\n{expected}"));
    }
}

#[test]
fn untrusted_text_that_escaping_cannot_hold_is_fenced() {
    for (text, expected) in [
        ("a\nb", "```text\na\nb\n```"),
        ("a\r\n\r\nb\rc\n", "```text\na\n\nb\nc\n\n```"),
        ("a\r", "```text\na\n\n```"),
        (" a", "```text\n a\n```"),
        ("a\t", "```text\na\t\n```"),
        ("\n", "```text\n\n\n```"),
        ("a\u{2028}# b", "```text\na\u{2028}# b\n```"),
        ("a\u{85}# b", "```text\na\u{85}# b\n```"),
        ("see https://example.org/a_b", "```text\nsee https://example.org/a_b\n```"),
        ("see www.example.org", "```text\nsee www.example.org\n```"),
        ("a@b.org", "```text\na@b.org\n```"),
        ("```\n`````\n", "``````text\n```\n`````\n\n``````"),
        ("a\0\nb", "```text\na\u{FFFD}\nb\n```"),
    ] {
        assert_eq!(untrusted_body(text), expected, "{text:?}");
    }
}

#[test]
fn untrusted_text_in_lists_is_escaped_and_fenced_in_its_place() {
    let mail = Fragment::new(
        "mail",
        map([("from", "a@b.org"), ("body", "Hi\n\n# x"), ("subject", "# Hi")]),
    )
    .untrusted();
    let all = fragment(
        "all",
        [
            FragmentData::from("*mine*"),
            mail.into(),
            hint("# Hi").untrusted().into(),
            hint("a\nb").untrusted().into(),
            Fragment::new("items", list(["# a", "b\nc"])).untrusted().into(),
            hint("*mine*").into(),
        ],
    );
    assert_eq!(
        render([all]),
        r"## All
- *mine*
- **mail** (untrusted):
  - **from**:
    ```text
    a@b.org
    ```
  - **body**:
    ```text
    Hi

    # x
    ```
  - **subject**: # Hi
- **hint** (untrusted): # Hi
- **hint** (untrusted):
  ```text
  a
  b
  ```
- **items** (untrusted):
  - \# a
  - ```text
    b
    c
    ```
- **hint**: *mine*"
    );
}

#[test]
fn titles() {
    for (name, title) in [
        ("userID", "User I D"),
        ("userIDs", "User I Ds"),
        ("abcDEF", "Abc De F"),
        ("HTTPServer", "Http Server"),
        ("ABC_def", "Abc Def"),
        ("my_ID", "My Id"),
        ("__x", "  X"),
        ("The", "the"),
        ("é_à", "É À"),
        ("A1B2", "A1b2"),
        ("ßx", "SSx"),
    ] {
        assert_eq!(title_case(name), title);
    }
}
