//! Requests that do not fit are refused, with messages that can be interpreted.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use context_conformance::histories::requests;
use context_runtime::{
    Message, PROVIDERS,
    model::{ModelError, ModelErrorCode as Code, ModelRequest},
    provider,
};
use context_simulator::{ProviderFault, ReplyContent, Simulator};
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::{body, request, simulator, simulators, with_images};

/// Returns the error of a simulator for a request.
fn refused(name: &str, simulator: &Simulator, request: &ModelRequest) -> ModelError {
    let reply = simulator.send(&body(name, request));
    let error = reply.read(&*provider(name).unwrap()).expect_err("a refusal");
    let served = simulator.log().pop().unwrap();
    assert_eq!(
        (served.refused, served.status),
        (Some(error.code), reply.status),
        "{name}: {error}"
    );
    error
}

/// Returns the beginning of a PNG of this size. Nothing reads more of it.
fn png(width: u32, height: u32) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
    BASE64_STANDARD.encode(bytes)
}

#[test]
fn a_full_window_is_told_with_its_numbers() {
    for (name, all) in simulators() {
        let request = request([Message::from("word ".repeat(1_000))]);
        let error = refused(name, &all.window(500), &request);
        assert_eq!(
            (error.code, error.helped_by_compaction),
            (Code::ContextOverflow, true),
            "{name}: {error}"
        );
        let told = if name == "openai-responses" { (None, None) } else { (Some(500), Some(1_250)) };
        assert_eq!((error.window, error.input_tokens), told, "{name}: {error}");
    }
}

#[test]
fn no_room_for_the_answer_is_told_where_the_answer_counts() {
    for (name, all) in simulators() {
        let request = request([Message::from("word ".repeat(1_000))]);
        let simulator = all.window(1_400);
        if matches!(name, "openai-responses" | "gemini") {
            let answered = simulator.send(&body(name, &request)).read(&*provider(name).unwrap());
            assert!(answered.is_ok(), "{name}: {answered:?}");
            continue;
        }
        let error = refused(name, &simulator, &request);
        assert_eq!(error.code, Code::ContextOverflow, "{name}: {error}");
        assert_eq!(
            (error.window, error.input_tokens),
            (Some(1_400), Some(1_250)),
            "{name}: {error}"
        );
        assert_eq!(error.available_output_tokens, Some(150), "{name}: {error}");
    }
}

#[test]
fn too_much_output_is_told_with_the_most() {
    for (name, all) in simulators() {
        let error = refused(name, &all.max_output(150), &request([Message::from("Hello.")]));
        assert_eq!(
            (error.code, error.max_output_tokens),
            (Code::OutputTooLarge, Some(150)),
            "{name}: {error}"
        );
    }
}

#[test]
fn images_are_refused_by_number_bytes_and_pixels() {
    for (name, all) in simulators() {
        let many = request([with_images((0..4).map(|_| png(10, 10)))]);
        let error = refused(name, &all.clone().max_images(3), &many);
        assert_eq!((error.code, error.images.count), (Code::Image, Some(3)), "{name}: {error}");
        assert!(error.helped_by_fewer_images);

        // 33 bytes are 44 characters without padding, so the following text continues the encoding.
        let heavy = png(10, 10) + &"A".repeat(4 << 20);
        let heavy = request([with_images([heavy])]);
        let error = refused(name, &all.clone().max_image_bytes(2 << 20), &heavy);
        let told = (name != "gemini").then_some(2 << 20);
        assert_eq!((error.code, error.images.bytes), (Code::Image, told), "{name}: {error}");

        let wide = request([with_images([png(9_000, 10)])]);
        let error = refused(name, &all.clone().max_image_pixels(8_000), &wide);
        let told = (name == "anthropic").then_some(8_000);
        assert_eq!((error.code, error.images.pixels), (Code::Image, told), "{name}: {error}");
        let taken = all.max_images(4).max_image_bytes(5 << 20).max_image_pixels(9_000);
        for request in [many, heavy, wide] {
            assert_eq!(taken.send(&body(name, &request)).status, 200, "{name}");
        }
    }
}

#[test]
fn among_many_images_each_must_be_smaller() {
    let anthropic = simulator("anthropic");
    let images = |n: usize| request([with_images((0..n).map(|_| png(3_000, 10)))]);
    assert_eq!(anthropic.send(&body("anthropic", &images(20))).status, 200);
    let error = refused("anthropic", &anthropic, &images(21));
    assert_eq!((error.code, error.images.pixels), (Code::Image, Some(2_000)));
    assert_eq!(
        error.message,
        "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size \
         for many-image requests: 2000 pixels"
    );
}

#[test]
fn a_body_of_too_many_bytes_is_not_read() {
    for (name, all) in simulators() {
        let error =
            refused(name, &all.max_request_bytes(99), &request([Message::from("x".repeat(100))]));
        assert_eq!(error.code, Code::RequestTooLarge, "{name}: {error}");
        assert!(error.helped_by_compaction && error.helped_by_fewer_images);
    }
}

