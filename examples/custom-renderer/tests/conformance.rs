//! Contract tests of the renderer, with a third-party parser.

use context_conformance::renderer::assert_renderer_conforms;
use context_core::BoxError;
use custom_renderer::YamlRenderer;
use granit_parser::{Event, Parser, ScalarStyle};

/// Returns all scalars of a document that are not keys.
fn read(prompt: &str) -> Result<Vec<String>, BoxError> {
    // For each open collection: whether it is a map, and whether a key comes next.
    let (mut open, mut texts): (Vec<(bool, bool)>, _) = (Vec::new(), Vec::new());
    for event in Parser::new_from_str(prompt) {
        let is_key = match open.last_mut() {
            Some((true, key_next)) => std::mem::replace(key_next, !*key_next),
            _ => false,
        };
        match event?.0 {
            Event::SequenceStart(..) => open.push((false, false)),
            Event::MappingStart(..) => open.push((true, true)),
            Event::SequenceEnd => drop(open.pop()),
            Event::MappingEnd => drop(open.pop()),
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "null" => {}
            Event::Scalar(text, ..) if !is_key => texts.push(text.into_owned()),
            Event::Scalar(..) | Event::StreamStart | Event::StreamEnd => {}
            Event::DocumentStart(..) | Event::DocumentEnd => {}
            other => return Err(format!("nothing writes {other:?}").into()),
        }
    }
    Ok(texts)
}

#[test]
fn yaml_keeps_the_contract() {
    assert_renderer_conforms(&YamlRenderer, &read);
}
