//! A table of models: windows, prices, and how their tokens are counted.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use context_core::model::{Framing, Share, TokenCount, Usage};
use serde::{Deserialize, Serialize};

use crate::counter::Factor;
use crate::images::ImageRule;
use crate::{Cost, ModelCounter, Vocabulary, WindowSource};

/// The date of the built-in table, `YYYY-MM-DD`. Prices change; replace or extend the table when
/// they do.
pub const AS_OF: &str = "2026-11-21";

/// A dated table of models, which the caller may extend or replace.
///
/// The built-in table contains only values that could be verified on the pages it names, so a model
/// may be listed without a window or without prices. A model without a window is assumed to have
/// the smallest known window of its family. A model that is not listed is still counted by its
/// family, the one with the longest prefix of its name; its window is unknown.
///
/// # JSON form
///
/// ```json
/// {
///   "as_of": "2026-11-21",
///   "currency": "USD",
///   "families": {
///     "house": {
///       "prefixes": ["house-"],
///       "vocabulary": "o200k_base",
///       "factor": {"typical": 1.1, "low": 0.9, "high": 1.4},
///       "images": {"patches": {"size": 32, "budget": 1536, "multiplier": 1.2}},
///       "framing": {"message": [4, 3, 8], "call": [12, 3, 30], "tool": [12, 4, 40], "request": [3, 0, 30]}
///     }
///   },
///   "models": {
///     "house-large": {
///       "family": "house", "window": 200000, "max_output": 32000,
///       "prices": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75,
///                  "long": {"above": 128000, "input": 6, "output": 22.5}},
///       "source": "https://example.com/prices"
///     }
///   }
/// }
/// ```
///
/// Windows and outputs are in tokens, prices per million tokens in the currency of the table.
/// `long` has the prices of a whole call whose input is above `above` tokens. Framing is
/// `[usual, least, most]` tokens around a message, a call or result, a tool, a request. `images` is
/// `tiles`, `patches`, `area`, `blocks` or `flat`, see [`ImageRule`].
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
    as_of: String,
    currency: Arc<str>,
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
struct Family {
    prefixes: Vec<String>,
    vocabulary: Vocabulary,
    factor: Factor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    images: Option<ImageRule>,
    framing: FramingForm,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FramingForm {
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
struct Entry {
    family: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prices: Option<Prices>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    images: Option<ImageRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// Prices per million tokens, in the currency of their table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Prices {
    /// Price of a million tokens of input that is in no cache.
    pub input: f64,
    /// Price of a million tokens of output, thoughts included.
    pub output: f64,
    /// Price of a million tokens of input read from a cache; `None` means the price of other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Price of a million tokens of input written to a cache for its usual lifetime; `None` means
    /// the price of other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Different prices for calls with much input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrices>,
}

/// Prices of calls with much input. A missing price is the same as for other calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LongPrices {
    /// The number of input tokens, cached input included, above which these prices apply to the
    /// whole call.
    pub above: u64,
    /// Price of a million tokens of input that is in no cache.
    pub input: f64,
    /// Price of a million tokens of output.
    pub output: f64,
    /// Price of a million tokens of input read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Price of a million tokens of input written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Prices {
    fn all(&self) -> impl Iterator<Item = f64> {
        let long = self.long.map(|long| {
            [Some(long.input), Some(long.output), long.cache_read, long.cache_write]
                .into_iter()
                .flatten()
        });
        [Some(self.input), Some(self.output), self.cache_read, self.cache_write]
            .into_iter()
            .flatten()
            .chain(long.into_iter().flatten())
    }
}

/// A model, as a table describes it.
///
/// ```
/// use context_core::model::Usage;
/// use context_tokens::ModelTable;
///
/// let model = ModelTable::builtin().model("gpt-4o-2024-11-20"); // known by its family
/// assert_eq!(model.window(), Some(128_000));
/// let usage = Usage::new(10_000, 500);
/// assert!(model.cost(&usage).is_some_and(|cost| cost.amount > 0.0));
///
/// let unknown = ModelTable::builtin().model("of-a-friend"); // counted with a wide interval, priced not at all
/// assert!(!unknown.is_listed() && unknown.cost(&usage).is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Model<'t> {
    name: &'t str,
    table: &'t ModelTable,
    entry: Option<&'t Entry>,
    family: Option<&'t Family>,
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
            if !family.factor.is_sound() || !family.images.is_none_or(|rule| rule.is_sound()) {
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
            if !prices || !window || !model.images.is_none_or(|rule| rule.is_sound()) {
                return Err(TableError::OutOfRange { name: name.clone() });
            }
        }
        Ok(table)
    }

    /// Adds the entries of the other table, which replace entries of the same name. The other
    /// table's date becomes this table's date.
    pub fn extend(&mut self, other: Self) -> Result<(), TableError> {
        if self.currency != other.currency {
            let (ours, theirs) = (self.currency.to_string(), other.currency.to_string());
            return Err(TableError::Currency { ours, theirs });
        }
        self.as_of = other.as_of;
        self.families.extend(other.families);
        self.models.extend(other.models);
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
        Model { name, table: self, entry, family: named.or_else(|| self.family_of(plain)) }
    }

    fn family_named(&self, name: &str) -> Option<&Family> {
        self.families.get(name).or_else(|| Self::builtin().families.get(name))
    }

    /// Returns the smallest known window of a family: in this table, otherwise in the built-in one.
    fn smallest_window(&self, family: &str) -> Option<u64> {
        let smallest = |table: &Self| {
            let entries = table.models.values().filter(|entry| entry.family == family);
            entries.filter_map(|entry| entry.window).min()
        };
        smallest(self).or_else(|| smallest(Self::builtin()))
    }

    /// Returns the family with the longest prefix of a name. Of two prefixes of equal length, this
    /// table's wins.
    fn family_of(&self, name: &str) -> Option<&Family> {
        let longest = |family: &Family| {
            family.prefixes.iter().filter(|prefix| name.starts_with(*prefix)).map(String::len).max()
        };
        let others =
            Self::builtin().families.iter().filter(|(name, _)| !self.families.contains_key(*name));
        let all =
            others.chain(&self.families).filter_map(|(_, family)| Some((longest(family)?, family)));
        all.max_by_key(|(length, _)| *length).map(|(_, family)| family)
    }
}

