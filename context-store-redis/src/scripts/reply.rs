//! Parsing the answers of scripts.

use bytes::Bytes;
use redis::Value;

use crate::error::{Fault, Result};

/// The items of an answer, in order.
pub(crate) struct Reply(std::vec::IntoIter<Value>);

impl Reply {
    pub(crate) fn of(value: Value) -> Result<Self> {
        match value {
            Value::Array(items) => Ok(Self(items.into_iter())),
            _ => Err(strange()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        match self.0.next() {
            Some(Value::Int(number)) => u64::try_from(number).map_err(|_| strange()),
            _ => Err(strange()),
        }
    }

    /// Returns bytes without copying them, or `None` for nil.
    pub(crate) fn maybe(&mut self) -> Result<Option<Bytes>> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(Some(bytes.into())),
            Some(Value::Nil) => Ok(None),
            _ => Err(strange()),
        }
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes> {
        self.maybe()?.ok_or_else(strange)
    }

    pub(crate) fn list(&mut self) -> Result<Self> {
        self.0.next().map_or_else(|| Err(strange()), Self::of)
    }
}

fn strange() -> Fault {
    Fault::Corrupt("the server returned an answer that no script of this program returns", None)
}
