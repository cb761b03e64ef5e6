//! The reasons why a recording cannot be made or read.

use std::fmt;
use std::io;

/// The reason why a process could not be recorded, or why its recording cannot be replayed.
#[derive(Debug)]
#[non_exhaustive]
pub enum PowerError {
    /// This machine cannot record: strace is missing, or no process may be traced.
    Unavailable {
        /// The reason, in one sentence.
        reason: String,
    },
    /// A file operation of the recorder or of the replayer failed.
    Files {
        /// The operation that failed.
        operation: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The process made a system call whose effect on the disk is not modelled.
    Unsupported {
        /// The call, shortened.
        call: String,
        /// The reason.
        reason: &'static str,
    },
    /// A line of the log of strace cannot be understood.
    Unreadable {
        /// The number of the line, from 1.
        line: usize,
        /// The reason.
        reason: &'static str,
    },
    /// The recorded process failed.
    Failed {
        /// The exit status and the end of the standard error.
        output: String,
    },
}

impl PowerError {
    pub(super) fn files(operation: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Files { operation, source }
    }

    pub(super) fn unsupported(call: &str, reason: &'static str) -> Self {
        Self::Unsupported { call: call.chars().take(200).collect(), reason }
    }
}

impl fmt::Display for PowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { reason } => write!(f, "{reason}"),
            Self::Files { operation, .. } => write!(f, "{operation} failed"),
            Self::Unsupported { call, reason } => write!(f, "{reason}: {call}"),
            Self::Unreadable { line, reason } => {
                write!(f, "line {line} of the log of strace: {reason}")
            }
            Self::Failed { output } => write!(f, "the recorded process failed: {output}"),
        }
    }
}

impl std::error::Error for PowerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Files { source, .. } => Some(source),
            _ => None,
        }
    }
}
