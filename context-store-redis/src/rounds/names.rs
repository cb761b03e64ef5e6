//! The names of rounds in the indexes of their user. Their byte order is the order of listings.
//!
//! ```text
//! session (a zero byte in it is followed by FF), zero, agent, u32::MAX - round      both as eight hex digits
//! r<name><node><message>      a node stands for a message: found by the round
//! m<message><name><node>      the same, found by the message, which is a hash of 32 digits
//! ```

use context_core::store::MessageNode;
use context_core::trajectory::{AgentRef, NodeId, RoundRef};
use context_core::{SessionId, UserId};

/// The number of bytes after the session.
const NUMBERS: usize = 16;
/// The number of bytes of a node's number.
const NODE: usize = 8;
/// The number of bytes that identify a message.
pub(crate) const MESSAGE: usize = 32;

/// Returns the prefix of the names of a session's rounds.
pub(crate) fn of_session(session: &SessionId) -> Vec<u8> {
    let mut name = Vec::with_capacity(session.as_str().len() + 1 + NUMBERS);
    for byte in session.as_str().bytes() {
        name.push(byte);
        if byte == 0 {
            name.push(0xff);
        }
    }
    name.push(0);
    name
}

/// Returns the prefix of the names of an agent's rounds.
pub(crate) fn of_agent(session: &SessionId, agent: u32) -> Vec<u8> {
    [of_session(session), hex(agent)].concat()
}

/// Returns the name of a round.
pub(crate) fn of_round(session: &SessionId, agent: u32, round: u32) -> Vec<u8> {
    [of_agent(session, agent), hex(u32::MAX - round)].concat()
}

pub(crate) fn of(round: &RoundRef) -> Vec<u8> {
    of_round(&round.agent.session, round.agent.agent, round.round)
}

/// Returns a bound after everything with this prefix.
pub(crate) fn behind(start: &[u8]) -> Vec<u8> {
    [start, &[0xff]].concat()
}

/// Parses the round of a name.
pub(crate) fn read(user: &UserId, name: &[u8]) -> Option<RoundRef> {
    let (session, numbers) = name.split_at_checked(name.len().checked_sub(NUMBERS)?)?;
    let (agent, round) = numbers.split_at(NUMBERS / 2);
    let mut text = Vec::with_capacity(session.len());
    let mut bytes = session.strip_suffix(&[0])?.iter();
    while let Some(byte) = bytes.next() {
        text.push(*byte);
        if *byte == 0 && bytes.next() != Some(&0xff) {
            return None;
        }
    }
    let agent = AgentRef::new(user.clone(), String::from_utf8(text).ok()?, number(agent)?);
    Some(agent.round(u32::MAX - number(round)?))
}

/// Returns the entry of a node's link to a message, sorted by round.
pub(crate) fn link(name: &[u8], node: NodeId, message: &str) -> Vec<u8> {
    [b"r", name, &hex(node.ordinal), message.as_bytes()].concat()
}

/// Returns the other entry of the same link, or `None` if this is not such an entry.
pub(crate) fn other_link(entry: &[u8]) -> Option<Vec<u8>> {
    let (first, rest) = entry.split_first()?;
    let (first, at) = match first {
        b'r' => (b"m", rest.len().checked_sub(MESSAGE)?),
        b'm' => (b"r", MESSAGE),
        _ => return None,
    };
    let (one, two) = rest.split_at_checked(at)?;
    Some([first, two, one].concat())
}

/// Parses the node of an entry that was found by its message.
pub(crate) fn node_of(user: &UserId, entry: &[u8]) -> Option<MessageNode> {
    let rest = entry.get(1 + MESSAGE..)?;
    let (name, node) = rest.split_at_checked(rest.len().checked_sub(NODE)?)?;
    let RoundRef { agent, round } = read(user, name)?;
    Some(MessageNode::new(agent, NodeId::new(round, number(node)?)))
}

fn hex(number: u32) -> Vec<u8> {
    format!("{number:08x}").into()
}

fn number(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round() -> impl Strategy<Value = (String, u32, u32)> {
        let session =
            prop::collection::vec(prop::sample::select(vec!['\0', '\u{1}', '0', 'a', 'ÿ']), 1..4);
        let number = prop::sample::select(vec![0, 1, 15, 16, 255, 1 << 31, u32::MAX]);
        (session.prop_map(|chars| chars.into_iter().collect()), number.clone(), number)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn names_are_read_and_sort_as_rounds_are_listed(one in round(), two in round()) {
            let name = |(session, agent, round): &(String, u32,
                u32)| of_round(&session.as_str().into(), *agent, *round);
            let (session, agent, number) = &one;
            let named = AgentRef::new("u", session.as_str(), *agent).round(*number);
            prop_assert_eq!(read(&"u".into(), &name(&one)), Some(named.clone()));
            let order = |(session, agent, round): &(String, u32, u32)| (session.clone(), *agent,
                std::cmp::Reverse(*round));
            prop_assert_eq!(name(&one).cmp(&name(&two)), order(&one).cmp(&order(&two)));
            let start = of_session(&session.as_str().into());
            let within = |name: &[u8]| *name >= start[..] && *name < behind(&start)[..];
            prop_assert!(within(&name(&one)));
            prop_assert_eq!(within(&name(&two)), one.0 == two.0);

            let message = "f".repeat(MESSAGE);
            let node = NodeId::new(*number, 7);
            let entry = link(&name(&one), node, &message);
            let other = other_link(&entry).unwrap();
            prop_assert_eq!(other_link(&other), Some(entry));
            prop_assert_eq!(node_of(&"u".into(), &other),
                Some(MessageNode::new(named.agent, node)));
        }
    }
}
