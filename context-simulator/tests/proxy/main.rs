//! The cutting proxy in front of an echo server: what passes, what is cut, what is counted.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::net::SocketAddr;

use context_simulator::proxy::{Cut, CutKind, CutPlan, CuttingProxy, Direction};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Starts a server that echoes every connection.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = connection.into_split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    address
}

async fn proxy() -> CuttingProxy {
    CuttingProxy::start(echo().await).await.unwrap()
}

async fn connect(proxy: &CuttingProxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

/// Sends a text and reads as many bytes. Returns what came back before the connection ended.
async fn ask(client: &mut TcpStream, text: &str) -> String {
    let mut heard = Vec::new();
    if client.write_all(text.as_bytes()).await.is_ok() {
        let mut buffer = [0; 64];
        while heard.len() < text.len() {
            match client.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(n) => heard.extend_from_slice(&buffer[..n]),
            }
        }
    }
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn without_a_plan_everything_passes_and_is_counted() {
    let proxy = proxy().await;
    let (mut one, mut two) = (connect(&proxy).await, connect(&proxy).await);
    assert_eq!(ask(&mut one, "hello").await, "hello");
    assert_eq!(ask(&mut two, "you").await, "you");
    assert_eq!(ask(&mut one, "again").await, "again");
    let traffic = proxy.traffic();
    assert_eq!((traffic.connections, traffic.refused, traffic.cuts), (2, 0, 0));
    assert_eq!((traffic.to_server, traffic.to_client, traffic.turns), (13, 13, 3));
}

#[tokio::test]
async fn a_client_that_has_said_everything_still_hears_the_end() {
    let proxy = proxy().await;
    let mut client = connect(&proxy).await;
    client.write_all(b"a long question").await.unwrap();
    client.shutdown().await.unwrap();
    let mut heard = String::new();
    client.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "a long question");
}

#[tokio::test]
async fn large_answers_pass_whole() {
    let proxy = proxy().await;
    let sent: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
    let (mut from, mut to) = connect(&proxy).await.into_split();
    let copy = sent.clone();
    tokio::spawn(async move {
        to.write_all(&copy).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let mut heard = Vec::new();
    from.read_to_end(&mut heard).await.unwrap();
    assert!(heard == sent);
}

#[tokio::test]
async fn a_request_is_cut_after_so_many_bytes_and_once() {
    let proxy = proxy().await;
    proxy.set_plan(CutPlan::default().with(Cut::new(Direction::ToServer, 7, CutKind::Close)));
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, "hello").await, "hello");
    // Two more bytes reach the server. Their reply is lost with the connection.
    let heard = ask(&mut client, "world").await;
    assert!("wo".starts_with(&heard), "{heard:?}");
    assert_eq!((proxy.traffic().to_server, proxy.traffic().cuts), (7, 1));
    assert_eq!(ask(&mut connect(&proxy).await, "once more").await, "once more");
}

#[tokio::test]
async fn a_lost_reply_is_one_that_the_server_gave() {
    let proxy = proxy().await;
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, "hello").await, "hello");
    proxy.set_plan(CutPlan::default().with(Cut::new(Direction::ToClient, 0, CutKind::Close)));
    assert_eq!(ask(&mut client, "world").await, "");
    let traffic = proxy.traffic();
    assert_eq!((traffic.to_server, traffic.to_client, traffic.cuts), (10, 5, 1));
}

#[tokio::test]
async fn one_connection_of_several_is_cut() {
    let proxy = proxy().await;
    proxy.set_plan(
        CutPlan::default().with(Cut::new(Direction::ToClient, 2, CutKind::Close).on_connection(1)),
    );
    let (mut zero, mut one) = (connect(&proxy).await, connect(&proxy).await);
    assert_eq!(ask(&mut zero, "hello").await, "hello");
    assert_eq!(ask(&mut one, "hello").await, "he");
    assert_eq!(ask(&mut zero, "world").await, "world");
}

#[tokio::test]
async fn a_connection_that_hangs_is_open_and_silent() {
    let proxy = proxy().await;
    proxy.set_plan(CutPlan::default().with(Cut::new(Direction::ToServer, 5, CutKind::Hang)));
    let (mut client, mut other) = (connect(&proxy).await, connect(&proxy).await);
    assert_eq!(ask(&mut client, "hello").await, "hello");
    client.write_all(b"is anybody there").await.unwrap();
    // Another connection is served in the meantime, so a reply would have had time to arrive.
    assert_eq!(ask(&mut other, "yes").await, "yes");
    let mut buffer = [0; 8];
    assert_eq!(client.try_read(&mut buffer).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(proxy.traffic().cuts, 1);
    proxy.cut_all();
    assert_eq!(client.read(&mut buffer).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn refused_connections_end_at_once_and_others_stay() {
    let proxy = proxy().await;
    let mut before = connect(&proxy).await;
    assert_eq!(ask(&mut before, "hello").await, "hello");
    proxy.refuse(true);
    assert_eq!(ask(&mut connect(&proxy).await, "hello").await, "");
    assert_eq!(ask(&mut before, "still").await, "still");
    proxy.refuse(false);
    assert_eq!(ask(&mut connect(&proxy).await, "back").await, "back");
    assert_eq!((proxy.traffic().connections, proxy.traffic().refused), (2, 1));
}

#[tokio::test]
async fn cutting_all_ends_what_is_there_and_dropping_ends_everything() {
    let proxy = proxy().await;
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, "hello").await, "hello");
    proxy.cut_all();
    assert_eq!(ask(&mut client, "hello").await, "");
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, "hello").await, "hello");
    let address = proxy.address();
    drop(proxy);
    assert_eq!(ask(&mut client, "hello").await, "");
    let late = TcpStream::connect(address).await;
    if let Ok(mut late) = late {
        assert_eq!(ask(&mut late, "hello").await, "");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_closes() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = CuttingProxy::start(nobody).await.unwrap();
    assert_eq!(ask(&mut connect(&proxy).await, "hello").await, "");
}

#[tokio::test]
async fn what_is_held_passes_later_and_in_its_order() {
    let proxy = proxy().await;
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, "before").await, "before");
    proxy.hold(true);
    client.write_all(b"held ").await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(proxy.traffic().to_server, 6, "nothing passes");
    client.write_all(b"bytes").await.unwrap();
    proxy.hold(false);
    let mut heard = [0; 10];
    client.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"held bytes");
    // A held connection can still be cut.
    proxy.hold(true);
    client.write_all(b"lost").await.unwrap();
    proxy.cut_all();
    assert_eq!(client.read(&mut heard).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn an_address_can_move_to_another_server() {
    let proxy = proxy().await;
    let mut client = connect(&proxy).await;
    assert_eq!(ask(&mut client, "old").await, "old");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    proxy.redirect(listener.local_addr().unwrap());
    assert_eq!(ask(&mut client, "gone").await, "");
    let mut client = connect(&proxy).await;
    client.write_all(b"new").await.unwrap();
    let (mut served, _) = listener.accept().await.unwrap();
    let mut heard = [0; 3];
    served.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"new");
}
