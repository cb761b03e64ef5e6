//! The output limit of a request.

/// Returns the output limit to request after an answer broke off at `asked` tokens: twice as many,
/// at most `most`, the maximum of the model. `None` if that is not more, or if there was no limit.
///
/// ```
/// use context_runtime::raised_output;
///
/// assert_eq!(raised_output(Some(4_000), None), Some(8_000));
/// assert_eq!(raised_output(Some(4_000), Some(6_000)), Some(6_000));
/// assert_eq!(raised_output(Some(6_000), Some(6_000)), None);
/// ```
pub fn raised_output(asked: Option<u64>, most: Option<u64>) -> Option<u64> {
    let asked = asked.filter(|asked| *asked > 0)?;
    let raised = asked.saturating_mul(2).min(most.unwrap_or(u64::MAX));
    (raised > asked).then_some(raised)
}
