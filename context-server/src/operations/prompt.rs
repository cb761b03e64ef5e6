//! The prompt of a chat: fragments, rendered and raw, system messages, and tools.

use context_runtime::model::ModelRequest;
use context_runtime::tokens::{ModelTable, TokenCounter};
use context_runtime::transcript::{TranscriptSource, request_parts};
use context_runtime::{
    Diagnostic, FORMATS, Fragment, Message, MessageId, Metadata, Part, RenderOptions, Role,
    Timestamp, Tool, renderer,
};
use serde::Serialize;

use super::Operations;
use crate::OperationError;

/// The model whose counter is used if the chat names none.
const MODEL: &str = "claude-sonnet-4-5";
/// The most system messages that are shown.
const SYSTEM: usize = 100;

/// The prompt of a chat.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PromptView {
    /// The branch.
    pub branch: String,
    /// The model whose tokens are counted.
    pub model: String,
    /// The persisted fragments, in the order of the prompt.
    pub fragments: Vec<PromptFragment>,
    /// The whole prompt in each format.
    pub formats: Vec<PromptFormat>,
    /// Other system texts: of the file that the chat was imported from, and messages.
    pub system: Vec<SystemText>,
    /// The number of system messages that are left out.
    pub more_system: usize,
    /// The tools of the file that the chat was imported from.
    pub tools: Vec<PromptTool>,
    /// Content that is left out of the prompt, with reasons.
    pub diagnostics: Vec<Diagnostic>,
}

/// A persisted fragment.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PromptFragment {
    /// The name.
    pub name: String,
    /// The id, if it has one.
    pub id: Option<String>,
    /// The kind of its stored form.
    pub kind: String,
    /// Whether it is persisted with the chat.
    pub persisted: bool,
    /// Whether any of its data is loaded when a prompt is made.
    pub lazy: bool,
    /// Whether its content is marked as untrusted.
    pub untrusted: bool,
    /// The time of its newest version, if the store keeps versions.
    pub stored_at: Option<Timestamp>,
    /// The message with which that version was stored.
    pub stored_with: Option<MessageId>,
    /// The number of versions that the store has.
    pub versions: usize,
    /// Its metadata, which is never rendered.
    pub metadata: Metadata,
    /// Its text alone, in the first format.
    pub rendered: Option<String>,
    /// The tokens of that text.
    pub tokens: Option<u64>,
    /// Its stored form.
    pub raw: Option<String>,
}

/// The whole prompt in a format.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PromptFormat {
    /// The name of the format.
    pub name: &'static str,
    /// The text. `None` if it cannot be rendered.
    pub text: Option<String>,
    /// The reason why it cannot be rendered.
    pub error: Option<String>,
    /// The tokens of the text.
    pub tokens: u64,
}

/// A system text that no fragment holds.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SystemText {
    /// The message. `None` for the system prompt of a file.
    pub message: Option<MessageId>,
    /// The parts.
    pub parts: Vec<Part>,
    /// The tokens.
    pub tokens: u64,
}

/// A tool.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PromptTool {
    /// The name. Empty for a tool that only its provider understands.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema of the input, or the tool as its provider wrote it.
    pub schema: String,
    /// The tokens of name, description and schema.
    pub tokens: u64,
}

