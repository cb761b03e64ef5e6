//! The HTTP server of the simulator.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::body::PieceBody;
use super::embeddings;
use super::port::Port;
use super::replies::{self, HttpReply};
use crate::provider::Simulator;

/// The largest body that is read, in bytes. Larger than any provider accepts.
const LONGEST_BODY: usize = 64 << 20;

/// The configuration of a server: simulators, each at the path of its provider, and embeddings.
#[derive(Clone, Default)]
#[must_use]
pub struct HttpFace {
    simulators: Vec<Simulator>,
    key: Option<String>,
    dimensions: Option<usize>,
}

impl HttpFace {
    /// Adds a provider. Replaces one of the same kind.
    pub fn simulator(mut self, simulator: Simulator) -> Self {
        self.simulators.retain(|other| other.provider() != simulator.provider());
        self.simulators.push(simulator);
        self
    }

    /// Refuses requests without this key.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Adds embeddings. `dimensions` is their length unless a request asks for another one.
    pub fn embeddings(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// If the server cannot listen on a port.
    pub async fn start(self) -> io::Result<HttpServer> {
        let requests = Arc::<Mutex<Vec<ReceivedRequest>>>::default();
        let shared = Arc::new(ServerState { face: self, requests: Arc::clone(&requests) });
        let port = Port::open(move |stream| serve(stream, Arc::clone(&shared))).await?;
        Ok(HttpServer { port, requests })
    }
}

impl fmt::Debug for HttpFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpFace")
            .field("simulators", &self.simulators)
            .field("has_key", &self.key.is_some())
            .field("dimensions", &self.dimensions)
            .finish()
    }
}

/// A running [`HttpFace`]. Dropping it closes the port and every connection.
#[derive(Debug)]
pub struct HttpServer {
    port: Port,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl HttpServer {
    /// Returns the base URL without `/v1`, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Returns the requests so far, in the order of the replies.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        locked(&self.requests).clone()
    }
}

/// A received request. `Debug` shows only the names of headers.
#[derive(Clone)]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The headers, with lowercase names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// The status of the reply.
    pub status: u16,
}

impl ReceivedRequest {
    /// Returns the value of the first header with this lowercase name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for ReceivedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let mut shown = f.debug_struct("ReceivedRequest");
        shown.field("method", &self.method).field("path", &self.path).field("headers", &headers);
        shown.field("bytes", &self.body.len()).field("status", &self.status).finish()
    }
}

struct ServerState {
    face: HttpFace,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

fn locked(requests: &Mutex<Vec<ReceivedRequest>>) -> MutexGuard<'_, Vec<ReceivedRequest>> {
    // A list of requests is consistent at any time.
    requests.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(stream: TcpStream, shared: Arc<ServerState>) {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { shared.reply(request).await }
    });
    // An error means that the client is gone, or that a reply breaks off as scripted.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl ServerState {
    async fn reply(&self, request: Request<Incoming>) -> io::Result<Response<PieceBody>> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, LONGEST_BODY).collect().await;
        let body = body.map_err(|error| io::Error::other(error.to_string()))?.to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        let reply = self.face.reply_to(
            &head.method,
            head.uri.path(),
            head.uri.query(),
            &head.headers,
            &body,
        );
        let number = {
            let headers = head.headers.iter().map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            });
            let mut requests = locked(&self.requests);
            requests.push(ReceivedRequest {
                method: head.method.to_string(),
                path: head.uri.path().to_owned(),
                headers: headers.collect(),
                body,
                status: reply.status(),
            });
            requests.len()
        };
        reply.into_response(number)
    }
}

impl HttpFace {
    fn reply_to(
        &self,
        method: &Method,
        path: &str,
        query: Option<&str>,
        headers: &HeaderMap,
        body: &str,
    ) -> HttpReply {
        let Some((provider, in_events)) = provider(path) else {
            return replies::no_such_path(path);
        };
        if *method != Method::POST {
            return replies::no_such_method(provider);
        }
        if !self.key.as_deref().is_none_or(|key| has_key(provider, key, query, headers)) {
            return replies::no_such_key(provider);
        }
        if provider == "anthropic" && !headers.contains_key("anthropic-version") {
            return replies::no_version();
        }
        if provider == EMBEDDINGS {
            return match self.dimensions {
                Some(dimensions) => embeddings::reply(body, dimensions),
                None => replies::no_such_path(path),
            };
        }
        let Some(simulator) =
            self.simulators.iter().find(|simulator| simulator.provider() == provider)
        else {
            return replies::no_such_path(path);
        };
        let reply = if in_events { simulator.stream(body) } else { simulator.send(body) };
        HttpReply::Simulated { provider, reply }
    }
}

/// The pseudo provider of `/v1/embeddings`, which belongs to no simulator.
const EMBEDDINGS: &str = "embeddings";

/// Returns the provider that the path belongs to, and whether its replies are always streamed.
fn provider(path: &str) -> Option<(&'static str, bool)> {
    Some(match path {
        "/v1/chat/completions" => ("openai", false),
        "/v1/responses" => ("openai-responses", false),
        "/v1/messages" => ("anthropic", false),
        "/v1/embeddings" => (EMBEDDINGS, false),
        _ => {
            let (_, action) = path.strip_prefix("/v1beta/models/")?.rsplit_once(':')?;
            match action {
                "generateContent" => ("gemini", false),
                "streamGenerateContent" => ("gemini", true),
                _ => return None,
            }
        }
    })
}

fn has_key(provider: &str, key: &str, query: Option<&str>, headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| {
        headers.get(name).is_some_and(|found| found.as_bytes() == value.as_bytes())
    };
    let bearer = is(AUTHORIZATION.as_str(), &format!("Bearer {key}"));
    match provider {
        "anthropic" => bearer || is("x-api-key", key),
        "gemini" => {
            let in_query =
                |query: &str| query.split('&').any(|pair| pair.strip_prefix("key=") == Some(key));
            is("x-goog-api-key", key) || query.is_some_and(in_query)
        }
        _ => bearer,
    }
}
