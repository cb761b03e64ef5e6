//! Implements `Store` for layers.

/// Implements [`Store`] for a layer that offers the abilities of the inner store and makes every
/// call itself.
///
/// The layer is a tuple struct around a value that has a method `inner`, which returns the
/// inner store, and that implements all store traits.
macro_rules! forward_store {
    ($layer:ident) => {
        #[async_trait::async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl context_core::Store for $layer {
            fn info(&self) -> context_core::store::StoreInfo {
                self.0.inner().info()
            }

            fn history(&self) -> &dyn context_core::store::HistoryStore {
                &self.0
            }

            fn fragments(&self) -> &dyn context_core::store::FragmentStore {
                &self.0
            }

            async fn open_chat(
                &self,
                chat: &context_core::ChatRef,
                branch: Option<&context_core::BranchName>,
                window: &context_core::store::Window,
            ) -> context_core::Result<Option<context_core::store::OpenedChat>> {
                let call = $crate::call::Call::of($crate::call::Operation::OpenChat, chat);
                self.0.make_call(call, || self.0.inner().open_chat(chat, branch, window)).await
            }

            fn fragment_log(&self) -> Option<&dyn context_core::store::FragmentLogStore> {
                self.0
                    .inner()
                    .fragment_log()
                    .map(|_| &self.0 as &dyn context_core::store::FragmentLogStore)
            }

            fn ref_log(&self) -> Option<&dyn context_core::store::RefLogStore> {
                self.0.inner().ref_log().map(|_| &self.0 as &dyn context_core::store::RefLogStore)
            }

            fn search(&self) -> Option<&dyn context_core::store::SearchStore> {
                self.0.inner().search().map(|_| &self.0 as &dyn context_core::store::SearchStore)
            }

            fn blobs(&self) -> Option<&dyn context_core::store::BlobStore> {
                self.0.inner().blobs().map(|_| &self.0 as &dyn context_core::store::BlobStore)
            }

            fn streams(&self) -> Option<&dyn context_core::store::StreamStore> {
                self.0.inner().streams().map(|_| &self.0 as &dyn context_core::store::StreamStore)
            }

            // Not passed to `make_call`: calls on leases are neither traced nor repeated.
            fn leases(&self) -> Option<&dyn context_core::store::LeaseStore> {
                self.0.inner().leases()
            }

            fn trajectories(&self) -> Option<&dyn context_core::store::TrajectoryStore> {
                self.0
                    .inner()
                    .trajectories()
                    .map(|_| &self.0 as &dyn context_core::store::TrajectoryStore)
            }

            fn memories(&self) -> Option<&dyn context_core::store::MemoryRecordStore> {
                self.0
                    .inner()
                    .memories()
                    .map(|_| &self.0 as &dyn context_core::store::MemoryRecordStore)
            }

            fn maintenance(&self) -> Option<&dyn context_core::store::Maintenance> {
                self.0
                    .inner()
                    .maintenance()
                    .map(|_| &self.0 as &dyn context_core::store::Maintenance)
            }

            // Not passed to `make_call`: closing is neither traced nor repeated.
            async fn close(&self) -> context_core::Result<()> {
                self.0.inner().close().await
            }
        }
    };
}
pub(crate) use forward_store;
