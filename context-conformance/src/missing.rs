//! The reasons for which a test cannot run on a machine.

use std::fmt;
use std::panic::resume_unwind;

/// A server, a program or data that a test needs and that is not there: the reason for which the
/// test is reported as ignored.
///
/// A test of a [`TestProgram`](crate::TestProgram) ends itself with
/// [`ignore_test`](Self::ignore_test). Anywhere else, such as in a `#[test]`, that call makes the
/// test fail: it never passes without having asked anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(String);

impl Missing {
    /// Takes the reason, which names what is missing and how to have it.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// Ends the current test, which is reported as ignored, with the reason.
    ///
    /// The call unwinds, as a failed assertion does, so values are dropped. It has to come from
    /// the task of the test itself: in a spawned one it ends only that.
    #[expect(clippy::print_stderr, reason = "where the test fails instead, the reason is known")]
    pub fn ignore_test(self) -> ! {
        eprintln!("{self}");
        resume_unwind(Box::new(self))
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}
