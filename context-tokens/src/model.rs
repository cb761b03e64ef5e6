//! A model, as a table describes it.

use std::time::Duration;

use context_core::model::{TokenCount, Usage};

use crate::table::{Entry, Family, ModelTable};
use crate::{CacheRules, Cost, Modalities, Modality, ModelCounter, Prices, WindowSource};

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
    pub(crate) name: &'t str,
    pub(crate) table: &'t ModelTable,
    pub(crate) entry: Option<&'t Entry>,
    pub(crate) family: Option<&'t Family>,
    /// The family whose smallest window is assumed if the model's is not listed.
    pub(crate) window_family: Option<&'t str>,
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

    /// Returns the model's window in tokens, input and output together. If the table does not list
    /// it, this is the smallest known window of the model's family, told by the name for a model
    /// that is not listed; [`window_source`](Self::window_source) says which it is. `None` for a
    /// model of no known family.
    pub fn window(&self) -> Option<u64> {
        let listed = self.entry.and_then(|entry| entry.window);
        listed.or_else(|| self.table.smallest_window(self.window_family?))
    }

    /// Returns the source of the [`window`](Self::window), if there is one.
    pub fn window_source(&self) -> Option<WindowSource> {
        if self.entry.is_some_and(|entry| entry.window.is_some()) {
            return Some(WindowSource::Table);
        }
        self.window().map(|_| WindowSource::Family)
    }

    /// Returns the most tokens that the model writes.
    pub fn max_output(&self) -> Option<u64> {
        self.entry?.max_output
    }

    /// Returns the prices.
    pub fn prices(&self) -> Option<&'t Prices> {
        self.entry?.prices.as_ref()
    }

    /// Returns the modalities of input and output. `None` if they are not known.
    pub fn modalities(&self) -> Option<Modalities> {
        let entry = self.entry?;
        let input = entry.input.as_ref()?.iter().copied();
        let output = entry.output.iter().flatten().copied();
        match entry.output {
            Some(_) => Some(Modalities::new(input, output)),
            None => Some(Modalities::new(input, [Modality::Text])),
        }
    }

    /// Returns the rules of the provider's prompt cache: those of the family, changed by those of
    /// the model. `None` if none are known.
    pub fn cache_rules(&self) -> Option<CacheRules> {
        let family = self.family.and_then(|family| family.cache.as_ref());
        let own = self.entry.and_then(|entry| entry.cache.as_ref());
        let mut forms = family.into_iter().chain(own).peekable();
        forms.peek()?;
        let mut rules = CacheRules::default();
        forms.for_each(|form| form.apply(&mut rules));
        Some(rules)
    }

    /// Returns whether the provider compacts conversations of the model on request, as far as the
    /// table knows. A gateway, whose names have a vendor in front, may not.
    pub fn compacts(&self) -> bool {
        let family = self.family.is_some_and(|family| family.compaction.is_some());
        let own = self.entry.and_then(|entry| entry.compaction);
        own.unwrap_or(family) && !self.name.contains('/')
    }

    /// Returns the price of reading a token from the cache, relative to other input.
    pub fn cache_read_share(&self) -> Option<f64> {
        let prices = self.prices().filter(|prices| prices.input > 0.0)?;
        Some(prices.cache_read.map_or(1.0, |read| read / prices.input))
    }

    /// Returns the price of writing a token to the cache, relative to other input: for the shortest
    /// lifetime that is at least `least`, or for the usual one.
    pub fn cache_write_share(&self, least: Option<Duration>) -> Option<f64> {
        let chosen = least.map(|least| self.cache_rules()?.lifetime(least));
        if let Some(lifetime) = chosen {
            return lifetime.map(|lifetime| lifetime.write);
        }
        let prices = self.prices().filter(|prices| prices.input > 0.0)?;
        Some(prices.cache_write.map_or(1.0, |write| write / prices.input))
    }

    /// Returns the address of the page that the prices are from.
    pub fn source(&self) -> Option<&'t str> {
        self.entry?.source.as_deref()
    }

    /// Returns the address of the page that window, maximum output and modalities are from.
    pub fn specification(&self) -> Option<&'t str> {
        self.entry?.specification.as_deref().or(self.source())
    }

    /// Returns a remark about the entry, such as the reason why a value is missing.
    pub fn note(&self) -> Option<&'t str> {
        self.entry?.note.as_deref()
    }

    /// Returns the date of the model's entry, or else of the table.
    pub fn as_of(&self) -> &'t str {
        let own = self.entry.and_then(|entry| entry.as_of.as_deref());
        own.unwrap_or(&self.table.as_of)
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
        let long = (usage.cache_write_long > 0).then(|| self.cache_rules()?.longest_lifetime());
        let long = long.flatten().map(|lifetime| lifetime.write);
        Some(Cost::of_usage(usage, self.prices()?, long, &self.table.currency))
    }

    /// Returns the cost of `input` and `output` tokens if nothing is cached.
    pub fn cost_of(&self, input: TokenCount, output: TokenCount) -> Option<Cost> {
        Some(Cost::of_counts(input, output, self.prices()?, &self.table.currency))
    }
}
