//! The durability that follows from the settings of the server, and the warning to its operator.

use std::collections::HashMap;

use context_core::store::Durability;
use redis::cmd;

use crate::connections::{Connection, ServerNode};
use crate::error::Result;

/// The durability that the settings of the servers promise. Unknown settings count as the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerRating {
    pub(crate) durability: Durability,
    pub(crate) warning: Option<&'static str>,
}

const MAY_EVICT: &str =
    "the server evicts keys when its memory is full, so whole chats can be lost";
const MAY_EVICT_AND_LOSE: &str = "the server evicts keys when its memory is full and keeps no append-only file, so whole chats \
     can be lost, and a crash loses all writes since its last snapshot";
const NO_LOG: &str =
    "the server keeps no append-only file, so a crash loses all writes since its last snapshot";
const UNKNOWN: &str = "the server does not report how it saves data, so a crash may lose writes";
const SYNCED_LATER: &str = "the server answers before it flushes its append-only file, so a loss of power or a failover may \
     lose acknowledged writes of a second or more";

/// The settings of one server, with `None` for those that it does not report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ReportedSettings {
    log: Option<bool>,
    flush: Option<String>,
    policy: Option<String>,
}

impl ReportedSettings {
    fn rating(&self) -> ServerRating {
        let evicts = self.policy.as_deref().is_some_and(|policy| policy != "noeviction");
        let (durability, warning) = match (self.log, self.flush.as_deref()) {
            (Some(true), Some("always")) => (Durability::PowerLoss, None),
            (Some(true), _) => (Durability::ProcessCrash, Some(SYNCED_LATER)),
            (Some(false), _) if evicts => (Durability::Server, Some(MAY_EVICT_AND_LOSE)),
            (Some(false), _) => (Durability::Server, Some(NO_LOG)),
            (None, _) => (Durability::Server, Some(UNKNOWN)),
        };
        let evicts = evicts && warning != Some(MAY_EVICT_AND_LOSE);
        ServerRating { durability, warning: if evicts { Some(MAY_EVICT) } else { warning } }
    }
}

/// Reads the settings of every server and returns the weakest.
pub(crate) async fn rate(connection: &Connection) -> Result<ServerRating> {
    let mut weakest = ServerRating { durability: Durability::PowerLoss, warning: None };
    for node in connection.nodes().await? {
        let server = settings(connection, node).await.rating();
        if server.durability < weakest.durability || weakest.warning.is_none() {
            weakest = server;
        }
    }
    if let Some(warning) = weakest.warning {
        tracing::warn!(durability = ?weakest.durability, "{warning}");
    }
    Ok(weakest)
}

/// Reads the settings of one server. A setting is `None` if the server denies the command.
async fn settings(connection: &Connection, node: ServerNode) -> ReportedSettings {
    let configured = async |name: &str| {
        let found = connection.run_on(node, cmd("CONFIG").arg("GET").arg(name)).await;
        found.ok().and_then(|mut found: HashMap<String, String>| found.remove(name))
    };
    let log = match configured("appendonly").await {
        Some(value) => Some(value == "yes"),
        None => {
            let info: Option<String> =
                connection.run_on(node, cmd("INFO").arg("persistence")).await.ok();
            let enabled = info.as_deref().and_then(|info| info.split_once("aof_enabled:"));
            enabled.map(|(_, value)| value.starts_with('1'))
        }
    };
    ReportedSettings {
        log,
        flush: configured("appendfsync").await,
        policy: configured("maxmemory-policy").await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(log: Option<bool>, flush: &str, policy: &str, expected: (Durability, Option<&str>)) {
        let settings = ReportedSettings {
            log,
            flush: Some(flush.to_owned()),
            policy: Some(policy.to_owned()),
        };
        let rating = settings.rating();
        assert_eq!((rating.durability, rating.warning), expected);
    }

    #[test]
    fn servers_are_believed_as_much_as_they_save() {
        check(Some(true), "always", "noeviction", (Durability::PowerLoss, None));
        check(Some(true), "everysec", "noeviction", (Durability::ProcessCrash, Some(SYNCED_LATER)));
        check(Some(true), "always", "allkeys-lru", (Durability::PowerLoss, Some(MAY_EVICT)));
        check(Some(false), "always", "noeviction", (Durability::Server, Some(NO_LOG)));
        check(
            Some(false),
            "always",
            "volatile-ttl",
            (Durability::Server, Some(MAY_EVICT_AND_LOSE)),
        );
        assert_eq!(
            ReportedSettings::default().rating(),
            ServerRating { durability: Durability::Server, warning: Some(UNKNOWN) }
        );
    }
}
