//! Sections of a summary that are carried beside it.

use crate::prompt::heading;

/// Removes a section from a summary, and returns its entries. The text is unchanged if nothing else
/// would be left of it.
pub(crate) fn take(text: &mut String, name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let (mut rest, mut entries) = (String::with_capacity(text.len()), Vec::new());
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(found) = heading(line) {
            is_inside = found == name;
            if is_inside {
                continue;
            }
        }
        if is_inside {
            add(&mut entries, line);
        } else {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    if rest.trim().is_empty() {
        return Vec::new();
    }
    let is_none = |entry: &String| matches!(&*entry.to_lowercase(), "none" | "none." | "-");
    entries.retain(|entry| !entry.is_empty() && !is_none(entry));
    *text = rest.trim().to_owned();
    entries
}

/// Adds a line: a new entry, or the rest of the one before it.
fn add(entries: &mut Vec<String>, line: &str) {
    let text = line.trim();
    let bare = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = bare.len() < text.len() && bare.starts_with(['.', ')']);
    let entry = match text.strip_prefix(['-', '*', '•']) {
        Some(entry) => Some(entry),
        None if is_number => Some(&bare[1..]),
        None => None,
    };
    match (entry, entries.last_mut()) {
        (Some(entry), _) => entries.push(entry.trim().to_owned()),
        (None, Some(last)) if !text.is_empty() => {
            last.push(' ');
            last.push_str(text);
        }
        (None, None) if !text.is_empty() => entries.push(text.to_owned()),
        _ => {}
    }
}

/// Returns a section with these entries; nothing without entries.
pub(crate) fn written(name: &str, entries: &[String]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let lines: String = entries.iter().map(|entry| format!("- {entry}\n")).collect();
    format!("\n## {name}\n{}", lines.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_leaves_the_summary_with_its_entries() {
        let mut text = "## Objective\nA trip\n## Remaining\n1. Book it\n   on Friday\n- Pay\n\n**Decisions:**\nNone\n## Findings\nx"
            .to_owned();
        assert_eq!(take(&mut text, "Remaining"), ["Book it on Friday", "Pay"]);
        assert_eq!(take(&mut text, "Decisions"), [""; 0]);
        assert_eq!(text, "## Objective\nA trip\n## Findings\nx");
        let mut alone = "## Remaining\n- Book".to_owned();
        assert_eq!(take(&mut alone, "Remaining"), [""; 0]);
        assert_eq!(alone, "## Remaining\n- Book");
        assert_eq!(written("Remaining", &["a".into(), "b".into()]), "\n## Remaining\n- a\n- b");
    }
}
