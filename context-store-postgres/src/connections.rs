//! Connections to the server: the pool, the transactions on a connection, and the creation of the
//! database.

pub(crate) mod database;
mod pool;
pub(crate) mod together;

pub(crate) use pool::{Flush, Pool, Session, Statement, Work, quoted};

/// Runs the body with a connection of the pool on which the work has begun, and adds the operation
/// to its errors.
macro_rules! work {
    ($pool:expr, $operation:literal, $work:expr, $user:expr, |$session:ident| $body:expr) => {{
        let pool: &$crate::connections::Pool = &$pool;
        let work = async {
            let mut begun = pool.begin($work, Some($user)).await?;
            let $session = &mut begun;
            let result: $crate::error::Result<_> = async { $body }.await;
            begun.end(result).await
        };
        pool.within_timeout(work).await.map_err(|fault| fault.during($operation))
    }};
}
pub(crate) use work;
