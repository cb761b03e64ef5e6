//! One life, told by everything alike: a session with an overflow, a refused image, a broken
//! stream, a spilled result, a sub-agent and a cancelled turn. The provider's own books, the
//! reports of the turns, the recorded nodes, the exported traces, the metrics and the history agree
//! on every call, token and cent.

use context_runtime::trajectory::export::otlp::{OtlpOptions, write_otlp_json};
use context_runtime::trajectory::{Measures, TrajectoryNode};
use context_runtime::{
    CancelSource, Media, MediaSource, Message, Part, ToolCall, ToolContext, ToolFunction,
    TurnReport, tokens,
};

use super::*;
use crate::kit::store;

/// The numbers that everybody has to agree on.
#[derive(Debug, Default, PartialEq)]
struct Books {
    input: u64,
    output: u64,
    cache_read: u64,
    /// Hundred-millionths of a dollar, because sums of cents differ in the last bit.
    cost: i64,
}

fn cost(usd: f64) -> i64 {
    (usd * 1e8).round() as i64
}

/// Returns what the provider has reported. It names the output of an answer in its last event, and
/// one token in its first: all that anybody else knows of a broken one.
fn of_provider(model: &Simulator) -> Books {
    let table = tokens::ModelTable::builtin().model(MODEL);
    let mut books = Books::default();
    let mut usd = 0.0;
    for served in model.log().iter().filter(|served| served.status == 200) {
        let mut usage = context_runtime::model::Usage::default();
        usage.cache_read = served.cache_read;
        usage.cache_write = served.cache_write;
        usage.input = served.input.unwrap() - served.cache_read - served.cache_write;
        let is_broken = matches!(served.fault, Some(ProviderFault::BrokenStream { .. }));
        usage.output = if is_broken { 1 } else { served.output };
        books.input += usage.total_input();
        books.output += usage.output;
        books.cache_read += usage.cache_read;
        usd += table.cost(&usage).unwrap().amount;
    }
    books.cost = cost(usd);
    books
}

fn of_reports(reports: &[TurnReport]) -> Books {
    let mut books = Books::default();
    for report in reports {
        books.input += report.usage.total_input();
        books.output += report.usage.output;
        books.cache_read += report.usage.cache_read;
    }
    books.cost = cost(reports.iter().filter_map(|report| report.cost_usd).sum());
    books
}

fn of_nodes<'a>(nodes: impl Iterator<Item = &'a Arc<TrajectoryNode>>) -> Books {
    let measured: Vec<_> = nodes.filter_map(|node| node.measures.clone()).collect();
    let sum = |field: fn(&Measures) -> Option<u64>| {
        measured.iter().filter_map(|measures| field(measures)).sum()
    };
    Books {
        input: sum(|measures| measures.input_tokens),
        output: sum(|measures| measures.output_tokens),
        cache_read: sum(|measures| measures.cache_read_tokens),
        cost: cost(measured.iter().filter_map(|measures| measures.cost_usd).sum()),
    }
}

/// Adds up the usage in exported traces, which have no cost.
fn of_traces(json: &serde_json::Value) -> Books {
    let mut books = Books::default();
    let spans = json.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array().unwrap();
    for attribute in spans.iter().flat_map(|span| span["attributes"].as_array().unwrap()) {
        let count = || attribute["value"]["intValue"].as_str().unwrap().parse::<u64>().unwrap();
        match attribute["key"].as_str().unwrap() {
            "gen_ai.usage.input_tokens" => books.input += count(),
            "gen_ai.usage.output_tokens" => books.output += count(),
            "gen_ai.usage.cache_read.input_tokens" => books.cache_read += count(),
            _ => {}
        }
    }
    books
}

/// Adds up the metrics.
#[cfg(feature = "metrics")]
fn of_metrics(collector: &metrics::Collector) -> Books {
    let sum = |name, attribute| collector.sum(name, attribute).0;
    Books {
        input: sum("gen_ai.client.token.usage", "gen_ai.token.type=input") as u64,
        output: sum("gen_ai.client.token.usage", "gen_ai.token.type=output") as u64,
        cache_read: sum("context.token.cache_read", "") as u64,
        cost: cost(sum("context.cost", "")),
    }
}

/// The model of this life, by the newest question.
fn says(request: &ModelRequest) -> Vec<AnswerPiece> {
    let at = request.messages.iter().rposition(|message| message.is_request()).unwrap();
    let question = request.messages[at].plain_text().into_owned();
    let results = request.messages[at..].iter().flat_map(|message| message.tool_results()).count();
    match (&*question, results) {
        ("Read the log.", 0) => vec![AnswerPiece::call("log", json!({}))],
        ("Ask a colleague.", 0) => vec![AnswerPiece::call("colleague", json!({}))],
        ("Wait.", 0) => vec![AnswerPiece::call("wait", json!({}))],
        _ => vec![AnswerPiece::text("This is the answer to the question. It has two sentences.")],
    }
}

