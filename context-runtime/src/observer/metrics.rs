//! Metrics of turns, through OpenTelemetry. The facade's page lists the instruments.

use std::fmt;

use context_core::model::Usage;
use context_core::runtime::TurnRef;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use super::{CallOutcome, Observer, TurnEvent};

/// Records the metrics of turns with instruments of a meter. The facade's page lists the
/// instruments and their attributes. No attribute names a user or a chat.
///
/// ```
/// use context_runtime::{Agents, OtelMetrics};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// let meter = opentelemetry::global::meter("trips"); // of the provider that the program installed
/// let agents = Agents::open("mem:")
///     .await?
///     .model("claude-sonnet-4-5")
///     .observer(OtelMetrics::new(&meter))
///     .build()?;
/// # agents.shutdown().await
/// # }
/// ```
pub struct OtelMetrics {
    tokens: Histogram<u64>,
    calls: Histogram<f64>,
    cached: Counter<u64>,
    cost: Counter<f64>,
    tools: Histogram<f64>,
    cuts: Counter<u64>,
    recoveries: Counter<u64>,
    spilled: Counter<u64>,
}

impl OtelMetrics {
    /// Creates the instruments.
    pub fn new(meter: &Meter) -> Self {
        // The buckets that the conventions for generative AI advise.
        let tokens = (0..14).map(|power| 4_f64.powi(power)).collect();
        let seconds = || (0..14).map(|power| 0.01 * 2_f64.powi(power)).collect();
        let counter = |name: &'static str, unit: &'static str, description: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(description).build()
        };
        let duration = |name: &'static str, description: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s");
            histogram.with_description(description).with_boundaries(seconds()).build()
        };
        Self {
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_unit("{token}")
                .with_description("Tokens of input and output of a call")
                .with_boundaries(tokens)
                .build(),
            calls: duration("gen_ai.client.operation.duration", "Time of a call of a model"),
            cached: counter(
                "context.token.cache_read",
                "{token}",
                "Tokens of input that were read from the provider's prompt cache",
            ),
            cost: meter
                .f64_counter("context.cost")
                .with_unit("{USD}")
                .with_description("Cost of calls whose price is known")
                .build(),
            tools: duration("context.tool.duration", "Time of a tool"),
            cuts: counter("context.cuts", "{cut}", "Plans that cut a history"),
            recoveries: counter(
                "context.recoveries",
                "{recovery}",
                "Decisions about refusals and broken answers",
            ),
            spilled: counter("context.spilled", "By", "Bytes of outputs stored as blobs"),
        }
    }

    fn spent(&self, usage: &Usage, cost_usd: Option<f64>, call: &[KeyValue]) {
        for (name, tokens) in [("input", usage.total_input()), ("output", usage.output)] {
            let kind = [KeyValue::new("gen_ai.token.type", name)];
            self.tokens.record(tokens, &[call, &kind].concat());
        }
        self.cached.add(usage.cache_read, call);
        if let Some(cost) = cost_usd {
            self.cost.add(cost, call);
        }
    }
}

impl Observer for OtelMetrics {
    fn on_event(&self, _: &TurnRef, event: &TurnEvent<'_>) {
        match *event {
            TurnEvent::CallEnded { provider, model, outcome, usage, cost_usd, elapsed, .. } => {
                let mut call = vec![
                    KeyValue::new("gen_ai.operation.name", "chat"),
                    KeyValue::new("gen_ai.provider.name", provider.to_owned()),
                    KeyValue::new("gen_ai.request.model", model.to_owned()),
                ];
                if let Some(usage) = &usage {
                    self.spent(usage, cost_usd, &call);
                }
                let error = match outcome {
                    CallOutcome::Answered => None,
                    CallOutcome::Failed(code) => Some(code.as_str()),
                    CallOutcome::Abandoned => Some("abandoned"),
                };
                call.extend(error.map(|error| KeyValue::new("error.type", error)));
                self.calls.record(elapsed.as_secs_f64(), &call);
            }
            TurnEvent::ToolEnded { name, failed, elapsed, .. } => {
                let mut tool = vec![KeyValue::new("gen_ai.tool.name", name.to_owned())];
                tool.extend(failed.then(|| KeyValue::new("error.type", "tool_error")));
                self.tools.record(elapsed.as_secs_f64(), &tool);
            }
            TurnEvent::Cut { plan } => {
                self.cuts.add(1, &[KeyValue::new("context.policy", plan.policy)]);
            }
            TurnEvent::Recovery { error, decision } => {
                let decision = KeyValue::new("context.decision", decision.kind().as_str());
                self.recoveries.add(1, &[decision, KeyValue::new("error.type", error.as_str())]);
            }
            TurnEvent::Spilled { bytes, .. } => self.spilled.add(bytes, &[]),
            _ => {}
        }
    }
}

impl fmt::Debug for OtelMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtelMetrics").finish_non_exhaustive()
    }
}
