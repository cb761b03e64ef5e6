//! Trajectories: records, and documents of other tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_core::Timestamp;
use context_core::trajectory::{AgentRef, Round, RoundRecord};
use context_trajectory::{BridgeFrom, SessionGraph, Trajectory};
use context_trajectory_export::peer::{Generation, export_round, import_round};
use context_trajectory_export::{AtifOptions, read_atif, read_otlp_json, write_atif};

use super::file::commits;

/// Checks that a sound stored round is the same when it is written and read again.
pub(crate) fn round(bytes: &[u8]) -> bool {
    let Ok(record) = serde_json::from_slice::<RoundRecord>(bytes) else { return false };
    let text = serde_json::to_string(&record).expect("what was read can be written");
    assert_eq!(
        serde_json::from_str::<RoundRecord>(&text).expect("what was written can be read"),
        record
    );
    let Ok(round) = Round::from_record(record) else { return false };
    let sound = round.to_record();
    assert_eq!(Round::from_record(sound.clone()).expect("a sound round").to_record(), sound);
    true
}

pub(crate) fn round_seeds() -> Vec<Vec<u8>> {
    let records = commits().into_iter().map(|(_, round)| round.to_record());
    records.map(|record| serde_json::to_vec(&record).expect("a record")).collect()
}

/// Checks that the rounds of a document are sound, and the same when they are written and read
/// again.
pub(crate) fn atif(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(rounds) = read_atif(text, "ada", "s") else { return false };
    let records = sorted(&rounds);
    let again = read_atif(&written(rounds), "ada", "s").expect("what was written can be read");
    assert_eq!(sorted(&again), records);
    true
}

fn sorted(rounds: &[Round]) -> BTreeMap<String, RoundRecord> {
    rounds.iter().map(|round| (format!("{:?}", round.round()), round.to_record())).collect()
}

fn written(rounds: Vec<Round>) -> String {
    let mut agents: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for round in rounds {
        agents.entry(round.round().agent.agent).or_default().push(Arc::new(round));
    }
    let agents = agents
        .into_iter()
        .map(|(agent, rounds)| (agent, Trajectory::new(rounds, BridgeFrom::Leaves)));
    let mut out = Vec::new();
    write_atif(
        &SessionGraph::new("ada", "s", agents),
        &AtifOptions::new("tester", "1.2"),
        &mut out,
    )
    .expect("memory takes what is written");
    String::from_utf8(out).expect("text")
}

pub(crate) fn atif_seeds() -> Vec<Vec<u8>> {
    let ours = commits().pop().map(|(_, round)| written(vec![round])).unwrap_or_default();
    vec![include_bytes!("../../seeds/atif.json").to_vec(), ours.into_bytes()]
}

/// Checks that the rounds of traces are sound, and the same when they are read again.
pub(crate) fn otlp(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(read) = read_otlp_json(text, "ada", None) else { return false };
    for round in &read.rounds {
        Round::from_record(round.to_record()).expect("an imported round is sound");
    }
    let again = read_otlp_json(text, "ada", None).expect("what was read can be read");
    assert_eq!(sorted(&again.rounds), sorted(&read.rounds));
    true
}

pub(crate) fn otlp_seeds() -> Vec<Vec<u8>> {
    let attribute =
        |key: &str, text: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"{text}"}}}}"#);
    let span = |id: &str, parent: &str, attributes: &[String]| {
        let attributes = attributes.join(",");
        format!(
            r#"{{"traceId":"t","spanId":"{id}","parentSpanId":"{parent}","startTimeUnixNano":"9","attributes":[{attributes}]}}"#
        )
    };
    let agent = span("a", "", &[attribute("gen_ai.operation.name", "invoke_agent")]);
    let model = span(
        "m",
        "a",
        &[
            attribute("openinference.span.kind", "LLM"),
            attribute("llm.output_messages.0.message.content", "Yes."),
            attribute("gen_ai.input.messages", r#"[{\"role\":\"user\",\"parts\":[]}]"#),
        ],
    );
    let traces =
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{agent},{model}]}}]}}]}}"#);
    vec![traces.into_bytes()]
}

/// Checks a graph in the peer's format, followed by a byte 0 and its pointers. An imported round is
/// sound and can be exported in that format.
pub(crate) fn peer(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let (graph, pointers) =
        text.split_once('\0').map_or((&*text, None), |(graph, rest)| (graph, Some(rest)));
    let round = AgentRef::main("ada", "s").round(0);
    let import = import_round(&round, graph, pointers, Timestamp::from_micros(7));
    let Some(record) = import.round else {
        assert!(!import.findings.is_empty(), "it is said why nothing was read");
        return false;
    };
    let sound = Round::from_record(record).expect("what is imported is sound").to_record();
    for generation in [Generation::First, Generation::Second] {
        let export = export_round(&sound, generation);
        let again =
            import_round(&round, &export.graph, Some(&export.pointers), Timestamp::from_micros(7));
        assert!(again.round.is_some(), "what was exported can be imported: {:?}", again.findings);
    }
    true
}

pub(crate) fn peer_seeds() -> Vec<Vec<u8>> {
    let graph = include_str!("../../seeds/peer.json");
    let pointers =
        r#"{"initial_pt": "Query(query00000)", "current_pt": ["Action(call_1)"], "messages": {}}"#;
    vec![graph.into(), format!("{graph}\0{pointers}").into()]
}
