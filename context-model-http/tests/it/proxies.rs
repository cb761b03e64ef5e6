//! Requests go through the configured proxy.

use std::sync::{Arc, Mutex};

use context_core::model::ModelErrorCode as Code;
use context_http::{Proxy, Retries};
use context_model_http::{Endpoint, HttpModel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{KEY, complete, served, stream, talkative};

/// A proxy on loopback that forwards every request to one server, and the requests it received.
async fn proxy(server: std::net::SocketAddr) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let mut piece = vec![0; 64 << 10];
                let read = client.read(&mut piece).await.unwrap();
                let text = String::from_utf8_lossy(&piece[..read]).into_owned();
                log.lock().unwrap().push(text.clone());
                if text.starts_with("CONNECT") {
                    client.write_all(b"HTTP/1.1 403 No\r\n\r\n").await.unwrap();
                    return;
                }
                // The server wants a path, not an address.
                let sent = text.replacen("http://provider.test", "", 1);
                let mut server = TcpStream::connect(server).await.unwrap();
                server.write_all(sent.as_bytes()).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (address, heard)
}

#[tokio::test]
async fn a_named_proxy_is_asked_for_everything() {
    let server = served(talkative("openai")).await;
    let (address, heard) = proxy(server.address()).await;
    let through = |url: &str| {
        let proxy = Proxy::at(format!("http://user:{KEY}@{address}"));
        let endpoint = Endpoint::at(url).key(KEY);
        let endpoint =
            endpoint.with(|o| o.proxy(proxy).allow_plain_http(true).retries(Retries::none()));
        HttpModel::chat("a-model", endpoint).unwrap()
    };
    let model = through("http://provider.test/v1");
    assert!(complete(&model).await.unwrap().complete);
    assert!(stream(&model).await.0.unwrap().complete);
    assert!(
        heard.lock().unwrap()[0]
            .starts_with("POST http://provider.test/v1/chat/completions HTTP/1.1")
    );

    // Encrypted requests go through a tunnel; a proxy that does not open one sees no request and no
    // key.
    let error = complete(&through("https://provider.test/v1")).await.unwrap_err();
    assert_eq!(error.code, Code::Network, "{error:?}");
    let last = heard.lock().unwrap().last().cloned().unwrap();
    assert!(last.starts_with("CONNECT provider.test:443"), "{last}");
    assert!(!last.contains(KEY), "{last}");
}
