//! A minimal client of the Redis protocol, which checks a server and forms a cluster.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

use crate::error::ServerError;

const SERVER: &str = "Redis";
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum length of a message. The statements used here have shorter replies.
const LONGEST: usize = 1 << 20;

/// A connection.
pub(crate) struct Session(BufReader<TcpStream>);

impl Session {
    /// Connects to a server.
    pub(crate) fn open(address: SocketAddrV4) -> Result<Self, ServerError> {
        let connect = || -> io::Result<TcpStream> {
            let stream = TcpStream::connect_timeout(&address.into(), PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        };
        Ok(Self(BufReader::new(connect().map_err(ServerError::io("connect to Redis"))?)))
    }

    /// Sends a command whose reply is a status, a number or a text.
    pub(crate) fn command<A: AsRef<str>>(&mut self, words: &[A]) -> Result<String, ServerError> {
        let answer = self
            .send(words)
            .and_then(|()| self.answer())
            .map_err(ServerError::io("talk to Redis"))?;
        match answer {
            Reply::Text(text) => Ok(text),
            Reply::Error(message) => {
                let request = words.first().map_or("a command", AsRef::as_ref).to_owned();
                Err(ServerError::Refused { server: SERVER, request, message })
            }
        }
    }

    fn send<A: AsRef<str>>(&mut self, words: &[A]) -> io::Result<()> {
        let mut text = format!("*{}\r\n", words.len());
        for word in words.iter().map(AsRef::as_ref) {
            text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.get_mut().write_all(text.as_bytes())
    }

    /// Reads a reply.
    fn answer(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let strange =
            || io::Error::new(io::ErrorKind::InvalidData, "not an answer that is understood here");
        let rest = line.get(1..).unwrap_or_default().trim_end();
        match line.chars().next() {
            Some('+' | ':') => Ok(Reply::Text(rest.to_owned())),
            Some('-') => Ok(Reply::Error(rest.to_owned())),
            Some('$') => {
                let length: usize =
                    rest.parse().ok().filter(|length| *length <= LONGEST).ok_or_else(strange)?;
                let mut text = vec![0; length + 2];
                self.0.read_exact(&mut text)?;
                text.truncate(length);
                String::from_utf8(text).map(Reply::Text).map_err(|_| strange())
            }
            _ => Err(strange()),
        }
    }
}

/// A reply of the server.
enum Reply {
    Text(String),
    Error(String),
}
