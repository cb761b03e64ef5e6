//! Groups messages by UIMessage.

use context_core::{Message, Part, Role};

use super::super::{CONTINUES_KEY, ID_KEY};
use super::Mode;

/// The messages of one UIMessage.
#[derive(Debug)]
pub(in crate::ui) struct Group {
    /// The role; never that of tools.
    pub(super) role: Role,
    /// Their positions.
    pub(in crate::ui) members: Vec<usize>,
    /// Whether the UIMessage was read.
    is_read: bool,
}

impl Group {
    /// Returns the message that holds the kept keys of the UIMessage, if it was read.
    pub(in crate::ui) fn head<'a>(&self, messages: &[&'a Message]) -> Option<&'a Message> {
        let first = self.members.first().filter(|_| self.is_read)?;
        messages.get(*first).copied()
    }
}

/// Returns the groups of messages, in order. Results belong to the part of their call, so they
/// neither begin nor end a group.
pub(super) fn groups(messages: &[&Message], mode: Mode) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        let is_read = message.metadata.get(ID_KEY).is_some();
        let continues = message.metadata.get(CONTINUES_KEY).is_some();
        let open = groups.last_mut().filter(|group| group.role == Role::Assistant);
        match message.role {
            Role::Tool => {
                if let Some(group) = open.filter(|_| continues) {
                    group.members.push(index);
                }
                continue;
            }
            Role::Assistant if !is_read => {
                // Messages added to a UIMessage that was read are merged with it only for display.
                let joins = |group: &&mut Group| continues || mode == Mode::Send || !group.is_read;
                if let Some(group) = open.filter(joins) {
                    group.members.push(index);
                    continue;
                }
            }
            Role::User if !is_read && holds_results_only(message) => continue,
            _ => {}
        }
        groups.push(Group { role: message.role, members: vec![index], is_read });
    }
    groups
}

fn holds_results_only(message: &Message) -> bool {
    !message.is_placeholder()
        && message.parts.iter().all(|part| matches!(part, Part::ToolResult(_)))
}
