//! The system prompts of a chain over time.

use std::collections::{BTreeMap, HashMap};

use context_core::store::{FragmentLog, FragmentVersion, oldest_state};
use context_core::{Chain, Result};

use super::ContextEngine;
use super::prompt::SystemPrompt;

/// The system prompt of a chat as of each node of a chain. Made by
/// [`ContextEngine::prompt_history`], or of one prompt for all nodes.
#[derive(Clone, Debug, Default)]
pub struct PromptHistory {
    /// The positions from which on another prompt was in force, in order.
    changes: Vec<(usize, PastPrompt)>,
    present: PastPrompt,
}

/// A prompt, and whether it is known to be the one of its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PastPrompt {
    /// The prompt.
    pub text: SystemPrompt,
    /// Whether the store says that it was in force then. False if it keeps no versions of
    /// fragments, or none with a time, or no longer that old ones: then the text is the oldest one
    /// that it still has.
    pub is_recorded: bool,
}

impl PromptHistory {
    /// Returns the prompt as of the node at a position.
    pub fn at(&self, position: usize) -> &PastPrompt {
        let next = self.changes.partition_point(|(from, _)| *from <= position);
        next.checked_sub(1).map_or(&self.present, |at| &self.changes[at].1)
    }

    /// Returns the prompt of now.
    pub fn present(&self) -> &PastPrompt {
        &self.present
    }
}

impl From<SystemPrompt> for PromptHistory {
    /// The same prompt at all times, of which nothing is recorded.
    fn from(text: SystemPrompt) -> Self {
        Self { changes: Vec::new(), present: PastPrompt { text, is_recorded: false } }
    }
}

impl From<String> for PromptHistory {
    fn from(text: String) -> Self {
        SystemPrompt::from(text).into()
    }
}

impl From<&str> for PromptHistory {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl ContextEngine {
    /// Returns the system prompts that the persisted fragments of this chat made at the time of
    /// each node of a chain of it: for every node the prompt of [`as_of`](Self::as_of), and that of
    /// now. Reads the fragments and their versions once, and no message. Writes nothing.
    ///
    /// Versions that the store does not have, or no longer, are no error: a prompt says whether it
    /// is [recorded](PastPrompt::is_recorded).
    pub async fn prompt_history(&self, chain: &Chain) -> Result<PromptHistory> {
        let log = match self.parts.store.fragment_log() {
            Some(log) => log.fragment_log(&self.chat).await?,
            None => {
                let fragments = self.parts.store.fragments().fragments(&self.chat).await?;
                FragmentLog::unrecorded((1..).zip(fragments))
            }
        };
        let oldest = oldest_state(log.last_number());
        let mut prompts: HashMap<u64, SystemPrompt> = HashMap::new();
        let mut prompt = |number: u64, is_kept: bool| -> Result<PastPrompt> {
            let versions = log.after(number).unwrap_or_default();
            let has_time = |version: &&FragmentVersion| version.at.is_some();
            let is_recorded = is_kept && versions.iter().all(has_time);
            if let Some(text) = prompts.get(&number) {
                return Ok(PastPrompt { text: text.clone(), is_recorded });
            }
            let text = self.prompt_of(&versions, &mut Vec::new())?;
            prompts.insert(number, text.clone());
            Ok(PastPrompt { text, is_recorded })
        };
        let is_logged = self.parts.store.fragment_log().is_some();
        let mut history = PromptHistory { changes: Vec::new(), present: PastPrompt::default() };
        history.present = prompt(log.last_number(), true)?;
        history.present.is_recorded = true;
        let numbers = Numbers::of(&log);
        let (mut of_messages, mut last) = (0, None);
        for (position, node) in chain.iter().enumerate() {
            let own = numbers.by_message.get(node.id.as_str()).copied().unwrap_or_default();
            of_messages = of_messages.max(own);
            let number = of_messages.max(numbers.at(node.created_at.as_micros()));
            if last != Some(number) {
                last = Some(number);
                let past = prompt(number.max(oldest), is_logged && number >= oldest)?;
                history.changes.push((position, past));
            }
        }
        Ok(history)
    }
}

/// The newest version by time and by message.
struct Numbers<'l> {
    by_message: HashMap<&'l str, u64>,
    /// The newest version that was written until a time.
    by_time: BTreeMap<i64, u64>,
}

impl<'l> Numbers<'l> {
    fn of(log: &'l FragmentLog) -> Self {
        let (mut by_message, mut times) = (HashMap::new(), BTreeMap::new());
        for version in log.versions() {
            if let Some(message) = &version.message {
                by_message.insert(message.as_str(), version.number);
            }
            if let Some(at) = version.at {
                times.insert(at.as_micros(), version.number);
            }
        }
        // A clock that went back does not make an older version the newest.
        let mut newest = 0;
        let newest_until = times.into_iter().map(|(at, number)| {
            newest = newest.max(number);
            (at, newest)
        });
        Self { by_message, by_time: newest_until.collect() }
    }

    fn at(&self, time: i64) -> u64 {
        self.by_time.range(..=time).next_back().map_or(0, |(_, number)| *number)
    }
}
