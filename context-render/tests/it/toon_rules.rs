//! Each rule of the TOON renderer by example. Other tests compare the output with that of the
//! `toon-format` crate for any tree. These tests show the layout, and how a prompt is assembled
//! from pieces.

use context_core::fragment::{Form, Piece, Pieces};
use context_core::{Fragment, FragmentData, Renderer, fragment, hint, role};
use context_render::ToonRenderer;

use crate::plain::Rules;
use crate::toon_properties::check;

fn render(fragments: impl IntoIterator<Item = Fragment>) -> String {
    render_with(&ToonRenderer::new(), fragments)
}

fn render_with(toon: &ToonRenderer, fragments: impl IntoIterator<Item = Fragment>) -> String {
    let fragments: Vec<_> = fragments.into_iter().collect();
    check(&fragments, Rules::default());
    toon.render(&fragments).expect("fragments of data")
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
fn scalars() {
    for (data, expected) in [
        (FragmentData::from("You repair clocks."), "x: You repair clocks."),
        ("".into(), r#"x: """#),
        (" outer".into(), r#"x: " outer""#),
        ("a: b".into(), r#"x: "a: b""#),
        ("# no comment".into(), r##"x: "# no comment""##),
        ("- no item".into(), r#"x: "- no item""#),
        ("one\ntwo\r\t\"\\\u{7}é".into(), r#"x: "one\ntwo\r\t\"\\\u0007é""#),
        ("true".into(), r#"x: "true""#),
        ("True".into(), "x: True"),
        ("007".into(), r#"x: "007""#),
        ("+5".into(), r#"x: "+5""#),
        ("1.5e-7".into(), r#"x: "1.5e-7""#),
        ("1.5.2".into(), "x: 1.5.2"),
        (".5".into(), "x: .5"),
        (42.into(), "x: 42"),
        (u64::MAX.into(), "x: 18446744073709551615"),
        (2.0.into(), "x: 2"),
        ((-0.0_f64).into(), "x: 0"),
        ((-0.125_f64).into(), "x: -0.125"),
        (1e21.into(), "x: 1000000000000000000000"),
        (1.5e-7.into(), "x: 0.00000015"),
        (f64::NAN.into(), "x: null"),
        (false.into(), "x: false"),
        (list::<FragmentData>([]), "x: []"),
        (map::<FragmentData>([]), "x:"),
        (list(["a", "b, c"]), r#"x[2]: a,"b, c""#),
    ] {
        assert_eq!(render([x(data)]), expected);
    }
    assert_eq!(render([x(FragmentData::Null)]), "");
    assert_eq!(render([]), "");
}

#[test]
fn keys_are_quoted_where_they_must_be() {
    let keys = ["bare_Key.1", "", "two words", "a-b", "é", "q\"\\\n", "3"];
    assert_eq!(
        render([x(FragmentData::map(keys.map(|key| (key, 1))))]),
        "x:\n  bare_Key.1: 1\n  \"\": 1\n  \"two words\": 1\n  \"a-b\": 1\n  \"é\": 1\n  \"q\\\"\\\\\\n\": 1\n  \"3\": 1"
    );
}

#[test]
fn objects_that_are_alike_are_rows() {
    let row = |a: i64, b: &str| map([("a", FragmentData::from(a)), ("b", b.into())]);
    assert_eq!(render([x(list([row(1, "p"), row(2, "q")]))]), "x[2]{a,b}:\n  1,p\n  2,q");
    assert_eq!(
        render([x(map([("k", row(1, "p")), ("l", row(2, "q"))]))]),
        "x[2:]{a,b}:\n  k: 1,p\n  l: 2,q"
    );
    // Also with objects in them, but not with arrays.
    let nested = |n: i64| map([("in", row(n, "p")), ("n", n.into())]);
    assert_eq!(render([x(list([nested(1), nested(2)]))]), "x[2]{in{a,b},n}:\n  1,p,1\n  2,p,2");
    assert_eq!(render([x(list([map([("a", list([1]))])]))]), "x[1]:\n  - a[1]: 1");
    // The columns have the order of the first row.
    let turned = map([("b", FragmentData::from("q")), ("a", 2.into())]);
    assert_eq!(render([x(list([row(1, "p"), turned]))]), "x[2]{a,b}:\n  1,p\n  2,q");
}

#[test]
fn many_columns_may_stand_in_any_order() {
    let keys: Vec<String> = (0..12).map(|n| format!("k{n}")).collect();
    let row = |turn: usize| {
        let mut entries: Vec<_> = keys.iter().map(|key| (key.clone(), key.as_str())).collect();
        entries.rotate_left(turn);
        FragmentData::map(entries)
    };
    let line = keys.join(",");
    let expected = format!("x[3]{{{line}}}:\n  {line}\n  {line}\n  {line}");
    assert_eq!(render([x(list([row(0), row(5), row(11)]))]), expected);
    let other =
        FragmentData::map(keys.iter().skip(1).chain(["l".to_owned()].iter()).map(|key| (key, 1)));
    assert!(render([x(list([row(0), other]))]).starts_with("x[2]:\n  - k0: k0\n"));
}

#[test]
fn lists_of_anything_else_are_items() {
    let mixed = list([
        FragmentData::from("loose"),
        hint("h").into(),
        list([1, 2]),
        list([list([1])]),
        list::<FragmentData>([]),
        map::<FragmentData>([]),
        map([("rows", list([map([("a", 1)])])), ("more", map([("k", FragmentData::from(1))]))]),
    ]);
    assert_eq!(
        render([x(mixed)]),
        "x[7]:\n  - loose\n  - hint: h\n  - [2]: 1,2\n  - [1]:\n    - [1]: 1\n  - [0]:\n  -\n  - rows[1]{a}:\n      1\n    more:\n      k: 1"
    );
    let different = fragment("x", [Fragment::new("steps", list(["cut"])), hint("h")]);
    assert_eq!(render([different]), "x:\n  steps[1]: cut\n  hint: h");
    assert_eq!(render([fragment("x", [hint("one"), hint("two")])]), "x[2]{hint}:\n  one\n  two");
}

#[test]
fn a_prompt_is_an_object_or_an_array_and_may_be_rows() {
    let policy = |rule: &str| map([("rule", FragmentData::from(rule)), ("level", 1.into())]);
    let turned = || map([("level", FragmentData::from(2)), ("rule", "turned".into())]);
    assert_eq!(render([role("r"), hint("h")]), "role: r\nhint: h");
    assert_eq!(render([hint("one"), hint("two")]), "[2]{hint}:\n  one\n  two");
    assert_eq!(
        render([hint("one"), role("r"), hint("two"), Fragment::new("p", policy("s"))]),
        "[4]:\n  - hint: one\n  - role: r\n  - hint: two\n  - p:\n      rule: s\n      level: 1"
    );
    assert_eq!(
        render([Fragment::new("a", policy("s")), Fragment::new("b", policy("t"))]),
        "[2:]{rule,level}:\n  a: s,1\n  b: t,1"
    );
    assert_eq!(render([x(policy("s")), x(policy("t"))]), "[2]{x{rule,level}}:\n  s,1\n  t,1");
    assert_eq!(render([x(policy("s")), x(turned())]), "[2]{x{rule,level}}:\n  s,1\n  turned,2");
    assert_eq!(
        render([Fragment::new("a", policy("s")), Fragment::new("b", turned())]),
        "[2:]{rule,level}:\n  a: s,1\n  b: turned,2"
    );
    // A null fragment does not count.
    assert_eq!(render([Fragment::new("hint", FragmentData::Null), hint("h")]), "hint: h");
}

#[test]
fn a_piece_depends_on_its_fragment_and_form_alone() {
    let toon = ToonRenderer::new();
    let fragments = [x(map([("a", 1), ("b", 2)])), x(map([("a", 3), ("b", 4)]))];
    let together: Vec<_> = fragments.iter().collect();
    let arrangement = toon.arrange(&together);
    let alone = fragments.iter().enumerate().map(|(place, fragment)| {
        let mut out = Pieces::default();
        let piece = Piece { fragment, form: arrangement.form(place) };
        toon.render_pieces(&[piece], &mut out).unwrap();
        out.iter().collect::<String>()
    });
    let alone: Vec<_> = alone.collect();
    assert_eq!(
        arrangement.join(alone.iter().map(String::as_str)),
        toon.render(&fragments).unwrap()
    );
    assert_eq!(alone, ["  1,2", "  3,4"]);
    // An unknown form is treated as that of a field.
    let mut out = Pieces::default();
    toon.render_pieces(&[Piece { fragment: &fragments[0], form: Form(200) }], &mut out).unwrap();
    assert_eq!(out.iter().collect::<String>(), "x:\n  a: 1\n  b: 2");
}

#[test]
fn groups_are_arrays_under_the_plural() {
    let toon = ToonRenderer::new().group(true);
    let rules = fragment("rules", [hint("one"), role("r"), hint("two")]);
    assert_eq!(render_with(&toon, [rules]), "rules:\n  hints[2]: one,two\n  roles[1]: r");
    let loose = fragment("x", [hint("one").into(), FragmentData::from("loose")]);
    assert_eq!(render_with(&toon, [loose]), "x[2]:\n  - hint: one\n  - loose");
    let alone = [fragment("a", [hint("one"), hint("two")]), fragment("b", [hint("three")])];
    assert_eq!(render_with(&toon, alone), "a:\n  hints[2]: one,two\nb:\n  hints[1]: three");
}

#[test]
fn what_somebody_else_wrote_says_so() {
    let page = fragment("page", [hint("a").untrusted(), hint("b")]).untrusted();
    assert_eq!(
        render([page, role("r")]),
        "\"page (untrusted)\":\n  \"hint (untrusted)\": a\n  hint: b\nrole: r"
    );
    let all = ToonRenderer::new().untrusted(true);
    assert_eq!(render_with(&all, [hint("a"), hint("b")]), "[2]{\"hint (untrusted)\"}:\n  a\n  b");
}
