//! The stores of the registry, each behind its feature.

#[cfg(feature = "inmem")]
mod inmem;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;

use super::StoreRegistry;

/// Registers the stores whose features are on.
#[allow(unused_variables, reason = "no store feature may be on")]
pub(super) fn register(registry: &mut StoreRegistry) {
    #[cfg(feature = "inmem")]
    registry.register("mem", inmem::InMemory);
    #[cfg(feature = "sqlite")]
    registry.register("sqlite", sqlite::Sqlite);
    #[cfg(feature = "postgres")]
    postgres::register(registry);
    #[cfg(feature = "redis")]
    redis::register(registry);
}
