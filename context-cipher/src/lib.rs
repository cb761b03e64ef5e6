//! The cipher of encrypted stores: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) over the crate
//! `chacha20poly1305`, whose code is generic and so compiled by whoever calls it.
//!
//! It is a crate of its own for that reason alone: a build that optimises nothing else optimises
//! this one. Without that, tests of encrypted stores take several times as long. Keys, nonces and
//! the forms of records belong to `context-store-layers`.
//!
//! ```
//! let (key, nonce) = ([7; context_cipher::KEY_BYTES], [1; context_cipher::NONCE_BYTES]);
//! let sealed = context_cipher::seal(&key, &nonce, b"m1", b"By train.");
//! assert_eq!(sealed.len(), 9 + context_cipher::TAG_BYTES);
//! let opened = context_cipher::open(&key, &nonce, b"m1", &sealed);
//! assert_eq!(opened.as_deref(), Some(&b"By train."[..]));
//! assert_eq!(context_cipher::open(&key, &nonce, b"m2", &sealed), None);
//! ```

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};

/// The bytes of a key.
pub const KEY_BYTES: usize = 32;
/// The bytes of a nonce.
pub const NONCE_BYTES: usize = 24;
/// The bytes that sealing adds behind a text.
pub const TAG_BYTES: usize = 16;

/// Encrypts a text of less than 256 GiB, which is the limit of the cipher. It can be opened with
/// the same key, nonce and associated data only. A nonce must not be used with the same key for
/// another text.
///
/// # Panics
///
/// If the text is longer.
#[must_use]
pub fn seal(
    key: &[u8; KEY_BYTES],
    nonce: &[u8; NONCE_BYTES],
    associated: &[u8],
    text: &[u8],
) -> Vec<u8> {
    XChaCha20Poly1305::new(key.into())
        .encrypt(nonce.into(), Payload { msg: text, aad: associated })
        .expect("the text is far shorter than the cipher's own limit")
}

/// Decrypts what [`seal`] returned. `None` if anything of it, of the key, of the nonce or of the
/// associated data is not as it was.
#[must_use]
pub fn open(
    key: &[u8; KEY_BYTES],
    nonce: &[u8; NONCE_BYTES],
    associated: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    XChaCha20Poly1305::new(key.into())
        .decrypt(nonce.into(), Payload { msg: sealed, aad: associated })
        .ok()
}
