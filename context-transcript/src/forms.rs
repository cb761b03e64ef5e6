//! The forms of records, and their detection.

use serde_json::value::RawValue;

use crate::Format;
use crate::pi::Pi;
use crate::read::{PROBED, Value};
use crate::records::RecordForm;

/// Every form of records.
pub(crate) const FORMS: [&dyn RecordForm; 1] = [&Pi];

/// Returns the form of a format whose conversations are records.
pub(crate) fn of_format(format: Format) -> Option<&'static dyn RecordForm> {
    FORMS.iter().copied().find(|form| form.format() == format)
}

/// Returns the format of lines that are one session of records, if they are.
pub(crate) fn of_lines(values: &[Value<'_>]) -> Option<Format> {
    let probe =
        |is_line: fn(&RawValue) -> bool| values.iter().take(PROBED).any(|value| is_line(value.raw));
    probe(crate::pi::is_line).then_some(Format::Pi)
}
