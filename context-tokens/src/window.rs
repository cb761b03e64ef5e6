//! The window of a model and its reserve for the answer: one rule for all callers that prepare
//! requests.

use context_core::model::Budget;
use serde::Serialize;

use crate::Model;

/// The reserve, in tokens, for a model whose maximum output is not known.
const ASSUMED_OUTPUT: u64 = 8_192;
/// The reserve is at most this fraction of the window (one quarter), unless the caller asks for
/// more.
const LARGEST_SHARE: u64 = 4;

/// The source of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WindowSource {
    /// The caller named it.
    Given,
    /// The table lists it for the model.
    Table,
    /// The table has no window of the model, which may not be listed at all: this is the smallest
    /// known window of the model's family.
    Family,
}

/// An error of a call that has no budget.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// The table knows no window of the model or its family, and the caller named none.
    #[error("the window of the model is not known")]
    UnknownWindow,
    /// The reserve leaves nothing of the window for input.
    #[error("a window of {window} tokens has no room beside {reserve} for the answer")]
    NoRoom {
        /// The window, in tokens.
        window: u64,
        /// The tokens reserved for the answer.
        reserve: u64,
    },
}

context_core::readable_debug!(BudgetError);

impl Model<'_> {
    /// Returns the default reserve in a window: the most tokens that the model writes, or 8,192 if
    /// that is not known, but at most a quarter of the window.
    ///
    /// ```
    /// use context_tokens::ModelTable;
    ///
    /// let model = ModelTable::builtin().model("claude-sonnet-4-5"); // writes up to 64,000
    /// assert_eq!([model.reserve(1_000_000), model.reserve(32_000)], [64_000, 8_000]);
    /// ```
    pub fn reserve(&self, window: u64) -> u64 {
        self.max_output().unwrap_or(ASSUMED_OUTPUT).min(window / LARGEST_SHARE).max(1)
    }

    /// Returns the window and the reserve of a call: the values that the caller names, otherwise
    /// the table's window and [`reserve`](Self::reserve). Set the request's maximum output to the
    /// reserve.
    ///
    /// ```
    /// use context_tokens::{Budget, BudgetError, ModelTable};
    ///
    /// let model = ModelTable::builtin().model("gpt-4o");
    /// assert_eq!(model.budget(Some(32_000), None), Ok(Budget::new(32_000, 8_000)));
    /// assert_eq!(model.budget(None, Some(500)), Ok(Budget::new(128_000, 500)));
    /// assert!(matches!(model.budget(Some(500), Some(500)), Err(BudgetError::NoRoom { .. })));
    /// ```
    pub fn budget(&self, window: Option<u64>, reserve: Option<u64>) -> Result<Budget, BudgetError> {
        let window = window.or(self.window()).ok_or(BudgetError::UnknownWindow)?;
        let reserve = reserve.unwrap_or_else(|| self.reserve(window));
        match reserve < window {
            true => Ok(Budget::new(window, reserve)),
            false => Err(BudgetError::NoRoom { window, reserve }),
        }
    }
}
