//! Each rule of the TOML renderer by example.

use context_core::fragment::Form;
use context_core::{Fragment, FragmentData, Renderer, fragment, hint, role};
use context_render::{RenderOptions, TomlRenderer, by_name};

use crate::toml_properties::read;

fn render(fragments: impl IntoIterator<Item = Fragment>) -> String {
    render_with(&TomlRenderer::new(), fragments)
}

fn render_with(toml: &TomlRenderer, fragments: impl IntoIterator<Item = Fragment>) -> String {
    let fragments: Vec<_> = fragments.into_iter().collect();
    let text = toml.render(&fragments).expect("fragments of data");
    read(&text);
    text
}

fn list<T: Into<FragmentData>>(items: impl IntoIterator<Item = T>) -> FragmentData {
    FragmentData::list(items)
}

fn map<V: Into<FragmentData>>(
    entries: impl IntoIterator<Item = (&'static str, V)>,
) -> FragmentData {
    FragmentData::map(entries)
}

fn x(data: impl Into<FragmentData>) -> Fragment {
    Fragment::new("x", data)
}

#[test]
fn has_a_name() {
    let toml = by_name("toml", RenderOptions::new()).unwrap();
    assert_eq!(toml.name(), "toml");
}

#[test]
fn scalars() {
    for (data, expected) in [
        (FragmentData::from("You repair clocks."), r#"x = "You repair clocks.""#),
        ("".into(), r#"x = """#),
        ("  both sides  ".into(), r#"x = "  both sides  ""#),
        (r#"say "hi" \ bye"#.into(), r#"x = "say \"hi\" \\ bye""#),
        (
            "a\tb\rc\u{0}\u{8}\u{c}\u{1b}\u{7f}é\u{85}".into(),
            "x = \"a\\tb\\rc\\u0000\\b\\f\\u001B\\u007Fé\u{85}\"",
        ),
        (42.into(), "x = 42"),
        (i64::MIN.into(), "x = -9223372036854775808"),
        (u64::MAX.into(), r#"x = "18446744073709551615""#),
        (2.0.into(), "x = 2.0"),
        ((-0.0_f64).into(), "x = -0.0"),
        (0.0.into(), "x = 0.0"),
        ((-0.125_f64).into(), "x = -0.125"),
        (1e21.into(), "x = 1e+21"),
        (1.5e-7.into(), "x = 1.5e-7"),
        (f64::NAN.into(), "x = nan"),
        (f64::INFINITY.into(), "x = inf"),
        (f64::NEG_INFINITY.into(), "x = -inf"),
        (true.into(), "x = true"),
        (list::<FragmentData>([]), "x = []"),
        (list([FragmentData::Null]), "x = []"),
        (list([1, 2]), "x = [1, 2]"),
    ] {
        assert_eq!(render([x(data)]), expected);
    }
    assert_eq!(render([x(FragmentData::Null)]), "");
    assert_eq!(render([]), "");
}

#[test]
fn text_of_several_lines_stands_as_it_is() {
    for (text, expected) in [
        ("one\ntwo", "x = \"\"\"\none\ntwo\"\"\""),
        ("\n", "x = \"\"\"\n\n\"\"\""),
        ("one\r\n\ttwo\\", "x = \"\"\"\none\\r\n\ttwo\\\\\"\"\""),
        ("\"a\" \"\"b\"\"\n\"\"\"c\"\"\"", "x = \"\"\"\n\"a\" \"\"b\"\"\n\"\"\\\"c\"\"\\\"\"\"\""),
        ("\n\"\"\"\"\"\"", "x = \"\"\"\n\n\"\"\\\"\"\"\\\"\"\"\""),
        ("\n\"", "x = \"\"\"\n\n\\\"\"\"\""),
        (" \n ", "x = \"\"\"\n \n \"\"\""),
    ] {
        assert_eq!(render([x(text)]), expected);
    }
    // Where the text cannot have lines of its own, its line breaks are escaped.
    assert_eq!(render([x(list(["a\nb"]))]), r#"x = ["a\nb"]"#);
    assert_eq!(render([x(map([("k", "a\nb")]))]), "[x]\nk = \"\"\"\na\nb\"\"\"");
}

#[test]
fn keys_are_quoted_where_they_must_be() {
    let keys = ["bare_Key-1", "", "two words", "v1.2", "é", "q\"\\\n", "3"];
    let text = render([Fragment::new("my table", FragmentData::map(keys.map(|key| (key, 1))))]);
    assert_eq!(
        text,
        "[\"my table\"]\nbare_Key-1 = 1\n\"\" = 1\n\"two words\" = 1\n\"v1.2\" = 1\n\"é\" = 1\n\"q\\\"\\\\\\n\" = 1\n3 = 1"
    );
}

#[test]
fn a_table_has_a_header_if_nothing_plain_follows() {
    let sub = || map([("a", 1)]);
    let nested = map([("plain", FragmentData::from(1)), ("sub", sub()), ("empty", map::<i64>([]))]);
    assert_eq!(render([x(nested)]), "[x]\nplain = 1\n\n[x.sub]\na = 1\n\n[x.empty]");
    let followed =
        map([("sub", sub()), ("empty", map::<i64>([])), ("plain", 1.into()), ("last", sub())]);
    assert_eq!(render([x(followed)]), "[x]\nsub.a = 1\nempty = {}\nplain = 1\n\n[x.last]\na = 1");
    // At the top level it is the same.
    let deep = || map([("sub", map([("a", sub())])), ("b", 2.into())]);
    assert_eq!(
        render([
            Fragment::new("cfg", deep()),
            Fragment::new("none", map::<i64>([])),
            hint("h"),
            x(deep())
        ]),
        "cfg.sub.a.a = 1\ncfg.b = 2\n\nnone = {}\n\nhint = \"h\"\n\n[x]\nsub.a.a = 1\nb = 2"
    );
}

#[test]
fn only_what_changes_its_looks_changes_its_form() {
    let table = x(map([("a", 1)]));
    let (role, hint, nothing) =
        (role("r"), hint("h"), Fragment::new("nothing", FragmentData::Null));
    let forms = |fragments: &[&Fragment]| -> Vec<Form> {
        let arrangement = TomlRenderer::new().arrange(fragments);
        (0..fragments.len()).map(|place| arrangement.form(place)).collect()
    };
    assert_eq!(forms(&[&role, &table, &nothing]), [Form(0), Form(0), Form(0)]);
    assert_eq!(forms(&[&role, &table, &hint]), [Form(0), Form(1), Form(0)]);
    assert_eq!(forms(&[&role, &role, &table]), [Form(2), Form(2), Form(2)]);
}

#[test]
fn fragments_of_different_names_are_a_table_and_others_an_array() {
    let different = fragment("x", [Fragment::new("steps", list(["cut"])), hint("h")]);
    assert_eq!(render([different]), "[x]\nsteps = [\"cut\"]\nhint = \"h\"");
    let alike = fragment("x", [hint("one"), hint("two")]);
    assert_eq!(render([alike]), "x = [\n  { hint = \"one\" },\n  { hint = \"two\" },\n]");
    let loose =
        fragment("x", [FragmentData::from("loose"), hint("h").into(), map([("hint", "m")])]);
    assert_eq!(render([loose]), "x = [\n  \"loose\",\n  { hint = \"h\" },\n  { hint = \"m\" },\n]");
    // Nulls do not count.
    let nulls = fragment(
        "x",
        [FragmentData::Null, hint("h").into(), Fragment::new("hint", FragmentData::Null).into()],
    );
    assert_eq!(render([nulls]), "[x]\nhint = \"h\"");
    // The rule is the same at every level.
    let rows = map([("rows", list([list([hint("a"), role("b")]), list([hint("c"), hint("d")])]))]);
    assert_eq!(
        render([x(rows)]),
        "[x]\nrows = [\n  { hint = \"a\", role = \"b\" },\n  [{ hint = \"c\" }, { hint = \"d\" }],\n]"
    );
}

#[test]
fn a_value_that_is_a_fragment_is_a_table() {
    assert_eq!(render([x(fragment("a", [1]))]), "[x]\na = [1]");
    let map =
        map([("a", FragmentData::from(fragment("a", [1]))), ("b", fragment("c", [1]).into())]);
    assert_eq!(render([x(map)]), "[x]\na = [1]\n\n[x.b]\nc = [1]");
}

#[test]
fn names_that_meet_at_the_top_level_make_an_array() {
    let policy = Fragment::new("policy", map([("rule", "Ask."), ("reason", "a\nb")]));
    assert_eq!(
        render([hint("one"), hint("two"), policy, x(list([map([("a", 1)])])), x(map::<i64>([]))]),
        r#"[[fragments]]
hint = "one"

[[fragments]]
hint = "two"

[[fragments]]

[fragments.policy]
rule = "Ask."
reason = """
a
b"""

[[fragments]]
x = [
  { a = 1 },
]

[[fragments]]

[fragments.x]"#
    );
    // A null fragment does not collide with another of the same name.
    assert_eq!(render([Fragment::new("hint", FragmentData::Null), hint("h")]), "hint = \"h\"");
}

#[test]
fn groups_are_arrays_under_the_plural() {
    let toml = TomlRenderer::new().group(true);
    let rules = fragment("rules", [hint("one"), role("r"), hint("two")]);
    assert_eq!(render_with(&toml, [rules]), "[rules]\nhints = [\"one\", \"two\"]\nroles = [\"r\"]");
    // No grouping with other values among the fragments, with colliding plurals, or in lists that
    // are not a fragment's data.
    let loose = fragment("x", [hint("one").into(), FragmentData::from("loose")]);
    assert_eq!(render_with(&toml, [loose]), "x = [\n  { hint = \"one\" },\n  \"loose\",\n]");
    let meeting = fragment("x", [hint("a"), Fragment::new("hints", "b"), hint("c")]);
    assert_eq!(
        render_with(&toml, [meeting]),
        "x = [\n  { hint = \"a\" },\n  { hints = \"b\" },\n  { hint = \"c\" },\n]"
    );
    let inner = x(map([("list", list([hint("a"), role("b")]))]));
    assert_eq!(render_with(&toml, [inner]), "[x]\n\n[x.list]\nhint = \"a\"\nrole = \"b\"");
    // Its form is that of a table.
    let grouped = || fragment("rules", [hint("one"), hint("two")]);
    assert_eq!(
        render_with(&toml, [grouped(), role("r")]),
        "rules.hints = [\"one\", \"two\"]\n\nrole = \"r\""
    );
}

#[test]
fn what_somebody_else_wrote_says_so() {
    let page = fragment("page", [hint("a").untrusted(), hint("b")]).untrusted();
    assert_eq!(
        render([page.clone(), role("r")]),
        "\"page (untrusted)\".\"hint (untrusted)\" = \"a\"\n\"page (untrusted)\".hint = \"b\"\n\nrole = \"r\""
    );
    let all = TomlRenderer::new().untrusted(true);
    assert_eq!(
        render_with(&all, [role("r"), x(map([("a", 1)]))]),
        "\"role (untrusted)\" = \"r\"\n\n[\"x (untrusted)\"]\na = 1"
    );
    let grouped = TomlRenderer::new().group(true);
    assert_eq!(
        render_with(&grouped, [page]),
        "[\"page (untrusted)\"]\n\"hints (untrusted)\" = [\"a\"]\nhints = [\"b\"]"
    );
    // A name that only looks marked is distinguished from a marked one.
    let forged = [Fragment::new("hint (untrusted)", "a"), hint("b").untrusted()];
    assert!(render(forged).starts_with("[[fragments]]\n"));
    let forged = map([
        ("hint", FragmentData::from(hint("a").untrusted())),
        ("hint (untrusted)", "b".into()),
    ]);
    assert_eq!(
        render([x(forged)]),
        "[x]\nhint.\"hint (untrusted)\" = \"a\"\n\"hint (untrusted)\" = \"b\""
    );
}

#[test]
fn long_paths_become_inline_tables() {
    let deep = (0..10).fold(map([("b", 1)]), |inner, _| map([("a", inner)]));
    let text = render([x(deep.clone())]);
    assert!(text.ends_with("\n\n[x.a.a.a.a.a.a.a]\na = { a = { a = { b = 1 } } }"), "{text}");
    let text = render([x(deep), role("r")]);
    assert!(text.starts_with("x.a.a.a.a.a.a.a = { a = { a = { a = { b = 1 } } } }\n"), "{text}");
    let long = "n".repeat(300);
    let inner = || map([("a", map([("b", 1)]))]);
    assert_eq!(render([Fragment::new(&*long, inner())]), format!("[{long}]\na.b = 1"));
    assert_eq!(
        render([Fragment::new(&*long, inner()), role("r")]),
        format!("{long} = {{ a = {{ b = 1 }} }}\n\nrole = \"r\"")
    );
}
