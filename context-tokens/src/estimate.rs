//! Estimates of a request: its tokens, its cost, and the room that it leaves.

use context_core::ModelRequest;
use context_core::model::{Budget, RequestTokens, TokenCount, TokenCounter};
use serde::Serialize;

use crate::{Cost, Model, WindowSource};

/// The size of one fragment of the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FragmentTokens {
    /// The fragment's name.
    pub name: String,
    /// Tokens of its text alone. The joint prompt may have a few more or less, for the text between
    /// fragments and because a token may span two fragments.
    pub tokens: TokenCount,
}

/// The size of a request in tokens, its cost, and the room left.
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
    /// The name of the model.
    pub model: String,
    /// The fragments of the prompt, if they were given.
    pub fragments: Vec<FragmentTokens>,
    /// The parts of the request.
    pub request: RequestTokens,
    /// The whole request.
    pub total: TokenCount,
    /// The window and the reserve, if the window is known.
    pub budget: Option<Budget>,
    /// The source of the window, if it is known.
    pub window_source: Option<WindowSource>,
    /// The room left, if the window is known.
    pub left: Option<TokenCount>,
    /// The cost of the input if nothing is cached, if prices are known.
    pub input_cost: Option<Cost>,
    /// The date of the prices.
    pub prices_as_of: String,
}

impl Estimate {
    /// Estimates a request to a model. The reserve is the request's `max_output_tokens`, otherwise
    /// [`Model::reserve`].
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

    /// Returns the estimate with a budget that the caller names, whatever the table says.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        (self.budget, self.left) = (Some(budget), Some(budget.left(self.total)));
        self.window_source = Some(WindowSource::Given);
        self
    }

    /// Returns the estimate with the fragments of its prompt, each given by its name and its
    /// rendered text.
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

    /// Returns how many tokens the request is over the window: 0 if it fits, or if the window is
    /// unknown.
    pub fn missing(&self) -> u64 {
        self.budget.map_or(0, |budget| self.total.tokens().saturating_sub(budget.input()))
    }

    /// Returns whether the request fits; `None` if the window is unknown or lies within the
    /// interval.
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
