//! What a request has in tokens, what it costs, and what room it leaves.

use context_core::ModelRequest;
use context_core::model::{Budget, RequestTokens, TokenCount, TokenCounter};
use serde::Serialize;

use crate::{Cost, Model, WindowSource};

/// What a fragment of the prompt has in tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FragmentTokens {
    /// The fragment's name.
    pub name: String,
    /// Of its text alone. The joint prompt may have a few more or less, for what stands between
    /// fragments and because tokens may reach across.
    pub tokens: TokenCount,
}

/// What a request has in tokens, what it costs, and what room it leaves.
///
/// ```
/// use context_core::{Message, ModelRequest};
/// use context_tokens::{Estimate, ModelTable};
///
/// let model = ModelTable::builtin().model("gpt-4o");
/// let request = ModelRequest::new([Message::from("Two tickets to Lisbon.")]).max_output_tokens(1_000);
/// let estimate = Estimate::new(&request, &model.counter(), &model);
/// assert_eq!(estimate.fits(), Some(true));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The model.
    pub model: String,
    /// The fragments of the prompt, if they were given.
    pub fragments: Vec<FragmentTokens>,
    /// The parts of the request.
    pub request: RequestTokens,
    /// All of it.
    pub total: TokenCount,
    /// The window and the reserve, if the window is known.
    pub budget: Option<Budget>,
    /// Where the window comes from, if it is known.
    pub window_source: Option<WindowSource>,
    /// What fits in addition, if the window is known.
    pub left: Option<TokenCount>,
    /// What the input costs if nothing is cached, if prices are known.
    pub input_cost: Option<Cost>,
    /// The day of the prices.
    pub prices_as_of: String,
}

impl Estimate {
    /// Estimates a request to a model. The reserve is the most that the request lets the model
    /// write, else [`Model::reserve`].
    pub fn new(request: &ModelRequest, counter: &dyn TokenCounter, model: &Model<'_>) -> Self {
        let tokens = counter.count_request(request);
        let total = tokens.total();
        let reserve = |window| request.max_output_tokens.unwrap_or_else(|| model.reserve(window));
        let budget = model.window().map(|window| Budget::new(window, reserve(window)));
        Self {
            model: model.name().to_owned(),
            fragments: Vec::new(),
            request: tokens,
            total,
            budget,
            window_source: model.window_source(),
            left: budget.map(|budget| budget.left(total)),
            input_cost: model.cost_of(total, TokenCount::ZERO),
            prices_as_of: model.as_of().to_owned(),
        }
    }

    /// Returns the estimate within a budget that the caller named, whatever the table says.
    #[must_use]
    pub fn within(mut self, budget: Budget) -> Self {
        (self.budget, self.left) = (Some(budget), Some(budget.left(self.total)));
        self.window_source = Some(WindowSource::Given);
        self
    }

    /// The same with the fragments of its prompt: their names, and each as it was rendered.
    #[must_use]
    pub fn with_fragments<'a>(
        mut self,
        fragments: impl IntoIterator<Item = (&'a str, &'a str)>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let counted = fragments.into_iter().map(|(name, text)| FragmentTokens {
            name: name.to_owned(),
            tokens: counter.count(text),
        });
        self.fragments = counted.collect();
        self
    }

    /// Returns the tokens that are too many for the window: none if the request fits, or if the
    /// window is unknown.
    pub fn missing(&self) -> u64 {
        self.budget.map_or(0, |budget| self.total.tokens().saturating_sub(budget.input()))
    }

    /// Whether it surely fits, surely does not, or cannot be said: the window is unknown, or lies
    /// within the interval.
    pub fn fits(&self) -> Option<bool> {
        let room = self.budget?.input();
        if self.total.high() <= room {
            Some(true)
        } else if self.total.low() > room {
            Some(false)
        } else {
            None
        }
    }
}
