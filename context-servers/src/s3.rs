//! A server that speaks the protocol of Amazon S3: that of Moto, in memory.

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use crate::error::ServerError;
use crate::instance::{Instance, LaunchError};
use crate::{port, programs};

const SERVER: &str = "Moto";
const TERM: (Signal, &str) = (Signal::TERM, "TERM");
/// The number of ports to try.
const TRIES: usize = 10;
/// The bucket that every server has.
const BUCKET: &str = "context";
const PATIENCE: Duration = Duration::from_secs(30);

/// A private S3 server with one bucket, in memory. It takes any credentials, and none. Dropping it
/// ends the server.
#[derive(Debug)]
pub struct S3 {
    instance: Instance,
    port: u16,
}

impl S3 {
    /// Returns the program that tests should start: `moto_server`, from the Python package `moto`.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotInstalled`], which names the folders that were searched.
    pub fn program() -> Result<PathBuf, ServerError> {
        programs::moto()
    }

    /// Starts a server with this program, waits until it answers, and makes the bucket.
    ///
    /// # Errors
    ///
    /// If the server does not start, or does not answer within 30 seconds. The error contains the
    /// end of the log.
    pub fn start(program: &Path) -> Result<Self, ServerError> {
        // Python may be installed where only this account may read.
        let instance = Instance::ours(SERVER, TERM)?;
        let mut server = Self { instance, port: 0 };
        let mut tries = 0;
        loop {
            server.port = port::free()?;
            tries += 1;
            let (address, port) = (server.address(), server.port.to_string());
            let args = ["-H", "127.0.0.1", "-p", &port].map(ToOwned::to_owned);
            match server.instance.launch(program, &args, |_| has_bucket(address)) {
                Err(LaunchError::PortTaken(_)) if tries < TRIES => {}
                done => return done.map(|()| server).map_err(ServerError::from),
            }
        }
    }

    /// Returns the address of the server. Tests may put a proxy in front of it.
    pub fn address(&self) -> SocketAddrV4 {
        port::address(self.port)
    }

    /// Returns the URL of the bucket: `http://127.0.0.1:PORT/context`.
    pub fn url(&self) -> String {
        format!("http://{}/{BUCKET}", self.address())
    }

    /// Returns the folder of all its files.
    pub fn folder(&self) -> &Path {
        self.instance.folder()
    }
}

/// Makes the bucket, which may exist.
fn has_bucket(address: SocketAddrV4) -> Result<(), ServerError> {
    let talk = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address.into(), PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let request = format!(
            "PUT /{BUCKET} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.take(1 << 16).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = talk().map_err(ServerError::io("talk to Moto"))?;
    let status = answer.lines().next().unwrap_or_default();
    if status.contains(" 200 ") || status.contains(" 409 ") {
        return Ok(());
    }
    let request = "a bucket".to_owned();
    Err(ServerError::Refused { server: SERVER, request, message: status.to_owned() })
}