fn tools(source: CancelSource) -> [ToolFunction; 3] {
    let tool = |name: &str| FunctionTool::new(name, json!({"type": "object"}));
    [
        ToolFunction::with_schema(tool("log"), |call| async move {
            call.result("a line of the log\n".repeat(6_000))
        }),
        ToolFunction::with_context(
            tool("colleague"),
            |call: ToolCall, turn: ToolContext| async move {
                let mut colleague = turn.agent("colleague").await.unwrap();
                let answer = colleague.ask("How is the weather?").await.unwrap();
                call.result(answer.text())
            },
        ),
        ToolFunction::with_schema(tool("wait"), move |call| {
            source.cancel();
            async move { call.result("never") }
        }),
    ]
}

#[tokio::test]
async fn provider_reports_nodes_traces_and_history_agree() {
    let store = store().await;
    // By the number of the request: an image is refused, a stream breaks.
    let script = context_simulator::Script::default()
        .at(1, ProviderFault::ImageTooLarge)
        .at(3, ProviderFault::BrokenStream { after_events: 1 });
    let model = simulator(says).window(60_000).script(script);
    let shared: Arc<dyn LanguageModel> = Arc::new(model.clone());
    let agents = builder(&store).client(shared);
    #[cfg(feature = "metrics")]
    let collector = metrics::Collector::new();
    #[cfg(feature = "metrics")]
    let agents = agents.observer(collector.observer());
    let agents = agents.build().unwrap();
    let mut chat = chat(&agents).await;
    let mut reports = Vec::new();

    reports.push(chat.ask("Hello.").await.unwrap().report);

    let image = Part::Image(Media {
        source: MediaSource::Base64(PNG.into()),
        media_type: Some("image/png".into()),
        name: None,
        metadata: Default::default(),
    });
    let question = Message::from(vec![Part::text("What is this?"), image]);
    let seen = chat.ask(question).await.unwrap();
    assert_eq!(seen.report.attempts[0].decision.kind().as_str(), "strip_images_and_retry");
    reports.push(seen.report);

    let heard = chat.ask("Tell me.").on_text(|_| ()).await.unwrap();
    assert_eq!(heard.report.calls, 2, "the stream broke, and the request was sent again");
    reports.push(heard.report);

    let read = chat.ask("Read the log.").tools(tools(CancelSource::new())).await.unwrap();
    assert!(read.report.spilled_bytes > 100_000);
    reports.push(read.report);

    let asked = chat.ask("Ask a colleague.").tools(tools(CancelSource::new())).await.unwrap();
    reports.push(asked.report);

    // A question that the window does not hold with what came before.
    for _ in 0..20 {
        chat.set([context_runtime::user("What is the weather in Lisbon? ".repeat(300))]);
        chat.set([context_runtime::assistant("Warm. ".repeat(300))]);
    }
    let cut = chat.ask("And now?").await.unwrap();
    assert!(!cut.report.plans.is_empty() && !cut.report.attempts.is_empty());
    reports.push(cut.report);

    let source = CancelSource::new();
    let signal = source.signal();
    let cancelled = chat.ask("Wait.").tools(tools(source)).cancel(signal).await;
    assert!(cancelled.unwrap_err().is_cancelled());

    let graph = agents.trajectories().unwrap().graph("ada", "lisbon").await.unwrap();
    let nodes = of_nodes(graph.agents().flat_map(|agent| agent.nodes()));
    let provider = of_provider(&model);
    assert_eq!(nodes, provider);

    let mut written = Vec::new();
    write_otlp_json(&graph, &OtlpOptions::default(), &mut written).unwrap();
    let traces = of_traces(&serde_json::from_slice(&written).unwrap());
    assert_eq!(Books { cost: provider.cost, ..traces }, provider);
    #[cfg(feature = "metrics")]
    assert_eq!(of_metrics(&collector), provider);

    // The sub-agent and the cancelled turn report their own calls: their answers are not ours.
    let rounds = rounds(&store).await;
    let answered = rounds.iter().filter(|round| round.state() == RoundState::Closed);
    let of_answered = of_nodes(answered.flat_map(|round| round.nodes()));
    assert_eq!(of_reports(&reports), of_answered);
    assert_eq!(rounds.last().unwrap().state(), RoundState::Interrupted);

    // Each message of a turn has its node, and each node its message.
    let trajectories = store.trajectories().unwrap();
    for node in chat.engine().graph().await.unwrap().nodes {
        let Ok(message) = node.node.message() else { continue };
        let text = message.plain_text();
        if text.starts_with("What is the weather") || text.starts_with("Warm.") {
            continue; // set by the program, outside of any turn
        }
        let linked = trajectories
            .nodes_of_message(&"ada".into(), &"lisbon".into(), &node.node.id)
            .await
            .unwrap();
        assert!(!linked.is_empty(), "{} has no node", node.node.id);
    }
    // The history is valid: the provider takes it once more.
    assert_eq!(model.log().last().unwrap().violations.len(), 0);
    assert!(chat.ask("Thank you.").await.is_ok());
}

/// One pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
