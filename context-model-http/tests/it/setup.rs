//! Endpoints follow the environment, or explicit settings.

use context_core::model::LanguageModel;
use context_model_http::{Endpoint, HttpEmbedder, HttpError, HttpModel, SetupError};

fn variables<'v>(set: &'v [(&'v str, &'v str)]) -> impl Fn(&str) -> Option<String> + 'v {
    move |name| set.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned())
}

fn address(endpoint: Endpoint) -> String {
    let text = format!("{endpoint:?}");
    text.split('"').nth(1).unwrap().to_owned()
}

#[test]
fn the_environment_names_services_and_keys() {
    let openai = |set: &[(&str, &str)]| Endpoint::openai_from(variables(set)).map(address);
    assert_eq!(openai(&[("OPENAI_API_KEY", "k")]).unwrap(), "https://api.openai.com/v1");
    let local = ("OPENAI_BASE_URL", "http://localhost:8000/v1");
    assert_eq!(openai(&[local]).unwrap(), "http://localhost:8000/v1");
    for set in [&[][..], &[("OPENAI_API_KEY", " \n")], &[("OPENAI_ORG_ID", "o")]] {
        let refused = openai(set).unwrap_err();
        assert!(matches!(refused, SetupError::MissingVariable { variable: "OPENAI_API_KEY" }));
    }

    let anthropic = |set: &[(&str, &str)]| Endpoint::anthropic_from(variables(set)).map(address);
    assert_eq!(anthropic(&[("ANTHROPIC_API_KEY", "k")]).unwrap(), "https://api.anthropic.com/v1");
    assert_eq!(
        anthropic(&[("ANTHROPIC_AUTH_TOKEN", "k")]).unwrap(),
        "https://api.anthropic.com/v1"
    );
    for given in ["https://a.example", "https://a.example/", "https://a.example/v1"] {
        assert_eq!(anthropic(&[("ANTHROPIC_BASE_URL", given)]).unwrap(), "https://a.example/v1");
    }
    let refused = anthropic(&[]).unwrap_err();
    assert_eq!(refused.to_string(), "ANTHROPIC_API_KEY is not set");

    let gemini = |set: &[(&str, &str)]| Endpoint::gemini_from(variables(set)).map(address);
    let google = "https://generativelanguage.googleapis.com/v1beta";
    for key in ["GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        assert_eq!(gemini(&[(key, "k")]).unwrap(), google);
    }
    for (given, used) in [
        ("https://a.example", "https://a.example/v1beta"),
        ("https://a.example/v1beta/", "https://a.example/v1beta"),
        ("https://a.example/gemini/v1", "https://a.example/gemini/v1"),
    ] {
        assert_eq!(gemini(&[("GOOGLE_GEMINI_BASE_URL", given)]).unwrap(), used);
    }
    assert_eq!(gemini(&[]).unwrap_err().to_string(), "GEMINI_API_KEY is not set");
}

#[tokio::test]
async fn what_the_environment_says_is_sent() {
    let server = crate::served(crate::talkative("openai")).await;
    let url = format!("{}/v1", server.url());
    let set = [
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", crate::KEY),
        ("OPENAI_ORG_ID", "org-1"),
        ("OPENAI_PROJECT_ID", "proj-1"),
    ];
    let model =
        HttpModel::chat("a-model", Endpoint::openai_from(variables(&set)).unwrap()).unwrap();
    let _ = crate::complete(&model).await.unwrap();
    let seen = server.requests().remove(0);
    assert_eq!(seen.header("openai-organization"), Some("org-1"));
    assert_eq!(seen.header("openai-project"), Some("proj-1"));
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_sent() {
    for address in ["", "localhost:11434", "http://10.0.0.5:8000/v1"] {
        let refused = HttpModel::chat("m", Endpoint::at(address)).unwrap_err();
        assert!(matches!(refused, SetupError::Http(_)), "{address}");
    }
    let refused = HttpModel::messages("m", Endpoint::anthropic("bad\nkey")).unwrap_err();
    assert!(matches!(refused, SetupError::Http(HttpError::BadHeader { number: 0 })));
    let named = HttpModel::responses("gpt-5", Endpoint::openai("k")).unwrap();
    assert_eq!((named.name(), named.codec().name()), ("gpt-5", "openai-responses"));
}

/// The case: an address that was copied with its path led to requests for
/// `…/chat/completions/chat/completions`, and the only error was 404.
#[test]
fn an_address_with_the_path_and_a_model_without_a_name_are_refused_with_what_to_do() {
    for path in [
        "chat/completions",
        "completions/",
        "responses",
        "messages?beta=true",
        "embeddings",
        "models/m:generateContent",
        "models/m:streamGenerateContent?alt=sse",
    ] {
        let refused =
            HttpModel::chat("m", Endpoint::at(format!("https://a.example/v1/{path}"))).unwrap_err();
        assert!(matches!(refused, SetupError::FullPath { .. }), "{path}: {refused}");
    }
    let set = [("ANTHROPIC_BASE_URL", "https://a.example/v1/messages"), ("ANTHROPIC_API_KEY", "k")];
    let refused =
        HttpModel::messages("m", Endpoint::anthropic_from(variables(&set)).unwrap()).unwrap_err();
    let said = "the address ends in `v1/messages`, which the client appends: leave it out, as in `https://api.openai.com/v1`";
    assert_eq!((refused.to_string(), format!("{refused:?}")), (said.to_owned(), said.to_owned()));
    for address in
        ["https://responses", "https://a.example/my-responses", "https://a.example/messages"]
    {
        assert!(HttpModel::chat("m", Endpoint::at(address)).is_ok(), "{address}");
    }
    let nameless = [
        HttpModel::chat(" ", Endpoint::openai("k")).map(drop),
        HttpEmbedder::new("", Endpoint::openai("k")).map(drop),
    ];
    for refused in nameless {
        assert!(matches!(refused.unwrap_err(), SetupError::EmptyName { .. }));
    }
}
