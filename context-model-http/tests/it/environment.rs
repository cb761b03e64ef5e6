//! A name and the environment choose a model's wire form, service and key.

use context_core::model::{LanguageModel, ModelErrorCode as Code};
use context_model_http::{HttpModel, Retries, SetupError};
use context_simulator::ProviderFault;

use crate::{complete, served, simulator, stream, talkative};

/// The wire forms that a name chooses, each with a name, and its variables of key and address.
const CHOICES: [(&str, &str, &str, &str); 3] = [
    ("anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    ("gemini", "gemini-2.5-flash", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    ("openai", "gpt-5", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
];

fn variables<'v>(set: &'v [(&'v str, &'v str)]) -> impl Fn(&str) -> Option<String> + 'v {
    move |name| set.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned())
}

#[tokio::test]
async fn a_name_reaches_its_provider_with_the_key_of_the_environment() {
    for (form, name, key, base_url) in CHOICES {
        let server = served(talkative(form)).await;
        let version = if form == "openai" { "/v1" } else { "" };
        let url = format!("{}{version}", server.url());
        let set = [(key, crate::KEY), (base_url, url.as_str())];
        let model = HttpModel::from_variables(name, variables(&set)).unwrap();
        assert_eq!((model.name(), model.codec().name()), (name, form));
        assert!(complete(&model).await.unwrap().complete, "{form}");
        assert!(stream(&model).await.0.unwrap().complete, "{form}");
    }
}

#[test]
fn a_name_chooses_the_wire_form_and_no_prefix_does() {
    let set = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("GOOGLE_API_KEY", "k")];
    for (name, form) in [
        ("claude-opus-4-1", "anthropic"),
        ("Claude-Opus-4-1", "anthropic"),
        ("gemini-3-pro-preview", "gemini"),
        ("gpt-5", "openai"),
        ("llama3.2", "openai"),
        // Names of gateways.
        ("anthropic/claude-sonnet-4.5", "openai"),
        ("google/gemini-2.5-pro", "openai"),
        ("openai/gpt-5", "openai"),
        ("meta-llama/llama-3-70b-instruct", "openai"),
    ] {
        let model = HttpModel::from_variables(name, variables(&set)).unwrap();
        assert_eq!((model.name(), model.codec().name()), (name, form));
    }
}

#[test]
fn a_missing_variable_is_named_with_the_model_and_what_to_do() {
    for (form, name, key, base_url) in CHOICES {
        let refused = HttpModel::from_variables(name, |_| None).unwrap_err();
        assert!(matches!(
            &refused,
            SetupError::MissingKey { model, variable, base_url: address }
                if model == name && *variable == key && *address == base_url
        ));
        let text = refused.to_string();
        let begins = format!(
            "{key} is not set, and the model {name} needs it: set it, or {base_url} for a service without a key"
        );
        assert!(text.starts_with(&begins), "{text}");
        assert_eq!(text.contains("`Endpoint::openai_from_env`"), form != "openai", "{text}");
    }
    let nameless = HttpModel::from_variables(" ", |_| None).unwrap_err();
    assert!(matches!(nameless, SetupError::EmptyName { kind: "model" }));
}

#[tokio::test]
async fn a_model_of_the_environment_leaves_retries_to_its_caller() {
    for (form, name, key, base_url) in CHOICES {
        let faults = [ProviderFault::Overloaded, ProviderFault::Overloaded];
        let server = served(simulator(form).script(faults)).await;
        let version = if form == "openai" { "/v1" } else { "" };
        let url = format!("{}{version}", server.url());
        let set = [(key, crate::KEY), (base_url, url.as_str())];
        let model = HttpModel::from_variables(name, variables(&set)).unwrap();
        assert_eq!(complete(&model).await.unwrap_err().code, Code::Overloaded, "{form}");
        assert_eq!(server.requests().len(), 1);
        let patient = model.retries(Retries::at_most(1).first_wait(std::time::Duration::ZERO));
        assert!(complete(&patient).await.is_ok(), "{form}");
        assert_eq!(server.requests().len(), 3);
    }
}
