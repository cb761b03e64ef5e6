//! What a request has in tokens, what it costs, and what room it leaves.

use context_core::{Budget, ModelRequest, RequestTokens, TokenCount, TokenCounter};
use serde::Serialize;

use crate::{Cost, Model};

/// What a fragment of the prompt has in tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FragmentTokens {
    /// The fragment's name.
    pub name: String,
    /// Of its text alone. The joint prompt may have a few more or less, for what stands between fragments and because
    /// tokens may reach across.
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
    /// What fits in addition, if the window is known.
    pub left: Option<TokenCount>,
    /// What the input costs if nothing is cached, if prices are known.
    pub input_cost: Option<Cost>,
    /// The day of the prices.
    pub prices_as_of: String,
}

impl Estimate {
    /// Of a request to a model. The reserve is the most the request lets the model write, else the most it writes at
    /// all, else nothing.
    pub fn new(request: &ModelRequest, counter: &dyn TokenCounter, model: &Model<'_>) -> Self {
        let reserve = request.max_output_tokens.or(model.max_output()).unwrap_or(0);
        let tokens = counter.count_request(request);
        let total = tokens.total();
        let budget = model.window().map(|window| Budget::new(window, reserve));
        Self {
            model: model.name().to_owned(),
            fragments: Vec::new(),
            request: tokens,
            total,
            budget,
            left: budget.map(|budget| budget.left(total)),
            input_cost: model.cost_of(total, TokenCount::ZERO),
            prices_as_of: model.as_of().to_owned(),
        }
    }

    /// The same within another budget than the table's.
    #[must_use]
    pub fn within(mut self, budget: Budget) -> Self {
        (self.budget, self.left) = (Some(budget), Some(budget.left(self.total)));
        self
    }

    /// The same with the fragments of its prompt: their names, and each as it was rendered.
    #[must_use]
    pub fn with_fragments<'a>(
        mut self,
        fragments: impl IntoIterator<Item = (&'a str, &'a str)>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let counted = fragments
            .into_iter()
            .map(|(name, text)| FragmentTokens { name: name.to_owned(), tokens: counter.count(text) });
        self.fragments = counted.collect();
        self
    }

    /// Whether it surely fits, surely does not, or cannot be said: the window is unknown, or lies within the interval.
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
