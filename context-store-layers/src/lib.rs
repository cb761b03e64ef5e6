//! Stores over stores.

#[cfg(feature = "encrypted")]
mod encrypted;

#[cfg(feature = "encrypted")]
pub use encrypted::{
    EncryptedStore, EncryptionKey, KeyError, KeyId, KeyRing, KeyUsage, RotateOptions, Rotated, SealError,
};
