//! Tests of the S3 server.

use std::io::{Read, Write};
use std::net::TcpStream;

use context_servers::S3;

fn request(server: &S3, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
#[ignore = "needs S3; `cargo xtask test` runs it"]
fn it_has_a_bucket_and_ends_with_its_value() {
    let server = S3::start(&S3::program().unwrap()).unwrap();
    assert!(server.url().ends_with("/context"), "{}", server.url());
    let head = "HEAD /context HTTP/1.1\r\nHost: s3\r\nConnection: close\r\n\r\n";
    assert!(request(&server, head).contains(" 200 "));
    let (address, folder) = (server.address(), server.folder().to_path_buf());
    drop(server);
    assert!(TcpStream::connect(address).is_err() && !folder.exists());
}
