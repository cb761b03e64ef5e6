//! Writes request bodies for every provider, one JSON object per line, for a second checker to
//! read: `{"provider": "anthropic", "id": "media 17", "body": {…}}`.
//!
//! ```text
//! cargo run -p context-layer-conformance --example wire_bodies -- --seed 1 --media 6000 --histories 20000 > bodies.jsonl
//! ```
//!
//! `--media N` bodies hold damaged media, and `--histories N` come from damaged histories.
//! Violations of this crate's own provider rules are printed on standard error and make the program
//! exit with status 1.
#![allow(clippy::print_stderr, reason = "a command line program")]

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use context_codec_anthropic::messages::MessagesCodec;
use context_codec_gemini::generate::GenerateCodec;
use context_codec_kit::provider_rules::check_body;
use context_codec_openai::chat::ChatCodec;
use context_codec_openai::responses::ResponsesCodec;
use context_conformance::histories::{damaged_media, requests};
use context_core::model::WireError;
use context_core::{MessageCodec, ModelRequest};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// The codecs, each with its name here and the provider's name in the second checker.
const PROVIDERS: [(&dyn MessageCodec, &str, &str); 4] = [
    (&ChatCodec, "openai", "openai"),
    (&ResponsesCodec, "openai-responses", "openai-responses"),
    (&MessagesCodec, "anthropic", "anthropic"),
    (&GenerateCodec, "gemini", "google"),
];

fn main() -> ExitCode {
    match write(std::env::args().skip(1)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} bodies break a rule");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Writes the requested bodies. Returns how many of them break a rule.
fn write(mut args: impl Iterator<Item = String>) -> io::Result<usize> {
    let (mut seed, mut media, mut histories) = (0, 0, 0);
    while let Some(name) = args.next() {
        let number = args.next().and_then(|number| number.parse::<u64>().ok());
        let number = number.ok_or_else(|| io::Error::other(format!("{name} needs a number")))?;
        match name.as_str() {
            "--seed" => seed = number,
            "--media" => media = number,
            "--histories" => histories = number,
            _ => return Err(io::Error::other(format!("there is no {name}"))),
        }
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let of_media = damaged_media()
        .prop_map(|history| ModelRequest::new(history).model("a-model").max_output_tokens(1_000));
    let of_requests = requests().prop_map(|(request, _)| request);
    let mut wrong = bodies(&mut out, "media", &of_media, seed, media)?;
    wrong += bodies(&mut out, "history", &of_requests, seed, histories)?;
    out.flush()?;
    Ok(wrong)
}

/// Writes this many bodies, alternating between providers.
fn bodies(
    out: &mut impl Write,
    name: &str,
    requests: &impl Strategy<Value = ModelRequest>,
    seed: u64,
    count: u64,
) -> io::Result<usize> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut written, mut wrong) = (0, 0);
    for (codec, known, theirs) in PROVIDERS.into_iter().cycle() {
        if written == count {
            break;
        }
        let request = requests
            .new_tree(&mut runner)
            .map_err(|why| io::Error::other(why.to_string()))?
            .current();
        let body: Value = match codec.lower(&request) {
            Ok(lowered) => lowered.body.parse()?,
            // Nothing is left of the request, so try another one for the next provider.
            Err(WireError::NothingToSend) => continue,
            Err(error) => {
                eprintln!("{known}, {name} {written}, seed {seed}: {error}");
                wrong += 1;
                continue;
            }
        };
        let found = check_body(known, &body);
        for violation in &found {
            eprintln!("{known}, {name} {written}, seed {seed}: {violation}");
        }
        wrong += usize::from(!found.is_empty());
        writeln!(
            out,
            "{}",
            json!({"provider": theirs, "id": format!("{name} {written}"), "body": body})
        )?;
        written += 1;
    }
    Ok(wrong)
}