impl Operations {
    /// Returns the prompt of a chat: what is stored of it, and what the file says that the chat was
    /// imported from.
    pub async fn prompt(
        &self,
        chat: &str,
        branch: Option<&str>,
        model: Option<&str>,
    ) -> Result<PromptView, OperationError> {
        let (found, ..) = self.chat(chat).await?;
        let newest = match model.filter(|model| !model.is_empty()) {
            Some(model) => Some(model.to_owned()),
            None => self.newest_model(chat).await?,
        };
        let model = newest.unwrap_or_else(|| MODEL.to_owned());
        let known = ModelTable::builtin().model(&model);
        let counter = known.counter();
        let mut engine = self.engine(chat, branch).await?;
        let inspection = engine.inspect().await?;
        let fragments: Vec<Fragment> = engine.fragments().cloned().collect();
        let mut view = PromptView {
            branch: inspection.branch.to_string(),
            model,
            fragments: Vec::with_capacity(fragments.len()),
            formats: formats(&fragments, &counter),
            system: Vec::new(),
            more_system: 0,
            tools: Vec::new(),
            diagnostics: inspection.diagnostics,
        };
        for (fragment, facts) in fragments.iter().zip(inspection.fragments) {
            let rendered = render(FORMATS.first().copied(), std::slice::from_ref(fragment)).ok();
            view.fragments.push(PromptFragment {
                name: facts.name,
                id: facts.id.map(|id| id.to_string()),
                kind: facts.kind.unwrap_or_default(),
                persisted: facts.persisted,
                lazy: facts.lazy,
                untrusted: facts.untrusted,
                stored_at: None,
                stored_with: None,
                versions: 0,
                metadata: fragment.metadata().clone(),
                tokens: rendered.as_deref().map(|text| counter.count(text).tokens()),
                rendered,
                raw: None,
            });
        }
        self.add_stored(&found.chat, &mut view).await?;
        // A file of a newer version still has its messages.
        if let Ok(Some(source)) = TranscriptSource::of(&found.metadata) {
            add_parts(&request_parts(&source), &counter, &mut view);
        }
        let chain = self.branch(chat, branch).await?;
        for node in chain.chain.iter().filter(|node| node.role() == Some(Role::System)) {
            let Ok(message) = node.message() else { continue };
            if view.system.len() == SYSTEM {
                view.more_system += 1;
                continue;
            }
            view.system.push(system_text(Some(node.id.clone()), message, &counter));
        }
        Ok(view)
    }

    /// Adds the stored forms of the fragments, and when they were stored.
    async fn add_stored(
        &self,
        chat: &context_runtime::ChatRef,
        view: &mut PromptView,
    ) -> Result<(), OperationError> {
        let stored = self.store.fragments().fragments(chat).await?;
        let log = match self.store.fragment_log() {
            Some(log) => log.fragment_log(chat).await?,
            None => Default::default(),
        };
        // Fragments that could not be read are stored, and not in the prompt.
        let is_complete = stored.len() == view.fragments.len();
        for (at, fragment) in view.fragments.iter_mut().enumerate() {
            let by_id = stored.iter().find(|it| {
                it.id.is_some() && it.id.as_ref().map(|id| id.as_str()) == fragment.id.as_deref()
            });
            let found = by_id.or_else(|| stored.get(at).filter(|_| is_complete));
            fragment.raw = found.map(|it| String::from_utf8_lossy(it.body.bytes()).into_owned());
            let Some(id) = &fragment.id else { continue };
            for version in log.of(&id.as_str().into()) {
                fragment.versions += 1;
                (fragment.stored_at, fragment.stored_with) = (version.at, version.message.clone());
            }
        }
        Ok(())
    }
}

fn render(
    format: Option<&str>,
    fragments: &[Fragment],
) -> Result<String, context_runtime::fragments::RenderError> {
    match format.and_then(|format| renderer(format, RenderOptions::new())) {
        Some(renderer) => renderer.render(fragments),
        None => Ok(String::new()),
    }
}

fn formats(fragments: &[Fragment], counter: &dyn TokenCounter) -> Vec<PromptFormat> {
    let formats = FORMATS.iter().map(|name| match render(Some(name), fragments) {
        Ok(text) => {
            let tokens = counter.count(&text).tokens();
            PromptFormat { name, text: Some(text), error: None, tokens }
        }
        Err(error) => PromptFormat { name, text: None, error: Some(error.to_string()), tokens: 0 },
    });
    formats.collect()
}

fn system_text(id: Option<MessageId>, message: &Message, counter: &dyn TokenCounter) -> SystemText {
    let tokens = message.parts.iter().map(|part| counter.count_part(part).tokens()).sum();
    SystemText { message: id, parts: message.parts.clone(), tokens }
}

/// Adds the system prompt and the tools of a request.
fn add_parts(request: &ModelRequest, counter: &dyn TokenCounter, view: &mut PromptView) {
    if !request.system.is_empty() {
        let message = Message::new(Role::System, request.system.iter().cloned().map(Part::Text));
        view.system.push(system_text(None, &message, counter));
    }
    for tool in &request.tools {
        let (name, description, schema) = match tool {
            Tool::Function(tool) => {
                (tool.name.clone(), tool.description.clone(), tool.input_schema.as_str().to_owned())
            }
            Tool::Opaque(block) => (String::new(), None, block.value.as_str().to_owned()),
            _ => continue,
        };
        let text = format!("{name}\n{}\n{schema}", description.as_deref().unwrap_or_default());
        let tokens = counter.count(&text).tokens();
        view.tools.push(PromptTool { name, description, schema, tokens });
    }
}
