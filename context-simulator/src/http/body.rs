//! Response bodies that arrive piece by piece and may break off.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// A body of these pieces.
#[derive(Debug)]
pub(super) struct PieceBody {
    pieces: VecDeque<Bytes>,
    /// Whether the connection breaks after the last piece.
    breaks: bool,
    /// Whether the written bytes had time to be sent.
    waited: bool,
}

impl PieceBody {
    pub(super) fn new(pieces: impl IntoIterator<Item = String>, breaks: bool) -> Self {
        Self { pieces: pieces.into_iter().map(Bytes::from).collect(), breaks, waited: false }
    }
}

impl Body for PieceBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if !self.breaks {
            return Poll::Ready(None);
        }
        // The server flushes its buffer while the body has nothing new.
        if !std::mem::replace(&mut self.waited, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("the connection breaks here"))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && !self.breaks
    }

    fn size_hint(&self) -> SizeHint {
        if self.breaks || self.pieces.len() != 1 {
            return SizeHint::default();
        }
        SizeHint::with_exact(self.pieces.iter().map(|piece| piece.len() as u64).sum())
    }
}
