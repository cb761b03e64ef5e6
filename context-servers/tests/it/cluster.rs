//! Tests of Redis Cluster.

use context_servers::{RedisCluster, RedisOptions};
use redis::Commands;
use redis::cluster::ClusterClient;

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn a_cluster_takes_writes_on_all_slots() {
    let cluster = RedisCluster::start().unwrap();
    let urls = cluster.urls();
    assert_eq!(urls.split(',').count(), 3);
    let mut connection = ClusterClient::new(urls.split(',')).unwrap().get_connection().unwrap();
    // 300 keys reach every node.
    for n in 0..300 {
        let _: () = connection.set(format!("key-{n}"), n).unwrap();
    }
    for n in 0..300 {
        assert_eq!(connection.get::<_, i32>(format!("key-{n}")).unwrap(), n);
    }
    for node in cluster.nodes() {
        let mut alone = redis::Client::open(node.url()).unwrap().get_connection().unwrap();
        let keys: usize = redis::cmd("DBSIZE").query(&mut alone).unwrap();
        assert!((1..300).contains(&keys), "{keys} keys");
        let slots: String = redis::cmd("CLUSTER").arg("INFO").query(&mut alone).unwrap();
        assert!(slots.contains("cluster_slots_ok:16384"), "{slots}");
    }
    let folders: Vec<_> = cluster.nodes().iter().map(|node| node.folder().to_path_buf()).collect();
    drop(cluster);
    assert!(folders.iter().all(|folder| !folder.exists()));
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn a_replica_takes_over_with_the_data_that_it_has() {
    let mut cluster = RedisCluster::start_with_replicas(RedisOptions::new()).unwrap();
    let urls = cluster.urls();
    let connect =
        |urls: &str| ClusterClient::new(urls.split(',')).unwrap().get_connection().unwrap();
    let mut connection = connect(&urls);
    for n in 0..300 {
        let _: () = connection.set(format!("key-{n}"), n).unwrap();
    }
    // Each master waits until its replica has all of them.
    for node in cluster.nodes() {
        let mut alone = redis::Client::open(node.url()).unwrap().get_connection().unwrap();
        // A write of this connection is behind all others.
        let written = (0..100).any(|n| alone.set::<_, _, ()>(format!("last-{n}"), n).is_ok());
        assert!(written);
        let replicas: u32 = redis::cmd("WAIT").arg(1).arg(10_000).query(&mut alone).unwrap();
        assert_eq!(replicas, 1);
    }
    for n in 0..3 {
        cluster.fail_over(n).unwrap();
    }
    assert_ne!(cluster.urls(), urls, "other servers are the masters");
    let mut connection = connect(&cluster.urls());
    for n in 0..300 {
        assert_eq!(connection.get::<_, i32>(format!("key-{n}")).unwrap(), n);
    }
    // The servers that were killed are replicas now, and can take over again.
    for n in 0..3 {
        cluster.fail_over(n).unwrap();
    }
    assert_eq!(cluster.urls(), urls);
}
