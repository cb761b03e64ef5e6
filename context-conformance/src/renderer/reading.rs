//! Hostile names and texts, rendered and read back.

use std::fmt;

use context_core::{Fragment, FragmentData, Renderer};
use proptest::prelude::*;

use super::sound::rendered;
use super::{PromptReader, trees};

/// A length that realistic texts reach.
const LONG: usize = 100_000;

/// Fragments whose texts read back unchanged and whose numbers every format prints in the same way.
#[derive(Clone)]
pub(super) struct HostileFragments(Vec<Fragment>);

impl AsRef<[Fragment]> for HostileFragments {
    fn as_ref(&self) -> &[Fragment] {
        &self.0
    }
}

impl fmt::Debug for HostileFragments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Generates fragments that are all untrusted.
pub(super) fn untrusted() -> impl Strategy<Value = HostileFragments> {
    trees::of(trees::whole_number()).prop_map(|fragments| {
        HostileFragments(fragments.into_iter().map(Fragment::untrusted).collect())
    })
}

/// Generates fragments with and without the untrusted mark.
pub(super) fn trusted() -> impl Strategy<Value = HostileFragments> {
    trees::of(trees::whole_number()).prop_map(HostileFragments)
}

/// Checks that every text reads back, whole and once. The order is not checked here, but with
/// unique words.
pub(super) fn reads_back(
    renderer: &dyn Renderer,
    reader: &dyn PromptReader,
    fragments: &HostileFragments,
) -> Result<(), String> {
    let prompt = rendered(renderer, &fragments.0)?;
    let read =
        reader.read(&prompt).map_err(|error| format!("the prompt cannot be read: {error}"))?;
    let mut expected = Vec::new();
    fragments.0.iter().filter_map(Fragment::data).for_each(|data| texts(data, &mut expected));
    let expected = sorted(expected.iter().map(|text| reader.expected_text(text)).collect());
    let read = sorted(read);
    let missing = expected.iter().find(|text| count(&expected, text) > count(&read, text));
    let astray = read.iter().find(|text| count(&read, text) > count(&expected, text));
    match (missing, astray) {
        (None, None) => Ok(()),
        (Some(missing), Some(astray)) => {
            Err(format!("the text {missing:?} reads back as {astray:?}"))
        }
        (Some(missing), None) => {
            Err(format!("the text {missing:?} is not among those that are read"))
        }
        (None, Some(astray)) => {
            Err(format!("{astray:?} is read, which is no text of the fragments"))
        }
    }
}

/// Checks a name and a text that are longer than the lookahead of parsers.
pub(super) fn long(renderer: &dyn Renderer, reader: &dyn PromptReader) -> Result<(), String> {
    let name = "long name ".repeat(500);
    let text = "A sentence like others. ".repeat(LONG / 24);
    let word = "x".repeat(LONG);
    let map = FragmentData::map([
        (name.as_str(), text.trim_end()),
        ("lines", "one\ntwo\n"),
        ("word", &word),
    ]);
    let list = FragmentData::list([FragmentData::from(text.trim_end()), map]);
    let fragments = HostileFragments(vec![Fragment::new(name.as_str(), list).untrusted()]);
    // Texts of this size are cut in the message.
    reads_back(renderer, reader, &fragments).map_err(|why| why.chars().take(400).collect())
}

/// Collects the texts of a tree, in no particular order. Empty texts are ignored, since formats
/// differ in whether they are visible.
fn texts(data: &FragmentData, out: &mut Vec<String>) {
    match data {
        FragmentData::Text(text) => out.push(text.to_string()),
        FragmentData::Bool(value) => out.push(value.to_string()),
        FragmentData::Number(number) => out.push(number.to_string()),
        FragmentData::List(list) => list.iter().for_each(|item| texts(item, out)),
        FragmentData::Map(map) => map.values().for_each(|value| texts(value, out)),
        FragmentData::Fragment(fragment) => {
            fragment.data().into_iter().for_each(|data| texts(data, out))
        }
        _ => {}
    }
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.retain(|text| !text.is_empty());
    texts.sort();
    texts
}

fn count(texts: &[String], text: &str) -> usize {
    texts.iter().filter(|other| *other == text).count()
}
