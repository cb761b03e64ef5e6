//! The address of a service.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use crate::{HttpError, Request};

/// The base address of all requests. It shows neither credentials nor query.
#[derive(Clone)]
pub(crate) struct Address(Url);

impl Address {
    /// Parses an address. An address with credentials is refused: they would be shown wherever
    /// addresses are.
    pub(crate) fn read(text: &str, allow_plain_http: bool) -> Result<Self, HttpError> {
        let bad = |why| Err(HttpError::BadAddress { why });
        let Ok(url) = Url::parse(text.trim()) else { return bad("it cannot be read") };
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return bad("its scheme is neither http nor https");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return bad("it holds credentials; give them as a header");
        }
        let address = Self(url);
        if address.is_plain() && !address.is_loopback() && !allow_plain_http {
            return Err(HttpError::PlainHttp { address: address.to_string() });
        }
        Ok(address)
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Returns whether the address is on this machine, whatever a resolver says.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let ip: Result<IpAddr, _> = host.trim_start_matches('[').trim_end_matches(']').parse();
        match ip {
            Ok(IpAddr::V6(ip)) => {
                ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|mapped| mapped.is_loopback())
            }
            Ok(IpAddr::V4(ip)) => ip.is_loopback(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }

    /// Returns the address of a request below this one: its segments are appended to the path, its
    /// query to the query.
    pub(crate) fn of(&self, request: &Request) -> Result<Url, HttpError> {
        let mut url = self.0.clone();
        {
            // An HTTP address always has a path.
            let Ok(mut path) = url.path_segments_mut() else {
                return Err(HttpError::BadAddress { why: "it has no path" });
            };
            path.pop_if_empty();
            for segment in request.segments() {
                // These segments would leave the path, or vanish.
                if matches!(segment, "" | "." | "..") {
                    return Err(HttpError::BadPath);
                }
                path.push(segment);
            }
        }
        if !request.queries().is_empty() {
            url.query_pairs_mut().extend_pairs(request.queries());
        }
        Ok(url)
    }
}

/// Returns the address in the form that may be shown.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Fails only for addresses that cannot have them.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.0))
    }
}
