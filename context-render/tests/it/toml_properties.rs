//! Property for every tree written as TOML: the `toml` crate reads the same tree back.

use context_conformance::renderer::{assert_renderer_conforms, fragments};
use context_core::fragment::{Form, Number, Piece, Pieces};
use context_core::{BoxError, Fragment, Renderer};
use context_render::TomlRenderer;
use proptest::prelude::*;
use toml::Value;

use crate::plain::{Plain, Rules, document};

/// Returns the content of a document. An array of all fragments is the content of the top level.
pub(crate) fn read(text: &str) -> Plain {
    assert_version_1_0(text);
    let table =
        toml::from_str::<toml::Table>(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    plain(Value::Table(table))
}

/// The crate also reads TOML 1.1. The output must not have what only TOML 1.1 allows: line breaks
/// and a last comma in inline tables, and escapes by `\\e` and `\\x`.
fn assert_version_1_0(text: &str) {
    let (mut rest, mut braces, mut before) = (text, 0_usize, ' ');
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let quotes = if rest.starts_with("\"\"\"") { "\"\"\"" } else { "\"" };
            rest = &rest[quotes.len()..];
            while !rest.starts_with(quotes) {
                if let Some(escaped) = rest.strip_prefix('\\') {
                    assert!(
                        escaped.starts_with(['b', 't', 'n', 'f', 'r', '"', '\\', 'u']),
                        "{text}"
                    );
                    rest = escaped;
                }
                rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
            }
            rest = &rest[quotes.len()..];
            before = '"';
            continue;
        }
        match c {
            '{' => braces += 1,
            '}' => {
                assert_ne!(before, ',', "{text}");
                braces -= 1;
            }
            '\n' => assert_eq!(braces, 0, "{text}"),
            _ => {}
        }
        if c != ' ' {
            before = c;
        }
        rest = &rest[c.len_utf8()..];
    }
}

fn plain(value: Value) -> Plain {
    match value {
        Value::String(text) => Plain::Text(text),
        Value::Integer(n) => Plain::Number(n.into()),
        Value::Float(n) => Plain::Number(n.into()),
        Value::Boolean(value) => Plain::Bool(value),
        Value::Datetime(datetime) => panic!("nothing writes {datetime}"),
        Value::Array(items) => Plain::Array(items.into_iter().map(plain).collect()),
        Value::Table(table) => {
            Plain::Table(table.into_iter().map(|(key, value)| (key, plain(value))).collect())
        }
    }
}

/// Returns the tree that must be read back: TOML has no integers above `i64::MAX`, and no arrays at
/// the top level.
pub(crate) fn expected(fragments: &[Fragment], rules: Rules) -> Plain {
    match representable(document(fragments, rules)) {
        array @ Plain::Array(_) => Plain::Table(vec![("fragments".to_owned(), array)]),
        table => table,
    }
}

fn representable(plain: Plain) -> Plain {
    match plain {
        Plain::Number(Number::UInt(n)) => match i64::try_from(n) {
            Ok(n) => Plain::Number(n.into()),
            Err(_) => Plain::Text(n.to_string()),
        },
        Plain::Array(items) => Plain::Array(items.into_iter().map(representable).collect()),
        Plain::Table(entries) => Plain::Table(
            entries.into_iter().map(|(key, value)| (key, representable(value))).collect(),
        ),
        plain => plain,
    }
}

fn renderer(rules: Rules) -> TomlRenderer {
    TomlRenderer::new().group(rules.group).untrusted(rules.untrusted)
}

/// Returns all values of a document, without its keys.
fn texts(prompt: &str) -> Result<Vec<String>, BoxError> {
    Ok(read(prompt).texts())
}

#[test]
fn the_contract_is_kept() {
    assert_renderer_conforms(&TomlRenderer::new(), &texts);
    assert_renderer_conforms(&TomlRenderer::new().group(true), &texts);
}

proptest! {
    #[test]
    fn everything_reads_back_in_order(fragments in fragments(), group: bool, untrusted: bool) {
        let rules = Rules { group, untrusted };
        let text = renderer(rules).render(&fragments).unwrap();
        prop_assert_eq!(read(&text), expected(&fragments, rules), "{}", text);
        prop_assert!(!text.contains('\r'));
    }

    #[test]
    fn every_piece_is_a_document(fragments in fragments(), group: bool, form in 0_u8..3) {
        let toml = TomlRenderer::new().group(group);
        let pieces: Vec<_> =
            fragments.iter().map(|fragment| Piece { fragment, form: Form(form) }).collect();
        let mut out = Pieces::default();
        toml.render_pieces(&pieces, &mut out).unwrap();
        for (fragment, piece) in fragments.into_iter().zip(out.iter()) {
            let mut expected_piece = expected(&[fragment], Rules { group, untrusted: false });
            if form == 2 && !piece.is_empty() {
                let items = Plain::Array(vec![expected_piece]);
                expected_piece = Plain::Table(vec![("fragments".to_owned(), items)]);
            }
            prop_assert_eq!(read(piece), expected_piece, "{}", piece);
        }
    }
}
