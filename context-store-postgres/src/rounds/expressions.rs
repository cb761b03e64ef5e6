//! SQL expressions of the statement that writes a commit to a round.

use context_core::trajectory::FieldForm;

use crate::checksums::rounds as checksums;

/// A condition for versions and messages `n` of nodes whose numbers are a parameter.
pub(crate) fn of_nodes(numbers: usize) -> String {
    format!("n.ordinal = ANY(${numbers}::bigint[])")
}

/// A condition for edges `n` at such nodes of a round of this number.
pub(crate) fn edges_at_nodes(round: String, numbers: usize) -> String {
    format!(
        "(n.source = ANY(${numbers}::bigint[]) OR n.target_round = {round}::bigint AND n.target = ANY(${numbers}::bigint[]))"
    )
}

/// Adds the replacement of a column's checksum, if the column changes.
pub(crate) fn set_sum(sums: &mut String, new: &str, column: usize) {
    let (at, bytes) = (checksums::offset(column), size_of::<checksums::Sum>());
    *sums = format!(
        "overlay({sums} PLACING coalesce(i.{new}, substring(n.sum FROM {at} FOR {bytes})) FROM {at} FOR {bytes})"
    );
}

pub(crate) fn cast(form: FieldForm) -> &'static str {
    match form {
        FieldForm::Flag => "::boolean",
        FieldForm::Json => "::json",
        _ => "",
    }
}
