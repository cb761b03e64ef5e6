//! A key is never shown: not by values, errors or traces, and not where a service repeats it.

use std::error::Error;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use context_core::CancelSignal;
use context_core::model::{EmbedAs, Embedder, LanguageModel};
use context_http::{Proxy, Secret};
use context_model_http::{Endpoint, HttpEmbedder, HttpModel};
use context_simulator::http::Misbehaviour;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::{bad, complete, request, stream};

/// Keys that look like keys, like ordinary text, and like text that has to be escaped.
const KEYS: [&str; 4] =
    ["sk-proj-abcdefghij0123456789", "hush hush you", "p\"q\\w/0123456789", "ünïcödé-secret"];

fn shown(error: &(dyn Error + 'static)) -> String {
    let mut text = format!("{error} {error:?} {error:#?}");
    let mut next = error.source();
    while let Some(cause) = next {
        write!(text, " {cause} {cause:?}").unwrap();
        next = cause.source();
    }
    text
}

/// Returns whether a text contains a key or a good part of it.
fn gives_away(text: &str, key: &str) -> bool {
    let quoted = json!(key).to_string();
    let half: String = key.chars().skip(key.chars().count() / 2).collect();
    text.contains(key) || text.contains(quoted.trim_matches('"')) || text.contains(&half)
}

#[track_caller]
fn assert_silent(text: &str, key: &str) {
    assert!(!gives_away(text, key), "{key} is in {text}");
}

#[tokio::test]
async fn a_service_that_repeats_the_key_is_not_quoted() {
    for key in KEYS {
        for form in crate::FORMS {
            let quoted = json!(format!("You sent {key}. Why {key}?")).to_string();
            let error = format!(
                r#"{{"type":"error","error":{{"type":{quoted},"code":{quoted},"message":{quoted}}}}}"#
            );
            let failed = format!(r#"{{"type":"response.failed","response":{error}}}"#);
            let in_events = |data: &str| Misbehaviour::Says {
                status: 200,
                content_type: "text/event-stream".into(),
                body: format!("event: {key}\ndata: {data}\n\n"),
            };
            for behaves in [
                Misbehaviour::EchoesKey,
                Misbehaviour::says(400, error.clone()),
                Misbehaviour::says(200, error.clone()),
                Misbehaviour::says(500, format!("<html>{key}</html>")),
                Misbehaviour::Says { status: 200, content_type: key.into(), body: key.into() },
                Misbehaviour::says(200, format!("{{{quoted}:{quoted}}}")),
                in_events(&error),
                in_events(&failed),
                in_events(&quoted),
                in_events(&format!(
                    r#"{{"type":{quoted},"choices":[{{"finish_reason":{quoted}}}]}}"#
                )),
            ] {
                let server = bad(behaves.clone()).await;
                let model = crate::model(form, &server.url(), |e| {
                    e.key(key).with(|options| options.retries(context_http::Retries::none()))
                });
                assert_silent(&format!("{model:?} {model:#?}"), key);
                for answer in [complete(&model).await, stream(&model).await.0] {
                    let text = match &answer {
                        Err(error) => shown(error),
                        // The model's own text may be anything; the error and the diagnostics must
                        // not show the key.
                        Ok(answer) => format!("{:?} {:?}", answer.error, answer.diagnostics),
                    };
                    assert_silent(&text, key);
                }
                let endpoint = Endpoint::at(format!("{}/v1", server.url())).key(key);
                let endpoint =
                    endpoint.with(|options| options.retries(context_http::Retries::none()));
                let embedder = HttpEmbedder::new("e", endpoint).unwrap();
                let texts = ["a".to_owned()];
                if let Err(error) =
                    embedder.embed(&texts, EmbedAs::Query, &CancelSignal::never()).await
                {
                    assert_silent(&format!("{} {embedder:?}", shown(&error)), key);
                }
            }
        }
    }
}

#[test]
fn whoever_holds_a_key_does_not_show_it() {
    for key in KEYS {
        let endpoints = [
            Endpoint::openai(key),
            Endpoint::anthropic(key).bearer(key),
            Endpoint::gemini(key),
            Endpoint::at(format!("https://u:{}@a.example/v1?key={}", "hush-hush", "hush-hush"))
                .key(key),
            Endpoint::at("https://a.example").secret_header("x-key", key),
            Endpoint::at("https://a.example")
                .with(|o| o.proxy(Proxy::at(format!("http://u:{key}@p.example:1")))),
        ];
        for endpoint in endpoints {
            let text = format!("{endpoint:?} {endpoint:#?}");
            assert_silent(&text, key);
            assert!(!text.contains("hush-hush"), "{text}");
            for made in [
                HttpModel::chat("m", endpoint.clone()),
                HttpModel::generate_content("m", endpoint.clone()),
                HttpModel::messages("m", endpoint),
            ] {
                let text = match &made {
                    Ok(model) => format!("{model:?} {model:#?}"),
                    Err(error) => shown(error),
                };
                assert_silent(&text, key);
                assert!(!text.contains("hush-hush"), "{text}");
            }
        }
        assert_silent(&format!("{:?}", Secret::new(key)), key);
    }
}

/// Records every event and span, whatever its level.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<String>>);

impl Visit for Everything {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn traces_tell_of_tries_and_of_no_key() {
    let key = "sk-proj-abcdefghij0123456789";
    let everything = Everything::default();
    let guard = tracing::subscriber::set_default(everything.clone());
    let server = bad(Misbehaviour::InTurn(vec![
        Misbehaviour::says(529, key),
        Misbehaviour::Closes,
        Misbehaviour::EchoesKey,
    ]))
    .await;
    let notes = crate::Noted::default();
    let pauses = Arc::new(notes.clone());
    let model = crate::model("openai", &format!("{}/", server.url()), |e| {
        e.key(key).header("x-a", "hush-hush").with(|options| options.pauses(pauses))
    });
    let asked = request();
    model.complete(&asked, &CancelSignal::never()).await.unwrap_err();
    drop(guard);
    let text = everything.0.lock().unwrap().clone();
    assert_eq!((notes.waits().len(), text.matches("asks again").count()), (2, 2), "{text}");
    assert_silent(&text, key);
    assert!(!text.contains("hush-hush") && !text.contains("Lisbon"), "{text}");
}