/// Returns whether this is a suffix of a model's name: a date, a number of three digits or more,
/// `latest`.
fn is_version(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text == "latest"
        || (digits >= 3 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

impl<'t> Model<'t> {
    /// Returns the name that the model was looked up by.
    pub fn name(&self) -> &'t str {
        self.name
    }

    /// Returns whether the table lists the model. If not, only its family is known.
    pub fn is_listed(&self) -> bool {
        self.entry.is_some()
    }

    /// Returns the model's window in tokens, input and output together. For a model listed without
    /// a window this is the smallest known window of its family;
    /// [`window_source`](Self::window_source) says which it is.
    pub fn window(&self) -> Option<u64> {
        let entry = self.entry?;
        entry.window.or_else(|| self.table.smallest_window(&entry.family))
    }

    /// Returns the source of the [`window`](Self::window), if there is one.
    pub fn window_source(&self) -> Option<WindowSource> {
        self.window()?;
        let listed = self.entry?.window.is_some();
        Some(if listed { WindowSource::Table } else { WindowSource::Family })
    }

    /// Returns the most tokens that the model writes.
    pub fn max_output(&self) -> Option<u64> {
        self.entry?.max_output
    }

    /// Returns the prices.
    pub fn prices(&self) -> Option<&'t Prices> {
        self.entry?.prices.as_ref()
    }

    /// Returns the address of the page that the numbers are from.
    pub fn source(&self) -> Option<&'t str> {
        self.entry?.source.as_deref()
    }

    /// Returns the date of the table.
    pub fn as_of(&self) -> &'t str {
        &self.table.as_of
    }

    /// Returns the model's counter, exact if its vocabulary is published. Cheap: nothing is loaded
    /// until the first count.
    pub fn counter(&self) -> ModelCounter {
        let Some(family) = self.family else { return ModelCounter::unknown(self.name) };
        let images = self.entry.and_then(|entry| entry.images).or(family.images);
        ModelCounter::new(
            self.name,
            family.vocabulary,
            family.factor,
            images,
            family.framing.into(),
        )
    }

    /// Returns the cost of a call.
    pub fn cost(&self, usage: &Usage) -> Option<Cost> {
        Some(Cost::of_usage(usage, self.prices()?, &self.table.currency))
    }

    /// Returns the cost of `input` and `output` tokens if nothing is cached.
    pub fn cost_of(&self, input: TokenCount, output: TokenCount) -> Option<Cost> {
        Some(Cost::of_counts(input, output, self.prices()?, &self.table.currency))
    }
}
