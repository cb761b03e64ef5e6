//! Metrics in the text form of Prometheus.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The bounds of the durations in seconds.
const SECONDS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The requests that were answered. No user and no chat is in any label.
#[derive(Clone)]
pub(super) struct Metrics {
    registry: Arc<Registry>,
    requests: Family<Answered, Counter>,
    durations: Family<Route, Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: String,
    path: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    method: String,
    path: String,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("context_http");
        let requests = Family::<Answered, Counter>::default();
        let durations =
            Family::<Route, Histogram>::new_with_constructor(|| Histogram::new(SECONDS));
        registry.register("requests", "Requests that were answered", requests.clone());
        let help = "Time until the answer of a request begins";
        registry.register_with_unit("duration", help, Unit::Seconds, durations.clone());
        Self { registry: Arc::new(registry), requests, durations }
    }

    /// Counts a request.
    pub(super) fn answered(
        &self,
        method: &Method,
        path: &str,
        status: StatusCode,
        elapsed: Duration,
    ) {
        // Any word may stand for a method, and labels are kept.
        let method = match *method {
            Method::GET | Method::POST | Method::PUT | Method::PATCH | Method::DELETE => {
                method.to_string()
            }
            _ => "other".to_owned(),
        };
        let path = path.to_owned();
        let route = Route { method: method.clone(), path: path.clone() };
        self.durations.get_or_create(&route).observe(elapsed.as_secs_f64());
        self.requests.get_or_create(&Answered { method, path, status: status.as_u16() }).inc();
    }

    /// Returns the metrics as text.
    pub(super) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
