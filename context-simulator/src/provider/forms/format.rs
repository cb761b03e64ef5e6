//! Formatting of values within error texts.

use std::time::Duration;

/// Formats a time to wait: `2s`, `0.250s`.
pub(super) fn seconds(wait: Duration) -> String {
    match wait.subsec_millis() {
        0 => format!("{}s", wait.as_secs()),
        millis => format!("{}.{millis:03}s", wait.as_secs()),
    }
}

/// Formats a path as most providers do: `messages[3].content[0]` as `messages.3.content.0`.
pub(super) fn dotted(path: &str) -> String {
    path.replace('[', ".").replace(']', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_with_dots_and_waits_in_seconds() {
        assert_eq!(dotted("messages[3].content[0].text"), "messages.3.content.0.text");
        assert_eq!(seconds(Duration::from_millis(34_500)), "34.500s");
        assert_eq!(seconds(Duration::from_secs(2)), "2s");
    }
}
