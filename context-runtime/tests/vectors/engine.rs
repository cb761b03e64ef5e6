//! Suite stub.
use crate::File;
use crate::judge::{BoxError, Judged};
pub(crate) fn judge(_: &File<'_>) -> Result<Vec<Judged>, BoxError> { Ok(Vec::new()) }
