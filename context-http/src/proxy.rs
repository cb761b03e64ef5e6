//! The choice of a proxy.

use std::fmt;

use crate::{HttpError, Secret};

/// Whether requests go through a proxy, and which. `Debug` does not show a proxy's address, which
/// may hold a password.
#[derive(Clone, Default)]
pub struct Proxy(pub(crate) Choice);

#[derive(Clone, Default)]
pub(crate) enum Choice {
    #[default]
    Environment,
    None,
    At(Secret),
}

impl Proxy {
    /// Uses the proxy that the environment names: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, except
    /// for hosts in `NO_PROXY`. The default. A service on this machine is called directly.
    pub fn environment() -> Self {
        Self(Choice::Environment)
    }

    /// Uses no proxy, whatever the environment says.
    pub fn none() -> Self {
        Self(Choice::None)
    }

    /// Uses the proxy at this address, such as `http://user:password@proxy.example.com:3128`, for
    /// every request.
    pub fn at(address: impl Into<Secret>) -> Self {
        Self(Choice::At(address.into()))
    }

    /// Returns the secret part of the address.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let Choice::At(address) = &self.0 else { return Vec::new() };
        let Ok(url) = reqwest::Url::parse(address.expose()) else { return Vec::new() };
        url.password().map(Secret::new).into_iter().collect()
    }

    pub(crate) fn native(&self) -> Result<Option<reqwest::Proxy>, HttpError> {
        let Choice::At(address) = &self.0 else { return Ok(None) };
        // The error would show the address.
        reqwest::Proxy::all(address.expose()).map(Some).map_err(|_| HttpError::BadProxy)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Choice::Environment => "Environment",
            Choice::None => "None",
            Choice::At(_) => "At(…)",
        })
    }
}
