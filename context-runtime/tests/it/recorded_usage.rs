//! Token estimates compared with what providers reported for the same requests.

use context_runtime::tokens::{Estimate, ModelTable};
use context_runtime::{Json, PROVIDERS, Part, Tool, model::ModelRequest, provider};
use context_simulator::recordings::{exchanges, folder};

/// Whether a request is all text, so that its tokens can be counted from its body alone.
fn is_text(request: &ModelRequest) -> bool {
    let is_plain = |part: &Part| match part {
        Part::Text(_) | Part::ToolCall(_) => true,
        Part::ToolResult(result) => result.output.iter().all(|part| matches!(part, Part::Text(_))),
        _ => false,
    };
    request.tools.iter().all(|tool| matches!(tool, Tool::Function(_)))
        && request.messages.iter().all(|message| message.parts.iter().all(is_plain))
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn intervals_hold_what_providers_report() {
    let folder = folder().expect("test data");
    let mut missed = Vec::new();
    for name in PROVIDERS {
        let codec = provider(name).unwrap();
        let (mut held, mut outside, mut ratios) = (0, Vec::new(), Vec::new());
        for exchange in exchanges(&folder.join("data"), name) {
            let Ok(lifted) = codec.lift(&Json::from(&exchange.request)) else { continue };
            let answer = match exchange.events.is_empty() {
                true => codec.lift_answer(&Json::from(&exchange.answer)),
                false => {
                    let mut stream = codec.answer_stream();
                    exchange.events.iter().for_each(|event| drop(stream.push(event)));
                    Ok(stream.finish())
                }
            };
            let Some(usage) = answer.ok().and_then(|answer| answer.usage) else { continue };
            let model = lifted.request.model.clone().unwrap_or_else(|| {
                let end = exchange.uri.rsplit('/').next().unwrap_or_default();
                end.split(':').next().unwrap_or_default().to_owned()
            });
            let reported = usage.total_input();
            if !is_text(&lifted.request)
                || reported == 0
                || exchange.request.get("previous_response_id").is_some()
            {
                continue;
            }
            let model = ModelTable::builtin().model(&model);
            let estimate = Estimate::new(&lifted.request, &model.counter(), &model).total;
            ratios.push(estimate.tokens() as f64 / reported as f64);
            if (estimate.low()..=estimate.high()).contains(&reported) {
                held += 1;
            } else {
                outside.push(format!(
                    "{} {}: {estimate}, reported {reported}",
                    exchange.name,
                    model.name()
                ));
            }
        }
        ratios.sort_by(f64::total_cmp);
        let of = held + outside.len();
        if of == 0 {
            continue;
        }
        println!("{name}: {held} of {of} within the interval, median ratio {:.2}", ratios[of / 2]);
        outside.iter().for_each(|line| println!("  {line}"));
        missed.extend((held * 10 < of * 9).then_some(*name));
    }
    assert!(missed.is_empty(), "too many outside: {missed:?}");
}
