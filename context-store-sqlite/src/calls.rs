//! How a call of the seam comes by its connection.

/// Runs the body with a connection to read with and names the operation in what goes wrong.
macro_rules! reading {
    ($shared:ident, $operation:literal, |$connection:ident| $body:expr) => {{
        let result: Result<_, Fault> = async {
            let mut reader = $shared.connections.reader().await?;
            let $connection = &mut *reader;
            $body
        }
        .await;
        result.map_err(|fault| fault.during($operation))
    }};
}
pub(crate) use reading;

/// The same with the writer.
macro_rules! writing {
    ($shared:ident, $operation:literal, |$writer:ident| $body:expr) => {{
        let result: Result<_, Fault> = async {
            let mut guard = $shared.connections.writer().await;
            let $writer = &mut *guard;
            $body
        }
        .await;
        result.map_err(|fault| fault.during($operation))
    }};
}
pub(crate) use writing;
