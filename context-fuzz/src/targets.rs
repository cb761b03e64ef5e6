//! The targets, by what their input is. Each takes bytes and says whether the parser took them.

pub(crate) mod codec;
pub(crate) mod file;
pub(crate) mod form;
pub(crate) mod graph;
pub(crate) mod own;
pub(crate) mod search;

/// Texts as seeds.
fn texts<const N: usize>(texts: [&str; N]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
