//! Tokens: who may use the service, and as which user.

use std::collections::HashMap;
use std::fmt;

use context_runtime::{UserId, limits};
use sha2::{Digest, Sha256};

/// The tokens of the users of a service. Only their hashes are held.
///
/// A file of tokens has a line for each: the user, `sha256:` and the hash in hexadecimal digits,
/// and `admin` if the token may also check and vacuum the store. Empty lines and lines that begin
/// with `#` are left out.
///
/// ```
/// use context_server::Tokens;
///
/// let line = Tokens::line("ada", "a long random text", false);
/// let tokens: Tokens = line.parse()?;
/// assert_eq!(tokens.len(), 1);
/// # Ok::<(), context_server::TokensError>(())
/// ```
#[derive(Clone, Default)]
pub struct Tokens {
    callers: HashMap<[u8; 32], Caller>,
}

/// The owner of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) user: UserId,
    pub(crate) is_admin: bool,
}

/// A line of a file of tokens that cannot be read. The line itself is not repeated, since it may
/// hold a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the tokens is not `USER sha256:HASH [admin]`")]
pub struct TokensError {
    /// The number of the line, from 1.
    pub line: usize,
}

impl Tokens {
    /// Returns the line of a token for the file.
    pub fn line(user: &str, token: &str, is_admin: bool) -> String {
        let hash: String = hash(token).iter().map(|byte| format!("{byte:02x}")).collect();
        let admin = if is_admin { " admin" } else { "" };
        format!("{user} sha256:{hash}{admin}")
    }

    /// Returns the number of tokens.
    pub fn len(&self) -> usize {
        self.callers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }

    /// Returns the owner of a token. The hash is looked up and not the token, so the time that this
    /// takes tells nothing about tokens.
    pub(crate) fn caller(&self, token: &str) -> Option<&Caller> {
        self.callers.get(&hash(token))
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl std::str::FromStr for Tokens {
    type Err = TokensError;

    fn from_str(text: &str) -> Result<Self, TokensError> {
        let mut callers = HashMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = read_line(line).ok_or(TokensError { line: at + 1 })?;
            callers.insert(read.0, read.1);
        }
        Ok(Self { callers })
    }
}

fn read_line(line: &str) -> Option<([u8; 32], Caller)> {
    let mut words = line.split_whitespace();
    let (user, hash) = (words.next()?, words.next()?.strip_prefix("sha256:")?);
    let is_admin = match words.next() {
        None => false,
        Some("admin") => true,
        Some(_) => return None,
    };
    if words.next().is_some() || limits::check_id("tokens", "user", user).is_err() {
        return None;
    }
    let mut bytes = [0; 32];
    if hash.len() != 64 || !hash.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(hash.as_bytes().chunks_exact(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some((bytes, Caller { user: user.into(), is_admin }))
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("tokens", &self.callers.len()).finish_non_exhaustive()
    }
}
