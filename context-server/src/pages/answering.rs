//! The answer that a model is writing, below the messages.

use axum::extract::{Path, Query, State};
use context_runtime::{Part, Role};
use maud::{Markup, html};

use crate::api::Slice;
use crate::operations::PieceInFlight;
use crate::{OperationError, Operations, content};

pub(crate) async fn answering(
    State(operations): State<Operations>,
    Path(chat): Path<String>,
    Query(slice): Query<Slice>,
) -> Result<Markup, OperationError> {
    let pieces = operations.answering(&chat, slice.branch.as_deref()).await?;
    let shown = html! {
        @if pieces.is_empty() { p class="note" { "Waiting for the model or a tool." } }
        @for piece in &pieces {
            @match piece {
                PieceInFlight::Text(text) => (content::part(&Part::text(text.as_str()),
                    Role::Assistant)),
                PieceInFlight::Thought(text) => div class="thought" { (content::plain(text)) },
                PieceInFlight::Call { tool, input } => section class="call open" {
                    header {
                        span class="dot" {} span class="tool" { (tool) }
                        span class="note" { "being written" }
                    }
                    (content::plain(input))
                },
            }
        }
    };
    Ok(shown)
}
