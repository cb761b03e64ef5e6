//! The glossary kind: its stored form is a map, its rendered form a list.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::body::data_of;
use crate::base::MisfitError;
use crate::fragment::FragmentBody;
use crate::{Fragment, FragmentData};

/// Terms and their expressions, in order. Rendered as a list of `{term, expression}`.
///
/// Kind `glossary`, version 1: `{"entries": {term: expression, …}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Glossary {
    /// A map from each term to its expression.
    pub entries: FragmentData,
}

/// Creates a glossary from terms and their expressions, in order. Of two equal terms the last one
/// wins.
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

    fn from_fragment(fragment: &Fragment) -> Result<Self, MisfitError> {
        let FragmentData::List(items) = data_of(fragment, Self::KIND)? else {
            return Err(MisfitError::Shape { part: "its data", expected: "list" });
        };
        let mut entries = IndexMap::new();
        for item in items {
            let (term, expression) = match item {
                FragmentData::Map(map) if map.len() == 2 => {
                    (map.get("term").and_then(FragmentData::as_text), map.get("expression"))
                }
                _ => (None, None),
            };
            let (Some(term), Some(expression)) = (term, expression) else {
                return Err(MisfitError::Shape {
                    part: "an item",
                    expected: "term with its expression",
                });
            };
            if entries.insert(term.to_owned(), expression.clone()).is_some() {
                // A map holds each term only once.
                return Err(MisfitError::NoPlace { part: term.to_owned() });
            }
        }
        Ok(Self { entries: FragmentData::map(entries) })
    }
}
