//! Tests of Redis.

use context_servers::{Fsync, Redis, RedisOptions};
use redis::{Commands, Connection};

use crate::exists;

fn connect(server: &Redis) -> Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn what_was_appended_outlives_kill_minus_nine() {
    let mut server = Redis::start(RedisOptions::new().append_only(Fsync::Always)).unwrap();
    let (url, before) = (server.url(), server.id().unwrap());
    let mut connection = connect(&server);
    for n in 0..100 {
        let _: () = connection.rpush("kept", n).unwrap();
    }
    server.kill().unwrap();
    assert!(!exists(before), "the server is gone, and waited for");
    assert!(connection.llen::<_, usize>("kept").is_err());
    server.restart().unwrap();
    assert_eq!(server.url(), url, "the same address");
    let kept: Vec<usize> = connect(&server).lrange("kept", 0, -1).unwrap();
    assert_eq!(kept, (0..100).collect::<Vec<_>>());
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn without_a_file_a_restart_begins_anew() {
    let mut server = Redis::start(RedisOptions::new()).unwrap();
    let _: () = connect(&server).set("gone", 1).unwrap();
    server.restart().unwrap();
    assert_eq!(connect(&server).get::<_, Option<i32>>("gone").unwrap(), None);
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn two_servers_do_not_meet_and_each_takes_its_folder_along() {
    let one = Redis::start(RedisOptions::new()).unwrap();
    let two = Redis::start(RedisOptions::new().setting("maxmemory", "8mb")).unwrap();
    let _: () = connect(&one).set("mine", 1).unwrap();
    assert_eq!(connect(&two).get::<_, Option<i32>>("mine").unwrap(), None);
    let mut socket = redis::Client::open(two.socket_url()).unwrap().get_connection().unwrap();
    let _: () = socket.set("mine", 2).unwrap();
    assert_eq!(connect(&two).get::<_, i32>("mine").unwrap(), 2);
    let (folder, id) = (one.folder().to_path_buf(), one.id().unwrap());
    assert!(folder.exists());
    drop(one);
    assert!(!folder.exists() && !exists(id));
    assert_eq!(connect(&two).get::<_, i32>("mine").unwrap(), 2);
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn a_server_that_does_not_start_says_why() {
    let error =
        Redis::start(RedisOptions::new().setting("maxmemory", "much")).unwrap_err().to_string();
    assert!(error.starts_with("Redis ended while it started"), "{error}");
    assert!(error.contains("maxmemory"), "{error}");
}
