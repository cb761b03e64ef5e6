//! A Redis Cluster.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::ServerError;
use crate::redis::{Redis, RedisOptions};
use crate::resp::Session;

/// The number of masters. A cluster needs at least three.
const NODES: usize = 3;
const SLOTS: usize = 16_384;
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);
/// The number of keys to try. About every third key belongs to a node, so 100 keys are enough.
const KEYS: usize = 100;

/// Three Redis masters on 127.0.0.1 that share all slots, without replicas. Dropping the cluster
/// ends them and removes their data.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
}

impl RedisCluster {
    /// Starts three servers that persist nothing, and waits until each of them accepts writes.
    /// Takes about three seconds.
    ///
    /// # Errors
    ///
    /// As [`Redis::start`]. Also if the cluster does not form within 30 seconds.
    pub fn start() -> Result<Self, ServerError> {
        Self::start_with(RedisOptions::new())
    }

    /// Starts a cluster like [`start`](Self::start), with these options for each node.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with(options: RedisOptions) -> Result<Self, ServerError> {
        let options = options
            .setting("cluster-enabled", "yes")
            .setting("cluster-config-file", "nodes.conf")
            .setting("cluster-node-timeout", "2000");
        let nodes =
            (0..NODES).map(|_| Redis::start(options.clone())).collect::<Result<Vec<_>, _>>()?;
        let cluster = Self { nodes };
        for (n, node) in cluster.nodes.iter().enumerate() {
            let mut session = Session::open(node.address())?;
            let slots = slots(n).map(|slot| slot.to_string());
            let words = ["CLUSTER", "ADDSLOTS"].map(str::to_owned);
            session.command(&words.into_iter().chain(slots).collect::<Vec<_>>())?;
            session.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(n + 1).to_string()])?;
            let first = cluster.nodes[0].address();
            if n > 0 {
                session.command(&[
                    "CLUSTER",
                    "MEET",
                    &first.ip().to_string(),
                    &first.port().to_string(),
                ])?;
            }
        }
        cluster.wait()?;
        Ok(cluster)
    }

    /// Waits until every node knows all slots and accepts a write to one of its own. The word of
    /// one node is not enough.
    ///
    /// # Errors
    ///
    /// If that takes more than 30 seconds. Returns the last error of a node.
    pub fn wait(&self) -> Result<(), ServerError> {
        let start = Instant::now();
        for (n, node) in self.nodes.iter().enumerate() {
            while let Err(last) = is_whole(node, n) {
                if start.elapsed() > PATIENCE {
                    return Err(last);
                }
                sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Returns the URLs of all nodes, separated by commas:
    /// `redis://127.0.0.1:P1,redis://127.0.0.1:P2,…`.
    pub fn urls(&self) -> String {
        self.nodes.iter().map(Redis::url).collect::<Vec<_>>().join(",")
    }

    /// Returns the nodes.
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// Returns the nodes, to kill and restart them. Call [`wait`](Self::wait) afterwards.
    pub fn nodes_mut(&mut self) -> &mut [Redis] {
        &mut self.nodes
    }
}

/// Returns the slots of a node.
fn slots(n: usize) -> std::ops::Range<usize> {
    n * SLOTS / NODES..(n + 1) * SLOTS / NODES
}

fn is_whole(node: &Redis, n: usize) -> Result<(), ServerError> {
    let mut session = Session::open(node.address())?;
    let info = session.command(&["CLUSTER", "INFO"])?;
    let says = |line: &str| info.lines().any(|reported| reported == line);
    let wanted = [
        "cluster_state:ok".to_owned(),
        format!("cluster_slots_ok:{SLOTS}"),
        format!("cluster_known_nodes:{NODES}"),
    ];
    if let Some(missing) = wanted.iter().find(|line| !says(line)) {
        return Err(ServerError::NotReady {
            server: "Redis Cluster",
            why: format!("is not whole: a node does not say {missing}"),
            log: node.log(),
        });
    }
    let own = (0..KEYS).map(|k| format!("context-servers-{k}"));
    for key in own {
        let slot = session.command(&["CLUSTER", "KEYSLOT", &key])?;
        if slot.parse().is_ok_and(|slot| slots(n).contains(&slot)) {
            session.command(&["SET", &key, "written"])?;
            return session.command(&["DEL", &key]).map(drop);
        }
    }
    Ok(())
}