#[test]
fn what_passes_says_when_to_come_back() {
    let wait = Duration::from_millis(34_500);
    let script = [
        ProviderFault::RateLimit { retry_after: Some(wait) },
        ProviderFault::Overloaded,
        ProviderFault::Server,
    ];
    for (name, all) in simulators() {
        let simulator = all.script(script);
        let request = request([Message::from("Hello.")]);
        for (code, waits) in
            [(Code::RateLimit, Some(wait)), (Code::Overloaded, None), (Code::Server, None)]
        {
            let error = refused(name, &simulator, &request);
            assert_eq!((error.code, error.retry_after), (code, waits), "{name}: {error}");
            assert!(error.retryable);
        }
        assert_eq!(simulator.send(&body(name, &request)).status, 200);
    }
}

#[test]
fn a_rate_without_a_wait_is_a_rate() {
    for (name, all) in simulators() {
        let simulator = all.script([ProviderFault::RateLimit { retry_after: None }]);
        let error = refused(name, &simulator, &request([Message::from("Hello.")]));
        assert_eq!((error.code, error.retry_after), (Code::RateLimit, None), "{name}: {error}");
    }
}

#[test]
fn what_is_scripted_is_refused_although_it_would_fit() {
    let script = [
        ProviderFault::Overflow,
        ProviderFault::OutputTooLarge,
        ProviderFault::ImageTooLarge,
        ProviderFault::SignatureRefused,
    ];
    for (name, all) in simulators() {
        let simulator = all.window(10_000).script(script);
        let request = request([Message::from("Hello.")]);
        let overflow = refused(name, &simulator, &request);
        assert_eq!(overflow.code, Code::ContextOverflow, "{name}: {overflow}");
        if name != "openai-responses" {
            assert_eq!(
                (overflow.window, overflow.input_tokens),
                (Some(10_000), Some(10_001)),
                "{name}"
            );
        }
        let output = refused(name, &simulator, &request);
        assert_eq!(
            (output.code, output.max_output_tokens),
            (Code::OutputTooLarge, Some(100)),
            "{name}: {output}"
        );
        assert_eq!(refused(name, &simulator, &request).code, Code::Image, "{name}");
        assert_eq!(refused(name, &simulator, &request).code, Code::InvalidRequest, "{name}");
        assert_eq!(simulator.send(&body(name, &request)).status, 200, "{name}");
        let faults: Vec<_> = simulator.log().iter().map(|served| served.fault).collect();
        assert_eq!(
            faults,
            script.map(Some).into_iter().chain([None]).collect::<Vec<_>>(),
            "{name}"
        );
    }
}

fn config() -> Config {
    let cases =
        if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { 48 };
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_fits_is_taken_and_one_token_more_is_not((request, _) in requests()) {
        for name in PROVIDERS {
            let codec = provider(name).unwrap();
            let Ok(lowered) = codec.lower(&request) else { continue };
            let all = simulator(name);
            let first = all.send(lowered.body.as_str());
            prop_assert_eq!(first.status, 200, "{}: {:?}", name, first.content);
            let served = all.log().pop().unwrap();
            let lifted = codec.lift(&lowered.body).unwrap().request;
            let output = lifted.max_output_tokens.filter(|_| matches!(*name,
                "openai" | "anthropic"));
            let (input, needed) = (served.input.unwrap(),
                served.input.unwrap() + output.unwrap_or(0));

            let fits = all.clone().window(needed).send(lowered.body.as_str());
            prop_assert_eq!(fits.status, 200, "{}: {:?}", name, fits.content);
            if needed == 1 {
                // A window of 0 is not valid, and an error that names it is not read as a window.
                continue;
            }
            let refused = all.window(needed - 1).send(lowered.body.as_str());
            let error = refused.read(&*codec).unwrap_err();
            prop_assert_eq!(error.code, Code::ContextOverflow, "{}", error);
            if *name != "openai-responses" {
                prop_assert_eq!((error.window, error.input_tokens),
                    (Some(needed - 1), Some(input)));
            }
        }
    }

    #[test]
    fn nothing_that_is_sent_makes_it_fall(text in "\\PC{0,60}",
        at in any::<prop::sample::Index>()) {
        for (name, all) in simulators() {
            let whole = body(name, &request([Message::from(text.as_str()), Message::from("x")]));
            let cut: String = whole.chars().take(at.index(whole.chars().count())).collect();
            for sent in [text.as_str(), cut.as_str(), "{}", "[]", "null"] {
                let reply = all.send(sent);
                let error = reply.read(&*provider(name).unwrap()).unwrap_err();
                prop_assert_eq!(error.code, Code::InvalidRequest, "{}: {}", name, error);
                prop_assert!(matches!(reply.content, ReplyContent::Body(_)));
            }
        }
    }
}
