//! HTTP for a memory service: connections, and limits that keep one client from using up all
//! resources.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use context_core::base::CancelSource;
use context_memory::remote::{MemoryService, ServiceReply, ServiceRequest};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The number of concurrent connections. Further ones wait.
const CONNECTIONS: usize = 64;
/// The time limit for receiving a head, and for receiving a body.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves until the future is dropped, which also drops its connections.
pub(crate) async fn serve(listener: TcpListener, service: Arc<MemoryService>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        // The connection is gone already, or too many files are open. Files are closed
        // by other tasks.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let service = Arc::clone(&service);
        connections.spawn(async move {
            let handler = service_fn(move |request| {
                let service = Arc::clone(&service);
                async move { Ok::<_, Infallible>(answer(&service, request).await) }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            // A client that disconnects early is not an error.
            server.serve_connection(TokioIo::new(stream), handler).await.ok();
            drop(place);
        });
    }
}

async fn answer(service: &MemoryService, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MemoryService::MAX_BODY_BYTES).collect();
    let body = match tokio::time::timeout(PATIENCE, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return empty(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Ok(Err(_)) => return empty(StatusCode::BAD_REQUEST),
        Err(_) => return empty(StatusCode::REQUEST_TIMEOUT),
    };
    let authorization = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let request = ServiceRequest::new(head.method.as_str(), head.uri.path(), authorization, &body);
    // A client that disconnects drops this value, which cancels the work for its request.
    let cancel = CancelOnDrop::default();
    let ServiceReply { status, body, .. } = service.answer(request, &cancel.0.signal()).await;
    let mut response =
        empty(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *response.body_mut() = Full::from(body);
    response
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

#[derive(Default)]
struct CancelOnDrop(CancelSource);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
