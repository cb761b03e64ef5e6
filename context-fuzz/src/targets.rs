//! The targets, grouped by the kind of input. Each takes bytes and returns whether the parser
//! accepted them.

pub(crate) mod codec;
pub(crate) mod file;
pub(crate) mod form;
pub(crate) mod graph;
pub(crate) mod native;
pub(crate) mod search;

/// Returns texts as seeds.
fn texts<const N: usize>(texts: [&str; N]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
