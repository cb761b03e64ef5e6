//! Misbehaving servers do what their docs say. How a careful client reacts to them is tested by the
//! users of `context-http`.

use context_http::Request;
use context_simulator::http::{BadServer, Misbehaviour};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::ask;

/// Returns the first bytes of the reply to a short request.
async fn heard(bad: Misbehaviour, most: u64) -> String {
    let server = BadServer::start(bad).await.unwrap();
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nauthorization: Bearer k-123456\r\ncontent-length: 2\r\n\r\n{}",
        )
        .await
        .unwrap();
    let mut said = Vec::new();
    // An error means that the connection was closed before the reply was complete.
    let _ = stream.take(most).read_to_end(&mut said).await;
    assert_eq!(server.requests().len(), 1);
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn what_has_no_end_goes_on() {
    for bad in [
        Misbehaviour::EndlessHead,
        Misbehaviour::EndlessBody,
        Misbehaviour::EndlessComments,
        Misbehaviour::EndlessLine,
    ] {
        assert_eq!(heard(bad.clone(), 1_000_000).await.len(), 1_000_000, "{bad:?}");
    }
}

#[tokio::test]
async fn what_ends_ends_as_it_is_said() {
    assert_eq!(heard(Misbehaviour::Closes, 1_000).await, "");
    assert!(heard(Misbehaviour::BreaksOff, 1_000).await.contains("content-length: 1000\r\n\r\n{"));
    assert!(heard(Misbehaviour::HugeLength, 82).await.contains("content-length: 1000000000000000"));
    assert!(heard(Misbehaviour::EchoesKey, 1_000).await.starts_with("HTTP/1.1 401 k-123456\r\n"));
    assert!(
        heard(Misbehaviour::Redirects("http://there".into()), 1_000)
            .await
            .contains("location: http://there\r\n")
    );
    assert!(heard(Misbehaviour::Compressed, 1_000).await.contains("content-encoding: gzip"));
    assert!(
        heard(Misbehaviour::says(418, "tea"), 1_000)
            .await
            .ends_with("content-length: 3\r\nconnection: close\r\n\r\ntea")
    );
}

#[tokio::test]
async fn turns_come_in_order_and_the_last_one_stays() {
    let turns = Misbehaviour::InTurn(vec![
        Misbehaviour::says(500, "a"),
        Misbehaviour::says(200, "1"),
        Misbehaviour::says(200, "2"),
    ]);
    let server = BadServer::start(turns).await.unwrap();
    let mut said = Vec::new();
    for _ in 0..4 {
        said.push(
            ask(&server.url(), Request::get("x"), &[])
                .await
                .map(|reply| reply.text())
                .unwrap_or_default(),
        );
    }
    assert_eq!(said, ["", "1", "2", "2"]);
    assert_eq!(server.requests().len(), 4);
}
