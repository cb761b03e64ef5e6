//! The display form of a memory in all listings.

use context_runtime::{
    Timestamp,
    memory::{MemoryScope, RecalledMemory, Trust},
    store::{MemoryId, MemorySource, StoredMemory},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::{clean, preview, time};

/// The number of characters of a memory that are shown to people.
const SHOWN: usize = 240;

/// JSON record of `memory recall` and `memory list`: memories, then the end of the page.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(in crate::commands) enum MemoryLine<'a> {
    /// A memory.
    Memory {
        v: u32,
        /// `episode`, `fact`, `block`, or a kind defined by an application.
        kind: &'a str,
        /// The id within the scope, for `memory forget --id`.
        id: Option<&'a str>,
        /// The scope of the memory.
        #[schemars(with = "Option<serde_json::Value>")]
        scope: Option<&'a MemoryScope>,
        /// The source.
        #[schemars(with = "Option<serde_json::Value>")]
        source: Option<&'a MemorySource>,
        speaker: Option<&'a str>,
        /// The time of the memory.
        at: Option<String>,
        /// The score, comparable only within one recall. Null in lists.
        score: Option<f64>,
        /// The class of trust: `foreign`, `model`, `user` or `program`. Null if it is unknown.
        #[schemars(with = "Option<String>")]
        trust: Option<Trust>,
        /// The reason of its quarantine. Null if the memory is recalled.
        quarantine: Option<&'a str>,
        text: &'a str,
    },
    /// The end of the page.
    Page {
        v: u32,
        /// The cursor for `--after`. Null on the last page.
        next: Option<&'a str>,
    },
}

/// The shown fields of a memory.
pub(super) struct MemoryView<'a> {
    kind: &'a str,
    id: Option<&'a MemoryId>,
    scope: Option<&'a MemoryScope>,
    source: Option<&'a MemorySource>,
    speaker: Option<&'a str>,
    at: Option<Timestamp>,
    score: Option<f64>,
    trust: Option<Trust>,
    quarantine: Option<&'a str>,
    text: &'a str,
}

impl<'a> From<&'a RecalledMemory> for MemoryView<'a> {
    fn from(memory: &'a RecalledMemory) -> Self {
        Self {
            kind: &memory.kind,
            id: memory.id.as_ref(),
            scope: memory.scope.as_ref(),
            source: memory.source.as_ref(),
            speaker: memory.speaker.as_deref(),
            at: memory.at,
            score: Some(memory.score),
            trust: memory.trust,
            quarantine: None,
            text: &memory.text,
        }
    }
}

impl<'a> From<&'a StoredMemory> for MemoryView<'a> {
    fn from(stored: &'a StoredMemory) -> Self {
        let record = &stored.record;
        Self {
            kind: &record.kind,
            id: Some(&record.id),
            scope: Some(&record.scope),
            source: record.source.as_ref(),
            speaker: record.speaker.as_deref(),
            at: Some(record.at),
            score: None,
            trust: record.trust(),
            quarantine: None,
            text: &record.text,
        }
    }
}

impl<'a> MemoryView<'a> {
    /// Sets the reason of the memory's quarantine.
    pub(super) fn quarantine(mut self, reason: Option<&'a str>) -> Self {
        self.quarantine = reason;
        self
    }

    /// Writes the memory as a record, or as two lines for people.
    pub(super) fn write(&self, out: &mut Output) -> Result<(), Failure> {
        if out.is_json() {
            return out.record(&MemoryLine::Memory {
                v: 1,
                kind: self.kind,
                id: self.id.map(MemoryId::as_str),
                scope: self.scope,
                source: self.source,
                speaker: self.speaker,
                at: self.at.map(time),
                score: self.score,
                trust: self.trust,
                quarantine: self.quarantine,
                text: self.text,
            });
        }
        let mut facts = vec![out.paint(Style::Bold, clean(self.kind)).to_string()];
        facts.extend(self.at.map(|at| out.paint(Style::Dim, out.when(at)).to_string()));
        facts.extend(self.source.map(|source| {
            let message =
                source.message.as_ref().map(|message| format!(" {}", clean(message.as_str())));
            format!("{}{}", clean(source.session.as_str()), message.unwrap_or_default())
        }));
        facts.extend(self.speaker.map(|speaker| clean(speaker).into_owned()));
        facts.extend(self.scope.and_then(within).map(|scope| clean(&scope).into_owned()));
        facts.extend(self.id.map(|id| out.paint(Style::Yellow, clean(id.as_str())).to_string()));
        let is_foreign = self.trust == Some(Trust::Foreign);
        facts.extend(is_foreign.then(|| out.paint(Style::Red, "foreign").to_string()));
        facts.extend(self.quarantine.map(|reason| {
            let mark = if reason.is_empty() {
                "in quarantine".to_owned()
            } else {
                format!("in quarantine: {}", clean(reason))
            };
            out.paint(Style::Red, mark).to_string()
        }));
        out.line(facts.join(" · "))?;
        let text =
            if self.text.is_empty() { "(empty)".to_owned() } else { preview(self.text, SHOWN) };
        out.line(format_args!("    {text}"))
    }
}

/// Describes a scope without its user, who is the same for all.
fn within(scope: &MemoryScope) -> Option<String> {
    let named = [
        ("project", scope.project.as_deref()),
        ("agent", scope.agent.as_deref()),
        ("session", scope.session.as_ref().map(AsRef::as_ref)),
    ];
    let named: Vec<_> = named
        .iter()
        .filter_map(|(what, name)| name.map(|name: &str| format!("{what} {name}")))
        .collect();
    (!named.is_empty()).then(|| named.join(", "))
}
