//! How a call of the seam comes by its connection.

/// Runs the body with a connection to read with and names the operation in what goes wrong.
macro_rules! reading {
    ($shared:ident, $operation:literal, |$connection:ident| $body:expr) => {{
        let mut repeats = 0;
        let result: Result<_, Fault> = loop {
            let mut reader = match $shared.connections.reader().await {
                Ok(reader) => reader,
                Err(fault) => break Err(fault),
            };
            let result: Result<_, Fault> = async {
                let $connection = &mut *reader;
                $body
            }
            .await;
            // A handle that only reads takes no lock, so the file may have changed meanwhile.
            if let Some(result) = reader.settle(result, &mut repeats) {
                break result;
            }
        };
        result.map_err(|fault| fault.during($operation))
    }};
}
pub(crate) use reading;

/// The same with the writer.
macro_rules! writing {
    ($shared:ident, $operation:literal, |$writer:ident| $body:expr) => {{
        let result: Result<_, Fault> = async {
            let mut guard = $shared.connections.writer().await?;
            let $writer = &mut *guard;
            $body
        }
        .await;
        result.map_err(|fault| fault.during($operation))
    }};
}
pub(crate) use writing;
