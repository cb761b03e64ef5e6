//! A table of models: windows, prices, modalities, cache rules, and how their tokens are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use context_core::model::{Framing, Share, TokenCount};
use serde::{Deserialize, Serialize};

use crate::cache_rules::CacheRulesForm;
use crate::counter::Factor;
use crate::images::ImageRule;
use crate::{Modality, Model, Prices, Vocabulary};

/// The date of the built-in table, `YYYY-MM-DD`. Prices change; replace or extend the table when
/// they do.
pub const AS_OF: &str = "2026-11-26";

/// A dated table of models, which the caller may extend or replace.
///
/// The built-in table contains only values that could be verified on the pages it names. A model
/// that is not listed is still counted by its family, the one with the longest prefix of its name,
/// and has the family's cache rules. A model without a window in the table, listed or not, is
/// assumed to have the smallest known window of its family. The window of a model of no known
/// family is unknown, and so are the prices and modalities of a model that is not listed.
///
/// # JSON form
///
/// ```json
/// {
///   "as_of": "2026-11-26",
///   "currency": "USD",
///   "families": {
///     "house": {
///       "prefixes": ["house-"],
///       "vocabulary": "o200k_base",
///       "factor": {"typical": 1.1, "low": 0.9, "high": 1.4},
///       "images": {"patches": {"size": 32, "budget": 1536, "multiplier": 1.2}},
///       "framing": {"message": [4, 3, 8], "call": [12, 3, 30], "tool": [12, 4, 40], "request": [3, 0, 30]},
///       "cache": {"minimum": 1024, "marks": 4, "automatic": false, "key": false, "ahead": 0,
///                 "lifetimes": [{"seconds": 300, "write": 1.25}, {"seconds": 3600, "write": 2}],
///                 "source": "https://example.com/caching"},
///       "compaction": "https://example.com/compaction"
///     }
///   },
///   "models": {
///     "house-large": {
///       "family": "house", "window": 200000, "max_output": 32000,
///       "prices": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75,
///                  "long": {"above": 128000, "input": 6, "output": 22.5}},
///       "input": ["text", "image", "document"], "output": ["text"],
///       "cache": {"minimum": 4096},
///       "source": "https://example.com/prices", "specification": "https://example.com/models",
///       "as_of": "2026-11-20", "note": "Introductory prices."
///     }
///   }
/// }
/// ```
///
/// Windows and outputs are in tokens, prices per million tokens in the currency of the table.
/// `long` has the prices of a whole call whose input is above `above` tokens. Framing is
/// `[usual, least, most]` tokens around a message, a call or result, a tool, a request. `images` is
/// `tiles`, `patches`, `area`, `blocks` or `flat`, see [`ImageRule`]. A family may have a `window`
/// for the case that none of its models is listed.
///
/// `input` and `output` of a model are lists of [`Modality`]; without `input` its modalities are
/// unknown, without `output` it writes text. `cache` has the fields of
/// [`CacheRules`](crate::CacheRules). A model's `cache` names the differences to its family only.
/// The price of a token written for a lifetime, `write`, is relative to other input; that of the
/// first lifetime is `cache_write` of the prices. A family with `compaction`, the page that says
/// so, has a provider that compacts conversations; `compaction` of a model, `true` or `false`,
/// differs from that. `source` is the page of the prices, `specification` that of window, output
/// and modalities if it is another, `as_of` the date of the entry if it is not the table's, `note`
/// the reason why a value is missing or will change.
///
/// ```
/// use context_tokens::ModelTable;
///
/// let mut table = ModelTable::builtin().clone();
/// table.extend(ModelTable::from_json(r#"{
///     "as_of": "2027-01-01", "currency": "USD", "families": {},
///     "models": {"gpt-4o": {"family": "openai-o200k", "window": 128000, "prices": {"input": 2, "output": 8}}}
/// }"#)?)?;
/// assert_eq!(table.model("gpt-4o").prices().map(|prices| prices.input), Some(2.0));
/// assert_eq!(table.model("gpt-4o-2024-08-06").window(), Some(128_000));
/// # Ok::<_, context_tokens::TableError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTable {
    pub(crate) as_of: String,
    pub(crate) currency: Arc<str>,
    families: BTreeMap<String, Family>,
    models: BTreeMap<String, Entry>,
}

/// An error of reading or extending a table.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The table is not JSON of the documented form.
    #[error("the table of models cannot be read: {0}")]
    Malformed(#[source] serde_json::Error),
    /// A model names a family that does not exist.
    #[error("model {model:?} is of the family {family:?}, which is not in the table")]
    UnknownFamily {
        /// The model.
        model: String,
        /// The family it names.
        family: String,
    },
    /// A number is out of range.
    #[error("{name:?} has a price, a factor or a size that is out of range")]
    OutOfRange {
        /// The model or the family.
        name: String,
    },
    /// Tables in different currencies cannot be combined.
    #[error("a table in {theirs} cannot extend one in {ours}")]
    Currency {
        /// The currency of the table to extend.
        ours: String,
        /// The currency of the other one.
        theirs: String,
    },
}

