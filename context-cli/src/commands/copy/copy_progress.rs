//! The progress of copying chats between stores.

use context_runtime::transfer::MigratePhase;

use crate::progress::Progress;

/// The progress of copying chats one after the other. The messages of a chat are read twice: sent
/// and read back, or compared with those of the chat that is there.
pub(super) struct CopyProgress<'a> {
    progress: &'a Progress,
    /// The number of messages of all chats.
    all: u64,
    /// The number of times that a message is read.
    passes: u64,
    /// The number of messages of the chats before the current one.
    before: u64,
    /// The number of messages of the current chat.
    messages: u64,
}

impl<'a> CopyProgress<'a> {
    pub(super) fn new(progress: &'a Progress, all: u64, verifies: bool) -> Self {
        progress.steps("message", usize::try_from(all).unwrap_or(usize::MAX));
        let passes = if verifies { 2 } else { 1 };
        Self { progress, all, passes, before: 0, messages: 0 }
    }

    /// Begins the next chat, which has a number of messages.
    pub(super) fn chat(&mut self, messages: u64) {
        self.before += self.messages;
        self.messages = messages;
        self.show(0, 0);
    }

    /// Reaches a number of messages of the current chat in a phase.
    pub(super) fn reach(&self, phase: MigratePhase, messages: u64) {
        let (doing, shown, read) = match phase {
            // Of both chats.
            MigratePhase::Comparing => ("comparing", messages / 2, messages),
            MigratePhase::ReadingBack => ("reading back", messages, self.messages + messages),
            _ => ("copying", messages, messages),
        };
        self.progress.now(doing);
        self.show(shown, read);
    }

    fn show(&self, messages: u64, read: u64) {
        self.progress.reach(self.before + messages);
        if self.all > 0 {
            let read = self.before * self.passes + read;
            self.progress.part(read as f64 / (self.all * self.passes) as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_read_twice_counts_twice_and_each_phase_has_its_name() {
        let progress = Progress::unseen("listing chats");
        let mut copied = CopyProgress::new(&progress, 1000, true);
        let text = || progress.text_after(Duration::from_secs(10));
        copied.chat(400);
        copied.reach(MigratePhase::Sending, 200);
        assert_eq!(text(), "copying: 200 of 1,000 messages · 1 min 30 s left · 20/s");
        copied.reach(MigratePhase::ReadingBack, 100);
        assert_eq!(text(), "reading back: 100 of 1,000 messages · 30 s left · 10/s");
        copied.chat(600);
        assert_eq!(text(), "reading back: 400 of 1,000 messages · 15 s left · 40/s");
        copied.reach(MigratePhase::Comparing, 600);
        assert_eq!(text(), "comparing: 700 of 1,000 messages · 4 s left · 70/s");

        let unverified = CopyProgress::new(&progress, 1000, false);
        unverified.reach(MigratePhase::Sending, 500);
        assert_eq!(text(), "copying: 500 of 1,000 messages · 10 s left · 50/s");
    }
}
