//! Splitting long texts into passages that are recalled separately.

/// The longest passage in bytes, about a page.
const LONGEST: usize = 4_000;

/// Returns the passages of a text in order, split at the last paragraph, line, sentence or word
/// that fits.
pub(crate) fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        if text.len() <= LONGEST {
            rest = None;
            return Some(text.trim());
        }
        let most = &text[..text.floor_char_boundary(LONGEST)];
        let at = ["\n\n", "\n", ". ", "。", " "].iter().find_map(|end| {
            // A split in the first half is ignored, as it would give tiny passages.
            most.rfind(end).map(|at| at + end.len()).filter(|at| *at > LONGEST / 2)
        });
        let (passage, behind) = text.split_at(at.unwrap_or(most.len()));
        rest = Some(behind);
        Some(passage.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_where_it_pauses_and_nothing_is_lost() {
        let text = "One sentence after another. ".repeat(400);
        let passages: Vec<_> = cut(&text).collect();
        assert_eq!(passages.len(), 3);
        assert!(passages.iter().all(|passage| passage.len() <= LONGEST && passage.ends_with('.')));
        assert_eq!(passages.join(" "), text.trim());
        let dense = "北".repeat(3_000);
        assert_eq!(cut(&dense).collect::<String>(), dense);
        assert_eq!(cut("short").collect::<Vec<_>>(), ["short"]);
    }
}