context_core::readable_debug!(TableError);

/// Models whose tokens are counted the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    prefixes: Vec<String>,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) factor: Factor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) images: Option<ImageRule>,
    pub(crate) framing: FramingForm,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<CacheRulesForm>,
    /// The page that says that the provider compacts conversations. `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compaction: Option<String>,
    /// The window of the family's models if none of them is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FramingForm {
    message: [u64; 3],
    call: [u64; 3],
    tool: [u64; 3],
    request: [u64; 3],
    #[serde(default)]
    tools: [u64; 3],
    /// The counted share of tool schemas in percent: usual, least, most.
    #[serde(default = "all")]
    schema: [u16; 3],
    /// The counted share of the output schema in percent: usual, least, most.
    #[serde(default = "all")]
    output: [u16; 3],
}

fn all() -> [u16; 3] {
    [100; 3]
}

impl From<FramingForm> for Framing {
    fn from(form: FramingForm) -> Self {
        let count = |[usual, least, most]: [u64; 3]| TokenCount::estimate(usual, least, most);
        let share = |[usual, low, high]: [u16; 3]| Share::new(usual, low, high);
        let mut framing =
            Self::new(count(form.message), count(form.call), count(form.tool), count(form.request));
        framing.tools = count(form.tools);
        (framing.schema, framing.output) = (share(form.schema), share(form.output));
        framing
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) family: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prices: Option<Prices>,
    /// The modalities of input, and of output if it is not text alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<BTreeSet<Modality>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<BTreeSet<Modality>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cache: Option<CacheRulesForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) images: Option<ImageRule>,
    /// Whether the provider compacts conversations, if that differs from the family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compaction: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) specification: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) as_of: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

impl Entry {
    /// Returns an entry of which only the family is known.
    fn of_family(family: String) -> Self {
        Self {
            family,
            window: None,
            max_output: None,
            prices: None,
            input: None,
            output: None,
            cache: None,
            images: None,
            compaction: None,
            source: None,
            specification: None,
            as_of: None,
            note: None,
        }
    }
}

impl ModelTable {
    /// Returns the table that comes with this crate, dated [`AS_OF`].
    pub fn builtin() -> &'static Self {
        static TABLE: LazyLock<ModelTable> = LazyLock::new(|| {
            let table = ModelTable::parsed(include_str!("models.json"));
            table.expect("the built-in table is well formed")
        });
        &TABLE
    }

    /// Reads a table. Families that it does not define are those of the built-in table.
    pub fn from_json(json: &str) -> Result<Self, TableError> {
        let table = Self::parsed(json)?;
        let lost =
            table.models.iter().find(|(_, entry)| table.family_named(&entry.family).is_none());
        if let Some((model, entry)) = lost {
            return Err(TableError::UnknownFamily {
                model: model.clone(),
                family: entry.family.clone(),
            });
        }
        Ok(table)
    }

    fn parsed(json: &str) -> Result<Self, TableError> {
        let table: Self = serde_json::from_str(json).map_err(TableError::Malformed)?;
        for (name, family) in &table.families {
            let cache = family.cache.as_ref().is_none_or(CacheRulesForm::is_sound);
            let images = family.images.is_none_or(|rule| rule.is_sound());
            let window = family.window.is_none_or(|window| window > 0);
            if !family.factor.is_sound() || !images || !cache || !window {
                return Err(TableError::OutOfRange { name: name.clone() });
            }
        }
        for (name, model) in &table.models {
            let prices = model
                .prices
                .iter()
                .flat_map(Prices::all)
                .all(|price| price.is_finite() && price >= 0.0);
            let window = model.window.is_none_or(|window| window > 0);
            let cache = model.cache.as_ref().is_none_or(CacheRulesForm::is_sound);
            if !prices || !window || !cache || !model.images.is_none_or(|rule| rule.is_sound()) {
                return Err(TableError::OutOfRange { name: name.clone() });
            }
        }
        Ok(table)
    }

    /// Adds the entries of the other table, which replace entries of the same name. The other
    /// table's date becomes this table's date; entries of this table keep theirs.
    pub fn extend(&mut self, other: Self) -> Result<(), TableError> {
        if self.currency != other.currency {
            let (ours, theirs) = (self.currency.to_string(), other.currency.to_string());
            return Err(TableError::Currency { ours, theirs });
        }
        for entry in self.models.values_mut() {
            entry.as_of.get_or_insert_with(|| self.as_of.clone());
        }
        self.as_of = other.as_of;
        self.families.extend(other.families);
        self.models.extend(other.models);
        Ok(())
    }

