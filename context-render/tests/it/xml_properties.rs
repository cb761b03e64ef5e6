//! Properties for every tree: the output is well-formed and everything in it reads back.

use context_conformance::renderer::{
    PromptReader, assert_renderer_conforms, assert_renders_soundly, fragments, name,
};
use context_core::{BoxError, Fragment, FragmentData, Renderer};
use context_render::XmlRenderer;
use proptest::prelude::*;

use crate::xml_reader::{Token, read, visible};

/// Returns the tokens that must be read back: the tree without empty nodes, with names and texts as
/// XML can express them. The name of an item is `None`, because it depends on language rules.
fn expected(fragments: &[Fragment]) -> Vec<(Option<String>, Token)> {
    let mut out = Vec::new();
    fragments.iter().for_each(|fragment| expect_fragment(fragment, &mut out));
    out
}

fn expect_fragment(fragment: &Fragment, out: &mut Vec<(Option<String>, Token)>) {
    expect(Some(fragment.name()), fragment.data().expect("made of data"), out);
}

fn expect(name: Option<&str>, data: &FragmentData, out: &mut Vec<(Option<String>, Token)>) {
    if data.is_empty() {
        return;
    }
    let name = name.map(visible);
    let leaf = |text: &str| Token::Leaf(String::new(), visible(text));
    match data {
        FragmentData::Null => return,
        FragmentData::Bool(value) => return out.push((name, leaf(&value.to_string()))),
        FragmentData::Number(number) => return out.push((name, leaf(&number.to_string()))),
        FragmentData::Text(text) => return out.push((name, leaf(text))),
        _ => out.push((name, Token::Enter(String::new()))),
    }
    match data {
        FragmentData::List(list) => list.iter().for_each(|item| match item {
            FragmentData::Fragment(fragment) => expect_fragment(fragment, out),
            item => expect(None, item, out),
        }),
        FragmentData::Map(map) => map.iter().for_each(|(key, value)| match value {
            FragmentData::Fragment(fragment) if fragment.name() == key => {
                expect_fragment(fragment, out)
            }
            value => expect(Some(key), value, out),
        }),
        FragmentData::Fragment(fragment) => expect_fragment(fragment, out),
        other => panic!("a new kind of data: {other:?}"),
    }
    out.push((None, Token::Leave));
}

/// Removes the names that the expected tokens do not have.
fn compared(
    read: Vec<Token>,
    expected: &[(Option<String>, Token)],
) -> Vec<(Option<String>, Token)> {
    let given = expected.iter().map(|(name, _)| name.is_some()).chain(std::iter::repeat(true));
    let split = |(token, given): (Token, bool)| match token {
        Token::Enter(name) => (given.then_some(name), Token::Enter(String::new())),
        Token::Leaf(name, text) => (given.then_some(name), Token::Leaf(String::new(), text)),
        Token::Leave => (None, Token::Leave),
    };
    read.into_iter().zip(given).map(split).collect()
}

fn leaves(tokens: Vec<Token>) -> Vec<(String, String)> {
    let mut leaves: Vec<_> = tokens
        .into_iter()
        .filter_map(|token| match token {
            Token::Leaf(name, text) => Some((name, text)),
            _ => None,
        })
        .collect();
    leaves.sort();
    leaves
}

struct Xml;

impl PromptReader for Xml {
    fn read(&self, prompt: &str) -> Result<Vec<String>, BoxError> {
        Ok(leaves(read(prompt)).into_iter().map(|(_, text)| text).collect())
    }

    fn expected_text(&self, text: &str) -> String {
        visible(text)
    }
}

#[test]
fn the_contract_is_kept() {
    assert_renderer_conforms(&XmlRenderer::new(), &Xml);
    assert_renderer_conforms(&XmlRenderer::new().group(true), &Xml);
    assert_renders_soundly(&XmlRenderer::new().indent_text(true));
}

proptest! {
    #[test]
    fn everything_reads_back_in_order(fragments in fragments()) {
        let text = XmlRenderer::new().render(&fragments).unwrap();
        let expected = expected(&fragments);
        prop_assert_eq!(compared(read(&text), &expected), expected);
    }

    #[test]
    fn grouping_loses_nothing(fragments in fragments()) {
        let plain = XmlRenderer::new().render_wrapped("all", &fragments).unwrap();
        let grouped = XmlRenderer::new().group(true).render_wrapped("all", &fragments).unwrap();
        prop_assert_eq!(leaves(read(&grouped)), leaves(read(&plain)));
    }

    #[test]
    fn indented_text_differs_in_white_space_only(fragments in fragments()) {
        let squeezed = |xml: XmlRenderer| -> Vec<_> {
            // In text that is laid out, a carriage return is not escaped.
            let mut tokens = read(&xml.render(&fragments).unwrap().replace('\r', ""));
            for token in &mut tokens {
                if let Token::Leaf(_, text) = token {
                    text.retain(|c| !matches!(c, ' ' | '\t' | '\r' | '\n'));
                }
            }
            tokens
        };
        prop_assert_eq!(squeezed(XmlRenderer::new().indent_text(true)),
            squeezed(XmlRenderer::new()));
    }

    #[test]
    fn a_list_of_any_name_has_a_name_for_its_items(name in name(), group: bool) {
        let inner = Fragment::new(name.as_str(), FragmentData::list([1, 2]));
        let outer = Fragment::new(name.as_str(), FragmentData::list([inner]));
        let tokens = read(&XmlRenderer::new().group(group).render(&[outer]).unwrap());
        prop_assert_eq!(leaves(tokens).len(), 2);
    }
}
