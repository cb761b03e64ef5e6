//! A recorded conversation, driven against an in-process provider.

use std::collections::HashSet;
use std::sync::Arc;

use context_runtime::model::ModelRequest;
use context_runtime::tokens::TokenCounter;
use context_runtime::{ContextRuntime, Message, Part, Role, ToolResultInput};
use context_simulator::ConversationReplay;
use context_simulator::conversations::Conversation;

use super::archive::Archive;
use super::chat::{CHAT, Chat, USER};
use super::facts::{Fact, asked};
use super::gemini_cli::{self, Files};
use super::provider::{Provider, Reply};
use super::sets::Set;
use super::tally::Tally;
use super::{codex, openhands};

/// The most attempts to make a refused request fit.
const TRIES: usize = 4;

/// Plays a conversation to its end.
pub(crate) async fn play(
    conversation: &Conversation,
    window: u64,
    set: Set,
    counter: &Arc<dyn TokenCounter>,
) -> Tally {
    let replay = ConversationReplay::new(conversation.messages.iter().cloned());
    let mut facts = asked(&conversation.messages);
    let mut drive = Drive::new(&replay, window, set, counter).await;
    let mut at = replay.system().len();
    while let Some(step) = replay.advance() {
        at += step.input.len();
        drive.take(step.input).await;
        let Some(answer) = step.answer else { break };
        drive.call(&facts.remove(&at).unwrap_or_default()).await;
        drive.push(Arc::clone(&answer), answer);
        at += 1;
    }
    drive.tally.cents = drive.chat.provider.cents;
    drive.tally.summarised = drive.chat.provider.summarised;
    drive.tally
}

struct Drive {
    set: Set,
    chat: Chat,
    archive: Option<Archive>,
    files: Files,
    /// The texts of the user's messages so far, with their tokens.
    words: Vec<(Arc<Message>, u64)>,
    /// The tokens of the conversation as recorded and of what precedes it, and how many were added
    /// since the last call.
    tokens: u64,
    new: u64,
    tally: Tally,
}

impl Drive {
    async fn new(
        replay: &ConversationReplay,
        window: u64,
        set: Set,
        counter: &Arc<dyn TokenCounter>,
    ) -> Self {
        let archive = match set.is_ours() {
            true => Some(Archive::open().await),
            false => None,
        };
        let mut runtime = Chat::runtime(window, counter).compaction(set.stages());
        if let Some(archive) = &archive {
            runtime = runtime.spill(archive.store());
        }
        let tools = match &archive {
            Some(archive) if set.has_tools() => archive.tools(),
            _ => Vec::new(),
        };
        let system = replay.system().iter().map(|message| message.plain_text().into_owned());
        let tokens =
            replay.system().iter().map(|message| counter.count_shared(message).tokens()).sum();
        let chat = Chat {
            provider: Provider::new(replay, window, counter),
            runtime: runtime.build().unwrap(),
            counter: Arc::clone(counter),
            window,
            system: system.collect(),
            tools,
            history: Vec::new(),
        };
        let (files, words, tally) = (Files::default(), Vec::new(), Tally::default());
        Self { set, chat, archive, files, words, tokens, new: tokens, tally }
    }

    /// Takes the input before the model answers.
    async fn take(&mut self, input: Vec<Arc<Message>>) {
        for message in input {
            if message.role == Role::User {
                let tokens = self.chat.counter.count_shared(&message).tokens();
                self.words.push((Arc::clone(&message), tokens));
            }
            let arrived = match self.set {
                _ if message.role != Role::Tool => vec![Arc::clone(&message)],
                Set::Defaults { .. } | Set::Stages { .. } => self.spilled(&message).await,
                Set::Codex => vec![codex::arrives(&message)],
                Set::GeminiCli => vec![self.files.arrives(&message)],
                Set::OpenHands => vec![openhands::arrives(&message)],
            };
            for arrived in arrived {
                self.push(Arc::clone(&message), arrived);
            }
        }
    }

    /// Returns what is stored of a message of results.
    async fn spilled(&mut self, message: &Arc<Message>) -> Vec<Arc<Message>> {
        let history = std::mem::take(&mut self.chat.history);
        let before = history.len();
        let input = ToolResultInput::new((USER, CHAT), "t", history, Message::clone(message));
        let output = self.chat.runtime.apply_tool_results(input).await.unwrap();
        self.chat.history = output.messages.into();
        self.chat.history.split_off(before)
    }

