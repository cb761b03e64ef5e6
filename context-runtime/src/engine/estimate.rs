//! The token estimate of the next model call.

use context_core::model::TokenCounter;
use context_core::{ModelRequest, Result};
use context_tokens::{Estimate, Model};

use super::ContextEngine;

impl ContextEngine {
    /// Resolves, and counts the tokens of each context fragment, the joint prompt and the messages.
    /// `complete` adds the rest of the request, such as tools and the room for the answer.
    ///
    /// A [`CachedCounter`](context_tokens::CachedCounter) counts each message once, so a turn only
    /// counts new messages.
    ///
    /// ```
    /// # tokio_test(async {
    /// use context_runtime::tokens::ModelTable;
    /// use context_runtime::{ContextEngine, role, user};
    ///
    /// let store = context_runtime::open("mem:").await?;
    /// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    /// chat.set([role("You book trips."), user("Two tickets to Lisbon.")]);
    /// let model = ModelTable::builtin().model("gpt-4o");
    /// let estimate = chat.estimate(&model.counter(), &model, |request| request.max_output_tokens(1_000)).await?;
    /// assert_eq!(estimate.fragments[0].name, "role");
    /// assert!(estimate.fits().unwrap());
    /// # Ok(()) });
    /// # fn tokio_test(f: impl Future<Output = context_runtime::Result<()>>) {
    /// #     tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(f).unwrap();
    /// # }
    /// ```
    pub async fn estimate(
        &mut self,
        counter: &dyn TokenCounter,
        model: &Model<'_>,
        complete: impl FnOnce(ModelRequest) -> ModelRequest,
    ) -> Result<Estimate> {
        let request = complete(self.resolve().await?.request());
        let pieces = self.prompt_pieces().map(|piece| (piece.name, piece.text));
        Ok(Estimate::new(&request, counter, model).with_fragments(pieces, counter))
    }
}
