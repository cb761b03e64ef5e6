//! Runs the conformance suite against an encrypted store over SQLite, with one file per case.

mod common;

use std::sync::Arc;

use context_store_layers::{EncryptedStore, EncryptionKey, KeyRing};

context_conformance::conformance_main!(common::Layered::new("encrypted", false, |store, _| {
    let key = EncryptionKey::from_bytes("k1", &[42; 32]).expect("a proper name");
    Ok(Arc::new(EncryptedStore::new(store, KeyRing::new(key))))
}));
