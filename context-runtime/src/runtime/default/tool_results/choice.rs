//! Choosing the results that are replaced by previews, and the length of the previews.

use std::borrow::Cow;

/// The size limits of results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Tokens of one result.
    pub(super) tokens: u64,
    /// Bytes of one result.
    pub(super) bytes: usize,
    /// Tokens of all results together.
    pub(super) together: u64,
    /// Bytes of a preview.
    pub(super) preview: usize,
}

/// The measured text of a result.
#[derive(Debug)]
pub(super) struct MeasuredText<'a> {
    /// The index of the result's part in the message.
    pub(super) part: usize,
    pub(super) tokens: u64,
    pub(super) text: Cow<'a, str>,
}

/// A result that is replaced by a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The index of its part in the message.
    pub(super) part: usize,
    /// The maximum bytes of its preview.
    pub(super) preview: usize,
    /// Whether the result is too large by itself.
    pub(super) alone: bool,
}

/// The shortest preview, in bytes, that the limit for all results leads to. The note would not fit
/// into less.
const SHORTEST: usize = 320;

/// Chooses the results above their own limit, then the largest of the others until all together are
/// within theirs. If that is not enough, previews are halved down to [`SHORTEST`]. `other` is the
/// tokens of the rest of the message. `preview` returns tokens and bytes of a text's preview within
/// a number of bytes.
pub(super) fn choose(
    results: &[MeasuredText<'_>],
    other: u64,
    limits: &Limits,
    preview: &dyn Fn(&str, usize) -> (u64, usize),
) -> Vec<Choice> {
    let mut largest: Vec<&MeasuredText<'_>> = results.iter().collect();
    largest.sort_by_key(|result| (std::cmp::Reverse(result.tokens), result.part));
    let is_large = |result: &MeasuredText<'_>| {
        result.tokens > limits.tokens || result.text.len() > limits.bytes
    };
    let all = results.iter().fold(other, |sum, result| sum.saturating_add(result.tokens));
    let mut bytes = limits.preview;
    loop {
        let (mut sum, mut choices) = (all, Vec::new());
        // First the results above their own limit, then others as needed.
        for must in [true, false] {
            for result in largest.iter().filter(|result| is_large(result) == must) {
                if !must && sum <= limits.together {
                    break;
                }
                let Some((tokens, bytes)) = shorter(result, bytes, limits.tokens, preview) else {
                    continue;
                };
                sum = sum.saturating_sub(result.tokens).saturating_add(tokens);
                choices.push(Choice { part: result.part, preview: bytes, alone: must });
            }
        }
        if sum <= limits.together || bytes <= SHORTEST {
            choices.sort_by_key(|choice| choice.part);
            return choices;
        }
        bytes = (bytes / 2).max(SHORTEST);
    }
}

/// Returns tokens and limit of the longest preview within `limit` bytes that is smaller than the
/// result and within the limit of one result. `None` if there is none.
fn shorter(
    result: &MeasuredText<'_>,
    mut limit: usize,
    most: u64,
    preview: &dyn Fn(&str, usize) -> (u64, usize),
) -> Option<(u64, usize)> {
    loop {
        let (tokens, bytes) = preview(&result.text, limit);
        if tokens < result.tokens && tokens <= most && bytes < result.text.len() {
            return Some((tokens, limit));
        }
        if limit <= SHORTEST {
            return None;
        }
        limit = (limit / 2).max(SHORTEST);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::Config;

    use super::*;

    fn result(part: usize, bytes: usize) -> MeasuredText<'static> {
        MeasuredText { part, tokens: bytes as u64, text: "x".repeat(bytes).into() }
    }

    /// One token per byte.
    fn bytes(text: &str, limit: usize) -> (u64, usize) {
        let shown = text.len().min(limit);
        (shown as u64, shown)
    }

    fn limits(tokens: u64, together: u64, preview: usize) -> Limits {
        Limits { tokens, bytes: usize::MAX, together, preview }
    }

    fn parts(choices: &[Choice]) -> Vec<usize> {
        choices.iter().map(|choice| choice.part).collect()
    }

    #[test]
    fn the_largest_go_until_the_others_fit() {
        let results = [result(0, 900), result(1, 500), result(2, 800), result(3, 100)];
        let chosen = choose(&results, 0, &limits(1_000, 1_500, 400), &bytes);
        assert_eq!(parts(&chosen), [0, 2], "{chosen:?}");
        assert!(chosen.iter().all(|choice| !choice.alone && choice.preview == 400));
        assert!(choose(&results, 0, &limits(1_000, 2_300, 400), &bytes).is_empty());
    }

    #[test]
    fn what_is_too_large_alone_goes_whatever_the_others_are() {
        let results = [result(0, 100), result(1, 2_000)];
        let chosen = choose(&results, 0, &limits(1_000, 100_000, 400), &bytes);
        assert_eq!(chosen, [Choice { part: 1, preview: 400, alone: true }]);
    }

    #[test]
    fn previews_become_shorter_when_all_of_them_are_still_too_much() {
        let results: Vec<_> = (0..10).map(|part| result(part, 9_000)).collect();
        let chosen = choose(&results, 0, &limits(10_000, 10_000, 4_000), &bytes);
        assert_eq!(chosen.len(), 10);
        assert!(chosen.iter().all(|choice| choice.preview == 1_000), "{chosen:?}");
    }

    proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

        #[test]
        fn what_can_fit_fits(
            sizes in prop::collection::vec(0_usize..5_000, 0..20),
            other in 0_u64..1_000,
            together in 0_u64..20_000,
            preview in 400_usize..4_000,
        ) {
            let results: Vec<_> = sizes.iter().enumerate().map(|(part, size)| result(part,
                *size)).collect();
            let limits = limits(3_000, together, preview);
            let chosen = choose(&results, other, &limits, &bytes);
            let tokens = |part: usize| chosen.iter().find(|choice| choice.part == part)
                .map_or(sizes[part], |choice| choice.preview);
            let sum = other as usize + (0..sizes.len()).map(tokens).sum::<usize>();
            let least = other as usize + sizes.iter().map(|size| (*size).min(SHORTEST))
                .sum::<usize>();
            prop_assert!(sum as u64 <= together || sum == least);
            prop_assert!((0..sizes.len()).all(|part| tokens(part) as u64 <= 3_000));
        }
    }
}
