//! The durability that follows from the settings of the server, and the warning to its operator.

use std::collections::HashMap;

use context_core::Timestamp;
use context_core::store::{Durability, StoreFacts};
use redis::cmd;

use crate::connections::{Connection, ServerNode};
use crate::error::Result;

/// The durability that the settings of the servers promise. Unknown settings count as the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerRating {
    pub(crate) durability: Durability,
    /// The durability of a commit that waits until the server has flushed it.
    pub(crate) strongest: Durability,
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
    /// Whether the server can report when it has flushed a write.
    reports_flushes: bool,
    /// The run of the server.
    run: Option<String>,
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
        // With other settings the operating system flushes the file at some time.
        let flushes = self.flush.as_deref() == Some("everysec");
        let strongest = match durability {
            Durability::ProcessCrash if flushes && self.reports_flushes && self.run.is_some() => {
                Durability::PowerLoss
            }
            own => own,
        };
        let warning = if evicts { Some(MAY_EVICT) } else { warning };
        ServerRating { durability, strongest, warning }
    }
}

/// Reads the settings of every server. Returns the weakest, and the runs of the servers.
pub(crate) async fn rate(connection: &Connection) -> Result<(ServerRating, Vec<String>)> {
    let strongest = Durability::PowerLoss;
    let mut weakest = ServerRating { durability: strongest, strongest, warning: None };
    let mut runs = Vec::new();
    for node in connection.nodes().await? {
        let settings = settings(connection, node).await;
        let server = settings.rating();
        let strongest = weakest.strongest.min(server.strongest);
        if server.durability < weakest.durability || weakest.warning.is_none() {
            weakest = server;
        }
        weakest.strongest = strongest;
        runs.extend(settings.run);
    }
    if let Some(warning) = weakest.warning {
        tracing::warn!(durability = ?weakest.durability, "{warning}");
    }
    Ok((weakest, runs))
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
    let server: Option<String> = connection.run_on(node, cmd("INFO").arg("server")).await.ok();
    let server = server.unwrap_or_default();
    ReportedSettings {
        log,
        flush: configured("appendfsync").await,
        policy: configured("maxmemory-policy").await,
        reports_flushes: reports_flushes(&server),
        run: run_of(&server).map(ToOwned::to_owned),
    }
}

/// Returns the facts about the server, of a cluster those of its first node with the memory of all.
/// A command that a server denies leaves its fact unknown.
pub(crate) async fn facts(connection: &Connection) -> Result<StoreFacts> {
    let mut facts = StoreFacts::default();
    facts.bytes = Some(0);
    for node in connection.nodes().await? {
        let info = async |section: &str| {
            let info = connection.run_on::<String>(node, cmd("INFO").arg(section)).await;
            info.unwrap_or_default()
        };
        let memory = info("memory").await;
        let used = line_of(&memory, "used_memory:").and_then(|used| used.parse::<u64>().ok());
        facts.bytes = facts.bytes.zip(used).map(|(sum, used)| sum + used);
        if facts.engine.is_none() {
            facts.engine = engine(&info("server").await);
            let time = connection.run_on::<(i64, i64)>(node, &cmd("TIME")).await.ok();
            let micros = time.map(|(seconds, micros)| seconds * 1_000_000 + micros);
            facts.time = micros.map(Timestamp::from_micros);
        }
    }
    Ok(facts)
}

/// Returns the name and the version of a server, from the answer to `INFO server`. Valkey reports
/// the version of Redis that it is compatible with besides its own.
fn engine(info: &str) -> Option<String> {
    let version = |name, key| line_of(info, key).map(|version| format!("{name} {version}"));
    version("Valkey", "valkey_version:").or_else(|| version("Redis", "redis_version:"))
}

/// Returns the run of the server, a random name that it has until it ends, from the answer to
/// `INFO server`.
pub(crate) fn run_of(info: &str) -> Option<&str> {
    line_of(info, "run_id:").filter(|run| !run.is_empty())
}

/// Whether the server has the command `WAITAOF`, which came with version 7.2.
fn reports_flushes(info: &str) -> bool {
    let mut numbers =
        line_of(info, "redis_version:").unwrap_or_default().split('.').map(str::parse::<u32>);
    let mut number = || numbers.next().and_then(|number| number.ok()).unwrap_or(0);
    (number(), number()) >= (7, 2)
}

fn line_of<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(log: Option<bool>, flush: &str, policy: &str) -> ReportedSettings {
        ReportedSettings {
            log,
            flush: Some(flush.to_owned()),
            policy: Some(policy.to_owned()),
            ..ReportedSettings::default()
        }
    }

    #[track_caller]
    fn check(log: Option<bool>, flush: &str, policy: &str, expected: (Durability, Option<&str>)) {
        let rating = settings(log, flush, policy).rating();
        assert_eq!((rating.durability, rating.warning), expected);
        assert_eq!(rating.strongest, rating.durability);
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
        let unknown = Durability::Server;
        assert_eq!(
            ReportedSettings::default().rating(),
            ServerRating { durability: unknown, strongest: unknown, warning: Some(UNKNOWN) }
        );
    }

    #[test]
    fn only_a_server_that_flushes_and_says_so_can_be_waited_for() {
        let info = |version: &str| format!("# Server\r\nredis_version:{version}\r\nrun_id:4f\r\n");
        let strongest = |log, flush: &str, info: &str| {
            let run = run_of(info).map(ToOwned::to_owned);
            let reports_flushes = reports_flushes(info);
            ReportedSettings { reports_flushes, run, ..settings(log, flush, "noeviction") }
                .rating()
                .strongest
        };
        for (version, expected) in [
            ("7.2.0", Durability::PowerLoss),
            ("8.0.1", Durability::PowerLoss),
            ("10.1", Durability::PowerLoss),
            ("7.0.15", Durability::ProcessCrash),
            ("6.9.9", Durability::ProcessCrash),
            ("", Durability::ProcessCrash),
        ] {
            assert_eq!(strongest(Some(true), "everysec", &info(version)), expected, "{version}");
        }
        assert_eq!(
            strongest(Some(true), "everysec", "redis_version:8.0"),
            Durability::ProcessCrash
        );
        assert_eq!(strongest(Some(true), "no", &info("8.0")), Durability::ProcessCrash);
        assert_eq!(strongest(Some(false), "everysec", &info("8.0")), Durability::Server);
        assert_eq!(strongest(None, "everysec", &info("8.0")), Durability::Server);
    }
}