    /// Adds a message as the set keeps it; its size is that of the recorded one.
    fn push(&mut self, recorded: Arc<Message>, kept: Arc<Message>) {
        let tokens = self.chat.counter.count_shared(&recorded).tokens();
        (self.tokens, self.new) = (self.tokens + tokens, self.new + tokens);
        if let Some(archive) = &mut self.archive
            && self.set.has_tools()
        {
            archive.push(Arc::clone(&kept));
        }
        self.chat.history.push(kept);
    }

    async fn call(&mut self, facts: &[Fact]) {
        let chat = &mut self.chat;
        let mut cut = match self.set {
            Set::Defaults { .. } | Set::Stages { .. } => false,
            Set::Codex => codex::before_call(chat).await,
            Set::GeminiCli => gemini_cli::before_call(chat, &mut self.files).await,
            Set::OpenHands => openhands::before_call(chat).await,
        };
        let (mut request, mut reply) = self.send(&mut cut).await;
        for _ in 0..TRIES {
            let again = match self.set {
                _ if reply.served.is_answered() => false,
                Set::Codex => codex::refused(&mut self.chat).await,
                Set::OpenHands => openhands::refused(&mut self.chat).await,
                Set::Defaults { .. } | Set::Stages { .. } | Set::GeminiCli => false,
            };
            if !again {
                break;
            }
            cut = true;
            (request, reply) = self.send(&mut cut).await;
        }
        self.count(&reply, cut);
        self.count_words(&request);
        let answered = reply.served.is_answered().then_some(reply.body.as_str());
        for fact in self.tally.look_up(facts, answered) {
            let found = match (self.set, &mut self.archive) {
                (Set::GeminiCli, _) => answered.is_some_and(|b| self.files.holds(b, &fact.value)),
                (set, Some(archive)) if set.has_tools() => archive.finds(fact).await,
                _ => false,
            };
            self.tally.one_call_away += u64::from(found);
        }
    }

    /// Prepares the request, with a summary if a policy of ours asks for one, and sends it.
    async fn send(&mut self, cut: &mut bool) -> (ModelRequest, Reply) {
        let chat = &mut self.chat;
        let mut context = chat.prepare().await;
        *cut |= context.plans.iter().any(|plan| plan.applied);
        if let Some(task) = context.summary.take() {
            let of = (USER, CHAT).into();
            // As a `ModelCall` does: if the continued form gives none, the quoted one is tried.
            let forms = task.continued.as_deref().into_iter().chain([&task.request]);
            let mut is_summarised = false;
            for form in forms {
                let Some(answer) = chat.provider.summarize(form) else { continue };
                let accepted = chat.runtime.accept_summary(&of, &chat.history, &task, &answer);
                is_summarised = accepted.is_ok();
                if is_summarised {
                    break;
                }
            }
            *cut |= is_summarised;
            if !is_summarised {
                chat.runtime.summary_failed(&of);
            }
            context = chat.prepare().await;
        }
        let reply = chat.provider.send(&context.request);
        match &reply.answer {
            Ok(answer) => {
                let usage = answer.usage.as_ref();
                usage.inspect(|usage| chat.runtime.observe_usage(&(USER, CHAT).into(), usage));
            }
            Err(error) => {
                let counted = context.breakdown.total().tokens();
                let codes = context.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str());
                let codes = codes.collect::<Vec<_>>().join(", ");
                let text = format!("{error}; the runtime counted {counted} and reported: {codes}");
                self.tally.refusal.get_or_insert(text);
            }
        }
        (context.request, reply)
    }

    fn count(&mut self, reply: &Reply, cut: bool) {
        let (served, tally) = (&reply.served, &mut self.tally);
        tally.cuts += u64::from(cut);
        if served.is_answered() {
            let sent = served.input.unwrap_or_default();
            // The cache is always empty before the first call.
            if tally.calls > tally.refused {
                tally.reread += sent.saturating_sub(served.cache_read).saturating_sub(self.new);
            }
            (tally.uncut, tally.sent) = (tally.uncut + self.tokens.max(sent), tally.sent + sent);
            self.new = 0;
        } else {
            tally.refused += 1;
        }
        tally.calls += 1;
    }

    fn count_words(&mut self, request: &ModelRequest) {
        let sent: HashSet<&str> = request
            .messages
            .iter()
            .flat_map(|message| message.parts.iter().filter_map(text))
            .collect();
        for (message, tokens) in &self.words {
            let is_whole = message.parts.iter().filter_map(text).all(|text| sent.contains(text));
            self.tally.words[0] += tokens;
            self.tally.words[1] += if is_whole { *tokens } else { 0 };
        }
    }
}

fn text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(&text.text),
        _ => None,
    }
}
