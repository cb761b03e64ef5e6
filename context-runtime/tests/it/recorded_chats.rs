//! Conversations of other programs, sent to every provider. Each body is checked by the conformance
//! kit, and against the official types if `CONTEXT_PYTHON` names a Python that has them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use context_runtime::anthropic::messages::{self, MessagesCodec};
use context_runtime::gemini::generate::GenerateCodec;
use context_runtime::model::WireError;
use context_runtime::openai::chat::{self, ChatCodec};
use context_runtime::openai::responses::ResponsesCodec;
use context_runtime::provider_rules::check_body;
use context_runtime::wire::Lifted;
use context_runtime::{
    Json, Message,
    model::{MessageCodec, ModelRequest},
};
use context_simulator::check_with_official_clients;
use serde_json::Value;

type Lift = fn(&Json) -> Result<Lifted, WireError>;

/// A conversation and where it was found.
pub(crate) struct Chat {
    pub(crate) name: String,
    pub(crate) messages: Vec<Message>,
}

/// Returns the folder of test data: `CONTEXT_TEST_DATA`, else `shared` beside the workspace.
fn data_root() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    env::var_os("CONTEXT_TEST_DATA")
        .filter(|folder| !folder.is_empty())
        .map_or(beside, PathBuf::from)
}

/// Returns the conversations in the files of a folder. Empty if it is absent.
fn chats(folder: &str, lift: Lift, lists: fn(&str) -> Vec<Vec<Value>>) -> Vec<Chat> {
    let entries = fs::read_dir(data_root().join("data").join(folder)).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().is_some_and(|name| name != "LICENSE"));
    files.sort();
    let mut chats = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (i, list) in lists(&text).into_iter().enumerate() {
            let lifted = list.iter().map(|message| lift(&Json::from(message)).unwrap().message);
            let name = format!("{folder}/{}[{i}]", file.file_name().unwrap().to_string_lossy());
            chats.push(Chat { name, messages: lifted.collect() });
        }
    }
    chats
}

/// Returns every available conversation.
pub(crate) fn all_chats() -> Vec<Chat> {
    let tau: fn(&str) -> Vec<Vec<Value>> = |text| {
        let runs: Vec<Value> = serde_json::from_str(text).unwrap();
        runs.iter().map(|run| run["traj"].as_array().cloned().unwrap()).collect()
    };
    let swe: fn(&str) -> Vec<Vec<Value>> = |text| {
        let run: Value = serde_json::from_str(text).unwrap();
        vec![run["history"].as_array().cloned().unwrap()]
    };
    let tools: fn(&str) -> Vec<Vec<Value>> = |text| {
        let run: Value = serde_json::from_str(text).unwrap();
        let lists =
            run["answer_generation"]["train_messages"].as_array().cloned().unwrap_or_default();
        lists.iter().map(|list| list.as_array().cloned().unwrap()).collect()
    };
    let claude: fn(&str) -> Vec<Vec<Value>> = |text| {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let entries = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        vec![
            entries
                .filter(|entry| entry["message"]["role"].is_string())
                .map(|entry| entry["message"].clone())
                .collect(),
        ]
    };
    let mut all = chats("tau-bench", chat::lift, tau);
    all.extend(chats("swe-agent", chat::lift, swe));
    all.extend(chats("toolbench", chat::lift, tools));
    all.extend(chats("claude-code", messages::lift, claude));
    all
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn every_chat_is_taken_by_every_provider() {
    let chats = all_chats();
    assert!(chats.len() > 60, "{} recorded chats", chats.len());
    let codecs: [&dyn MessageCodec; 4] =
        [&ChatCodec, &ResponsesCodec, &MessagesCodec, &GenerateCodec];
    let (mut bodies, mut names) = (Vec::new(), Vec::new());
    for chat in &chats {
        let request =
            ModelRequest::new(chat.messages.clone()).model("a-model").max_output_tokens(1_000);
        for codec in codecs {
            let lowered =
                codec.lower(&request).unwrap_or_else(|error| panic!("{}: {error}", chat.name));
            let body: Value = lowered.body.parse().unwrap();
            let broken = check_body(codec.name(), &body);
            assert!(broken.is_empty(), "{} for {}: {broken:#?}", chat.name, codec.name());
            bodies.push((codec.name(), body));
            names.push(&chat.name);
        }
    }
    println!("{} chats, {} bodies", chats.len(), bodies.len());
    let borrowed: Vec<_> = bodies.iter().map(|(provider, body)| (*provider, body)).collect();
    match check_with_official_clients(&data_root(), &borrowed) {
        Ok(complaints) => {
            for ((name, (provider, _)), said) in names.iter().zip(&bodies).zip(complaints) {
                assert!(said.is_empty(), "{name} for {provider}: {said:#?}");
            }
            println!("no complaint of the other checker");
        }
        Err(absent) if absent.is_absent() => println!("without a second opinion: {absent}"),
        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    }
}
