//! Padding histories to the size that a case says they had.

use std::sync::Arc;

use context_runtime::{Message, Part};

/// Returns each message's share of the history, so that in a nearly full window `tail` messages at
/// the end stay: the one before them is larger than the room left beside them. Equal shares, if
/// `tail` is not known.
pub(super) fn shares(messages: usize, tail: Option<usize>) -> Vec<f64> {
    /// More than half of the window, of which the history takes nearly all.
    const LARGE: f64 = 0.62;
    let even = vec![1.0 / messages.max(1) as f64; messages];
    let Some(large) =
        tail.and_then(|tail| messages.checked_sub(tail + 1)).filter(|large| *large > 0)
    else {
        return even;
    };
    let small = (1.0 - LARGE) / (messages - 1) as f64;
    (0..messages).map(|at| if at == large { LARGE } else { small }).collect()
}

/// Returns the history with longer texts: `bytes` bytes in all, as far as there are texts, by the
/// share of each message.
pub(super) fn padded(messages: &[Arc<Message>], shares: &[f64], bytes: usize) -> Vec<Arc<Message>> {
    let paddable: Vec<bool> =
        messages.iter().map(|message| message.parts.iter().any(has_text)).collect();
    let sizes: Vec<usize> = messages.iter().map(|message| size(message)).collect();
    let total: f64 =
        shares.iter().zip(&paddable).filter(|(_, can)| **can).map(|(share, _)| share).sum();
    let bare: usize =
        sizes.iter().zip(&paddable).filter(|(_, can)| !**can).map(|(size, _)| size).sum();
    let room = bytes.saturating_sub(bare);
    let last = paddable.iter().rposition(|can| *can);
    let mut left = room;
    let grown = messages.iter().enumerate().map(|(at, message)| {
        if !paddable[at] {
            return Arc::clone(message);
        }
        let wanted =
            if Some(at) == last { left } else { (room as f64 * shares[at] / total) as usize };
        left = left.saturating_sub(wanted.max(sizes[at]));
        Arc::new(longer(message, wanted.saturating_sub(sizes[at])))
    });
    grown.collect()
}

fn has_text(part: &Part) -> bool {
    match part {
        Part::Text(_) => true,
        Part::ToolResult(result) => result.output.iter().any(|part| matches!(part, Part::Text(_))),
        _ => false,
    }
}

/// Returns the bytes of a message, counted at one token per byte.
fn size(message: &Message) -> usize {
    use context_core::model::TokenCounter;
    usize::try_from(super::counting::Bytes.count_message(message).tokens()).unwrap_or(usize::MAX)
}

/// Returns the message with this many more bytes in its first text.
fn longer(message: &Message, bytes: usize) -> Message {
    let mut message = message.clone();
    let filling = " .".repeat(bytes / 2) + &".".repeat(bytes % 2);
    for part in &mut message.parts {
        let text = match part {
            Part::Text(text) => Some(text),
            Part::ToolResult(result) => result.output.iter_mut().find_map(|part| match part {
                Part::Text(text) => Some(text),
                _ => None,
            }),
            _ => None,
        };
        if let Some(text) = text {
            text.text.push_str(&filling);
            break;
        }
    }
    message
}
