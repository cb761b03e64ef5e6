//! The glossary: its stored form is a map, its rendered form a list.

use serde::{Deserialize, Serialize};

use super::body::data_of;
use crate::{Fragment, FragmentBody, FragmentData};

/// Terms and what they are expressed by, in order. Rendered as a list of `{term, expression}`.
///
/// Kind `glossary`, version 1: `{"entries": {term: expression, …}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Glossary {
    /// A map from each term to its expression.
    pub entries: FragmentData,
}

/// Terms and what they are expressed by, in order. Of two equal terms the last wins.
pub fn glossary<K: Into<String>, V: Into<FragmentData>>(
    entries: impl IntoIterator<Item = (K, V)>,
) -> Fragment {
    Glossary { entries: FragmentData::map(entries) }.into()
}

impl From<Glossary> for Fragment {
    fn from(glossary: Glossary) -> Self {
        glossary.into_fragment().with_codec(Glossary::KIND)
    }
}

impl FragmentBody for Glossary {
    const KIND: &'static str = "glossary";
    const VERSION: u16 = 1;

    fn into_fragment(self) -> Fragment {
        let entries = match &self.entries {
            FragmentData::Map(map) => map.iter().collect(),
            _ => Vec::new(),
        };
        let item = |(term, expression): (&String, &FragmentData)| {
            FragmentData::map([("term", term.as_str().into()), ("expression", expression.clone())])
        };
        Fragment::new(Self::KIND, FragmentData::list(entries.into_iter().map(item)))
    }

    fn from_fragment(fragment: &Fragment) -> Result<Self, String> {
        let FragmentData::List(items) = data_of(fragment, Self::KIND)? else {
            return Err("its data is no list".to_owned());
        };
        let entry = |item: &FragmentData| match item {
            FragmentData::Map(map) if map.len() == 2 => {
                Some((map.get("term")?.as_text()?.to_owned(), map.get("expression")?.clone()))
            }
            _ => None,
        };
        let entries: Option<Vec<_>> = items.iter().map(entry).collect();
        let entries = entries.ok_or("an item is no term with its expression")?;
        let count = entries.len();
        let entries = FragmentData::map(entries);
        match &entries {
            FragmentData::Map(map) if map.len() == count => Ok(Self { entries }),
            _ => Err("a term stands in it twice".to_owned()),
        }
    }
}