    /// Sets the prices of a model, such as those of a contract, with their date or another word for
    /// where they are from. A model that is not listed is added with its family, and nothing else
    /// is known of it.
    ///
    /// ```
    /// use context_tokens::ModelTable;
    ///
    /// let mut table = ModelTable::builtin().clone();
    /// let prices = serde_json::from_str(r#"{"input": 1, "output": 4}"#)?;
    /// table.set_prices("gpt-4o", prices, "2027-01-01")?;
    /// assert_eq!(table.model("gpt-4o").prices().map(|prices| prices.output), Some(4.0));
    /// assert_eq!(table.model("gpt-4o").window(), ModelTable::builtin().model("gpt-4o").window());
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_prices(
        &mut self,
        model: impl Into<String>,
        prices: Prices,
        as_of: impl Into<String>,
    ) -> Result<(), TableError> {
        let name = model.into();
        if !prices.all().all(|price| price.is_finite() && price >= 0.0) {
            return Err(TableError::OutOfRange { name });
        }
        let listed = self.model(&name).entry.cloned();
        let family = self.family_of(&name).map(|(family, ..)| family.to_owned());
        let Some(mut entry) = listed.or(family.map(Entry::of_family)) else {
            return Err(TableError::UnknownFamily { model: name, family: String::new() });
        };
        (entry.prices, entry.as_of) = (Some(prices), Some(as_of.into()));
        // The page and the note are about the prices that were there.
        (entry.source, entry.note) = (None, None);
        self.models.insert(name, entry);
        Ok(())
    }

    /// Returns the table's date, `YYYY-MM-DD`.
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// Returns the currency of the prices, such as `USD`.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// Returns the listed models, in the order of their names.
    pub fn models(&self) -> impl Iterator<Item = Model<'_>> {
        self.models.keys().map(|name| self.model(name))
    }

    /// Returns a model by name. A listed name followed by a date or `-latest` is that model; for
    /// any other name only the family is known. A provider in front, as in `openai/gpt-4o`, is
    /// ignored.
    pub fn model<'t>(&'t self, name: &'t str) -> Model<'t> {
        let plain = name.rsplit('/').next().unwrap_or(name);
        let entry = self.models.get(plain).or_else(|| {
            let mut ends = plain.char_indices().filter(|(_, c)| matches!(c, '-' | '@'));
            let (end, _) = ends.find(|(at, _)| is_version(&plain[at + 1..]))?;
            self.models.get(&plain[..end])
        });
        let named = entry.and_then(|entry| self.family_named(&entry.family));
        let by_prefix = self.family_of(plain);
        let window_family = match (entry, by_prefix) {
            (Some(entry), _) => Some(entry.family.as_str()),
            // Every name has the empty prefix, which says nothing about the model.
            (None, Some((name, prefix, _))) => Some(name).filter(|_| prefix > 0),
            (None, None) => None,
        };
        let family = named.or(by_prefix.map(|(_, _, family)| family));
        Model { name, table: self, entry, family, window_family }
    }

    fn family_named(&self, name: &str) -> Option<&Family> {
        self.families.get(name).or_else(|| Self::builtin().families.get(name))
    }

    /// Returns the smallest known window of a family: in this table, otherwise in the built-in one.
    /// A family without listed models may have a window of its own.
    pub(crate) fn smallest_window(&self, family: &str) -> Option<u64> {
        let smallest = |table: &Self| {
            let entries = table.models.values().filter(|entry| entry.family == family);
            let own = || table.families.get(family).and_then(|family| family.window);
            entries.filter_map(|entry| entry.window).min().or_else(own)
        };
        smallest(self).or_else(|| smallest(Self::builtin()))
    }

    /// Returns the family with the longest prefix of a name, with its own name and the length of
    /// the prefix. Of two prefixes of equal length, this table's wins.
    fn family_of(&self, name: &str) -> Option<(&str, usize, &Family)> {
        let longest = |family: &Family| {
            family.prefixes.iter().filter(|prefix| name.starts_with(*prefix)).map(String::len).max()
        };
        let others =
            Self::builtin().families.iter().filter(|(name, _)| !self.families.contains_key(*name));
        let all = others
            .chain(&self.families)
            .filter_map(|(name, family)| Some((name.as_str(), longest(family)?, family)));
        all.max_by_key(|(_, length, _)| *length)
    }
}

/// Returns whether this is a suffix of a model's name: a date, a number of three digits or more,
/// `latest`.
fn is_version(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text == "latest"
        || (digits >= 3 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}
