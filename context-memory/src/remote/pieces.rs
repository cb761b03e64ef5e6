//! Preparing a conversation for sending.

use std::sync::Arc;

use context_core::memory::{CapturedMessage, CapturedTurn};
use context_core::message::{Media, MediaSource, is_blank};
use context_core::{Message, Part, ToolResult};

use super::wire;

/// The largest piece of a turn in bytes, unless a single message is larger.
const PIECE_BYTES: usize = 1 << 20;
const PIECE_MESSAGES: usize = 500;
/// The number of recent messages that are sent with a question.
const RECENT: usize = 6;
const RECENT_BYTES: usize = 2_000;

/// Splits a turn into at least one piece.
pub(super) fn of_turn(turn: &CapturedTurn) -> Vec<wire::Capture> {
    let piece = || wire::Capture {
        scope: wire::Scope::from(&turn.scope),
        turn: turn.turn.clone(),
        at: turn.at,
        errored: turn.errored,
        messages: Vec::new(),
    };
    let (mut pieces, mut bytes) = (vec![piece()], 0);
    for captured in &turn.messages {
        let captured = of_message(captured);
        let length = captured.message.encode().bytes().len();
        bytes += length;
        let is_full = |piece: &wire::Capture| {
            piece.messages.len() >= PIECE_MESSAGES
                || (bytes > PIECE_BYTES && !piece.messages.is_empty())
        };
        if pieces.last().is_none_or(is_full) {
            pieces.push(piece());
            bytes = length;
        }
        if let Some(last) = pieces.last_mut() {
            last.messages.push(captured);
        }
    }
    pieces
}

fn of_message(captured: &CapturedMessage) -> wire::Captured {
    let CapturedMessage { id, message, at, speaker, .. } = captured;
    let mut sent = Message::clone(message);
    sent.parts = parts(&message.parts);
    wire::Captured { id: id.clone(), message: sent, at: *at, speaker: speaker.clone() }
}

/// Returns the parts that can be remembered, without reasoning, provider data and media bytes.
fn parts(parts: &[Part]) -> Vec<Part> {
    let sent = |part: &Part| match part {
        Part::Reasoning(_) | Part::Opaque(_) | Part::Unknown(_) => None,
        Part::ToolResult(result) => {
            let output = self::parts(&result.output);
            Some(Part::ToolResult(ToolResult { output, ..result.clone() }))
        }
        Part::Image(Media { source: MediaSource::Base64(_), .. })
        | Part::Document(Media { source: MediaSource::Base64(_), .. })
        | Part::Audio(Media { source: MediaSource::Base64(_), .. }) => None,
        part => Some(part.clone()),
    };
    parts.iter().filter_map(sent).collect()
}

/// Returns the last texts of a conversation, oldest first, each cut at its end.
pub(super) fn recent(messages: &[Arc<Message>]) -> Vec<wire::Recent> {
    let texts = messages.iter().rev().filter_map(|message| {
        let text = message.plain_text();
        let text = &text[..text.floor_char_boundary(RECENT_BYTES)];
        (!is_blank(text)).then(|| wire::Recent { role: message.role, text: text.to_owned() })
    });
    let mut texts: Vec<_> = texts.take(RECENT).collect();
    texts.reverse();
    texts
}
