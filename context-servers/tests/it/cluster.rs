//! Tests of Redis Cluster.

use context_servers::RedisCluster;
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
