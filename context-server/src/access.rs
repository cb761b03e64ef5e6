//! Who may use the server: a token that becomes a cookie, and checks against pages of other sites.

use std::fmt;
use std::sync::Arc;

use axum::extract::{OriginalUri, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

/// The content security policy: scripts and styles of this crate, pictures within messages, and
/// nothing else, from nowhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The rules by which requests are let in.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Access {
    token: Option<Arc<str>>,
    hosts: Option<Arc<[String]>>,
}

impl Access {
    /// Lets in requests that name this machine by `localhost` or its loopback address, from this
    /// server's own pages. For a server on loopback, or behind a program's own authentication.
    pub fn loopback() -> Self {
        Self::default()
    }

    /// Requires a token: in the query of the first address, as `?token=`, and then in a cookie.
    #[must_use]
    pub fn token(mut self, token: impl Into<Arc<str>>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the host names, without ports, by which the server may be addressed. Default:
    /// `localhost`, `127.0.0.1` and `[::1]`. A page of another site that lets its own name point to
    /// this machine is refused by this.
    #[must_use]
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    fn knows_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        match &self.hosts {
            Some(hosts) => hosts.iter().any(|known| known.eq_ignore_ascii_case(name)),
            None => ["localhost", "127.0.0.1", "[::1]"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name)),
        }
    }

    /// Returns the reason to refuse a request, if there is one.
    pub(crate) fn refusal(&self, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(host) = text(header::HOST) else { return Some("the request names no host") };
        if !self.knows_host(host) {
            return Some("this server is not known by that host name");
        }
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        match text(header::ORIGIN) {
            Some(origin) => {
                let own = origin.split_once("://").is_some_and(|(_, of)| of == host);
                (!own).then_some("the request comes from a page of another site")
            }
            // Browsers name the origin of every change.
            None if !is_read
                && text(header::HeaderName::from_static("sec-fetch-site")).is_some() =>
            {
                Some("the request names no origin")
            }
            None => None,
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("has_token", &self.token.is_some()).finish_non_exhaustive()
    }
}

/// Checks a request, and adds the headers that protect every answer.
pub(crate) async fn guard(State(access): State<Access>, request: Request, next: Next) -> Response {
    let mut response = match check(&access, &request) {
        Ok(()) => next.run(request).await,
        Err(response) => *response,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

fn check(access: &Access, request: &Request) -> Result<(), Box<Response>> {
    if let Some(reason) = access.refusal(request.method(), request.headers()) {
        return Err(Box::new((StatusCode::FORBIDDEN, reason).into_response()));
    }
    let Some(token) = &access.token else { return Ok(()) };
    let name = cookie_name(request.headers());
    if cookies(request.headers()).any(|(key, value)| key == name && same(value, token)) {
        return Ok(());
    }
    let query = request.uri().query().unwrap_or_default();
    let given = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    if request.method() == Method::GET && given.is_some_and(|given| same(given, token)) {
        // The token leaves the address, so that no bookmark and no history holds it.
        let rest: Vec<&str> = query.split('&').filter(|it| !it.starts_with("token=")).collect();
        // Below the path at which the router is mounted, and never to another host.
        let original = request.extensions().get::<OriginalUri>();
        let path = original.map_or(request.uri().path(), |uri| uri.path());
        let path = format!("/{}", path.trim_start_matches('/'));
        let to = if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) };
        let cookie = format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict");
        return Err(Box::new(([(header::SET_COOKIE, cookie)], Redirect::to(&to)).into_response()));
    }
    let text = "This address needs its token: open the whole address that `context ui` printed.";
    Err(Box::new((StatusCode::UNAUTHORIZED, text).into_response()))
}

/// Returns the name of the cookie. Cookies are not kept apart by port, so the name has it: two
/// inspectors of one machine do not sign each other out.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    format!("context-{port}")
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// Compares in a time that does not depend on where the texts differ.
fn same(given: &str, token: &str) -> bool {
    given.len() == token.len()
        && given.bytes().zip(token.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
