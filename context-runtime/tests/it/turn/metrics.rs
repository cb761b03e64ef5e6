//! Metrics: the instruments of the documentation, with the numbers of the reports.

use std::collections::{BTreeMap, BTreeSet};

use context_runtime::{OtelMetrics, ToolFunction};
use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, Metric, MetricData, ResourceMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};

use super::*;
use crate::kit::store;

/// A collector within the process.
pub(crate) struct Collector {
    provider: SdkMeterProvider,
    exporter: InMemoryMetricExporter,
}

/// An instrument: its kind, its unit and the names of its attributes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Instrument {
    kind: String,
    unit: String,
    attributes: BTreeSet<String>,
}

/// A measured value with its attributes, joined as `name=value`.
struct Point {
    attributes: Vec<String>,
    /// The sum of the values, and their number.
    value: (f64, u64),
}

impl Collector {
    pub(crate) fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
        Self { provider, exporter }
    }

    pub(crate) fn observer(&self) -> OtelMetrics {
        OtelMetrics::new(&self.provider.meter("context"))
    }

    fn collected(&self) -> ResourceMetrics {
        self.provider.force_flush().unwrap();
        self.exporter.get_finished_metrics().unwrap().pop().unwrap()
    }

    /// Returns the sum over the points of an instrument that have this attribute, and their number.
    pub(crate) fn sum(&self, name: &str, attribute: &str) -> (f64, u64) {
        let collected = self.collected();
        let metric = metrics(&collected).find(|metric| metric.name() == name).unwrap();
        let has = |point: &Point| {
            attribute.is_empty() || point.attributes.iter().any(|known| known == attribute)
        };
        let values = points(metric).into_iter().filter(has).map(|point| point.value);
        values.fold((0.0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }
}

fn metrics(collected: &ResourceMetrics) -> impl Iterator<Item = &Metric> {
    collected.scope_metrics().flat_map(|scope| scope.metrics())
}

fn points(metric: &Metric) -> Vec<Point> {
    macro_rules! read {
        ($data:expr) => {
            match $data {
                MetricData::Sum(sum) => {
                    let read = |point: &opentelemetry_sdk::metrics::data::SumDataPoint<_>| Point {
                        attributes: shown(point.attributes()),
                        value: (point.value() as f64, 1),
                    };
                    sum.data_points().map(read).collect()
                }
                MetricData::Histogram(histogram) => histogram
                    .data_points()
                    .map(|point| Point {
                        attributes: shown(point.attributes()),
                        value: (point.sum() as f64, point.count()),
                    })
                    .collect(),
                _ => panic!("{} is of another kind", metric.name()),
            }
        };
    }
    match metric.data() {
        AggregatedMetrics::F64(data) => read!(data),
        AggregatedMetrics::U64(data) => read!(data),
        AggregatedMetrics::I64(_) => panic!("{} is signed", metric.name()),
    }
}

fn shown<'a>(attributes: impl Iterator<Item = &'a opentelemetry::KeyValue>) -> Vec<String> {
    attributes.map(|pair| format!("{}={}", pair.key, pair.value)).collect()
}

fn kind(metric: &Metric) -> &'static str {
    match metric.data() {
        AggregatedMetrics::F64(MetricData::Histogram(_))
        | AggregatedMetrics::U64(MetricData::Histogram(_)) => "histogram",
        _ => "counter",
    }
}

/// Returns the instruments of the table on the facade's page.
fn documented() -> BTreeMap<String, Instrument> {
    let page = include_str!("../../../src/lib.rs");
    let table = page.split_once("//! | instrument |").unwrap().1;
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("//! | "));
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    rows.map(|row| {
        let cells: Vec<_> = row.split(" | ").collect();
        let instrument = Instrument {
            kind: cells[2].to_owned(),
            unit: cells[3].trim_matches('`').to_owned(),
            attributes: quoted(cells[4]),
        };
        (cells[0].trim_matches('`').to_owned(), instrument)
    })
    .collect()
}

#[tokio::test]
async fn the_metrics_are_those_that_are_documented_and_those_of_the_report() {
    let store = store().await;
    let collector = Collector::new();
    let says = |request: &ModelRequest| {
        let results = request.messages.iter().flat_map(|message| message.tool_results()).count();
        match results {
            0 => {
                vec![AnswerPiece::call("weather", json!({})), AnswerPiece::call("fails", json!({}))]
            }
            _ => vec![AnswerPiece::text("Warm.")],
        }
    };
    let model = simulator(says).window(60_000);
    let shared: Arc<dyn LanguageModel> = Arc::new(model.clone());
    let agents = builder(&store).client(shared).observer(collector.observer()).build().unwrap();
    let mut chat = chat(&agents).await;
    for _ in 0..20 {
        chat.set([context_runtime::user("What is the weather in Lisbon? ".repeat(300))]);
        chat.set([context_runtime::assistant("Warm. ".repeat(300))]);
    }
    let fails = FunctionTool::new("fails", json!({"type": "object"}));
    let tools = [
        ToolFunction::with_schema(weather(), |call| async move {
            call.result("a line of the log\n".repeat(6_000))
        }),
        ToolFunction::with_schema(fails, |_| async { panic!("no barometer") }),
    ];
    let report = chat.ask("And now?").tools(tools).await.unwrap().report;

    let collected = collector.collected();
    let mut seen = BTreeMap::new();
    for metric in metrics(&collected) {
        let attributes: BTreeSet<String> = points(metric)
            .iter()
            .flat_map(|point| &point.attributes)
            .map(|pair| {
                assert!(!pair.contains("ada") && !pair.contains("lisbon"), "{pair}");
                pair.split_once('=').unwrap().0.to_owned()
            })
            .collect();
        let (kind, unit) = (kind(metric).to_owned(), metric.unit().to_owned());
        seen.insert(metric.name().to_owned(), Instrument { kind, unit, attributes });
    }
    assert_eq!(seen, documented());

    let sum = |name: &str, attribute: &str| collector.sum(name, attribute).0;
    let tokens = |kind| sum("gen_ai.client.token.usage", &format!("gen_ai.token.type={kind}"));
    let whole = |number: u64| number as f64;
    assert_eq!(tokens("input"), whole(report.usage.total_input()));
    assert_eq!(tokens("output"), whole(report.usage.output));
    assert_eq!(sum("context.token.cache_read", ""), whole(report.usage.cache_read));
    assert!((sum("context.cost", "") - report.cost_usd.unwrap()).abs() < 1e-9);
    let calls = |attribute| collector.sum("gen_ai.client.operation.duration", attribute).1;
    assert_eq!(calls("gen_ai.operation.name=chat"), u64::from(report.calls));
    let refused = model.log().iter().filter(|served| served.status != 200).count();
    assert_eq!(calls("error.type=context_overflow"), refused as u64);
    assert_eq!(collector.sum("context.tool.duration", "").1, 2);
    assert_eq!(collector.sum("context.tool.duration", "error.type=tool_error").1, 1);
    assert_eq!(sum("context.cuts", ""), report.plans.len() as f64);
    assert_eq!(sum("context.recoveries", ""), report.attempts.len() as f64);
    assert_eq!(sum("context.spilled", ""), whole(report.spilled_bytes));
    assert!(!report.plans.is_empty() && report.spilled_bytes > 0);
}
