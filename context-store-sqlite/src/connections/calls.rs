//! Macros that give a store call its connection.

/// Runs the body with a reading connection and adds the operation to its errors.
macro_rules! reading {
    ($shared:ident, $operation:literal, |$connection:ident| $body:expr) => {{
        let mut repeats = 0;
        let result: $crate::error::Result<_> = loop {
            let mut reader = match $shared.connections.reader().await {
                Ok(reader) => reader,
                Err(fault) => break Err(fault),
            };
            let result: $crate::error::Result<_> = async {
                let $connection = &mut *reader;
                $body
            }
            .await;
            // A read-only handle takes no lock, so the file may have changed during the read.
            if let Some(result) = reader.settle(result, &mut repeats) {
                break result;
            }
        };
        result.map_err(|fault| fault.during($operation))
    }};
}
pub(crate) use reading;

/// Runs the body with the writing connection and adds the operation to its errors.
macro_rules! writing {
    ($shared:ident, $operation:literal, |$writer:ident| $body:expr) => {{
        let result: $crate::error::Result<_> = async {
            let mut guard = $shared.connections.writer().await?;
            let $writer = &mut *guard;
            $body
        }
        .await;
        result.map_err(|fault| fault.during($operation))
    }};
}
pub(crate) use writing;
