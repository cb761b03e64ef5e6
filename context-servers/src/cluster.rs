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

/// Three Redis masters on 127.0.0.1 that share all slots, without replicas or with one each.
/// Dropping the cluster ends them and removes their data.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    /// The replica of each master. Empty for a cluster without replicas.
    replicas: Vec<Redis>,
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
        let cluster = Self { nodes, replicas: Vec::new() };
        for (n, node) in cluster.nodes.iter().enumerate() {
            let mut session = Session::open(node.address())?;
            let slots = slots(n).map(|slot| slot.to_string());
            let words = ["CLUSTER", "ADDSLOTS"].map(str::to_owned);
            session.command(&words.into_iter().chain(slots).collect::<Vec<_>>())?;
            session.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(n + 1).to_string()])?;
            if n > 0 {
                meet(&mut session, &cluster.nodes[0])?;
            }
        }
        cluster.wait()?;
        Ok(cluster)
    }

    /// Starts a cluster like [`start_with`](Self::start_with), and a replica for each master. The
    /// masters do not wait for their replicas, as is usual.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with_replicas(options: RedisOptions) -> Result<Self, ServerError> {
        // The first copy begins at once, not after five seconds.
        let options = options.setting("repl-diskless-sync-delay", "0");
        let mut cluster = Self::start_with(options)?;
        for n in 0..NODES {
            let replica = Redis::start(cluster.nodes[n].options().clone())?;
            meet(&mut Session::open(replica.address())?, &cluster.nodes[0])?;
            replicate(&replica, &cluster.nodes[n])?;
            cluster.replicas.push(replica);
        }
        cluster.wait()?;
        Ok(cluster)
    }

    /// Kills a master with SIGKILL, makes its replica the master at once, without an election, and
    /// starts the killed server again as the replica. The order of [`nodes`](Self::nodes) stays:
    /// the new master takes the place of the old one. Writes that had not reached the replica are
    /// lost.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start). Also if the cluster has no replicas.
    pub fn fail_over(&mut self, n: usize) -> Result<(), ServerError> {
        let (Some(master), Some(replica)) = (self.nodes.get_mut(n), self.replicas.get_mut(n))
        else {
            return Err(not_ready("has no such replica".to_owned(), String::new()));
        };
        master.kill()?;
        Session::open(replica.address())?.command(&["CLUSTER", "FAILOVER", "TAKEOVER"])?;
        std::mem::swap(master, replica);
        replica.restart()?;
        replicate(replica, master)?;
        self.wait()
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
            while let Err(last) = is_whole(node, n, self.nodes.len() + self.replicas.len()) {
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

/// Introduces a node to another one.
fn meet(session: &mut Session, node: &Redis) -> Result<(), ServerError> {
    let address = node.address();
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    session.command(&["CLUSTER", "MEET", &host, &port]).map(drop)
}

/// Makes a node the replica of a master, and waits until it has the data of the master.
fn replicate(replica: &Redis, master: &Redis) -> Result<(), ServerError> {
    let id = Session::open(master.address())?.command(&["CLUSTER", "MYID"])?;
    // A node refuses a master that it does not know yet, and while it takes itself for a master.
    patiently(|| {
        Session::open(replica.address())?.command(&["CLUSTER", "REPLICATE", &id]).map(drop)
    })?;
    patiently(|| {
        let info = Session::open(replica.address())?.command(&["INFO", "replication"])?;
        let is_up = info.lines().any(|line| line == "master_link_status:up");
        let late = || not_ready("has a replica without the data".to_owned(), replica.log());
        is_up.then_some(()).ok_or_else(late)
    })
}

/// Makes a call until it succeeds. Returns the last error if it takes too long.
fn patiently(call: impl Fn() -> Result<(), ServerError>) -> Result<(), ServerError> {
    let begin = Instant::now();
    while let Err(last) = call() {
        if begin.elapsed() > PATIENCE {
            return Err(last);
        }
        sleep(PAUSE);
    }
    Ok(())
}

fn not_ready(why: String, log: String) -> ServerError {
    ServerError::NotReady { server: "Redis Cluster", why, log }
}

fn is_whole(node: &Redis, n: usize, known: usize) -> Result<(), ServerError> {
    let mut session = Session::open(node.address())?;
    let info = session.command(&["CLUSTER", "INFO"])?;
    let says = |line: &str| info.lines().any(|reported| reported == line);
    let wanted = [
        "cluster_state:ok".to_owned(),
        format!("cluster_slots_ok:{SLOTS}"),
        format!("cluster_known_nodes:{known}"),
    ];
    if let Some(missing) = wanted.iter().find(|line| !says(line)) {
        let why = format!("is not whole: a node does not say {missing}");
        return Err(not_ready(why, node.log()));
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
