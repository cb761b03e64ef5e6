//! A minimal client of the PostgreSQL protocol, which checks a server and runs statements.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

use crate::error::ServerError;

const SERVER: &str = "PostgreSQL";
/// Version 3.0.
const PROTOCOL: i32 = 196_608;
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum length of a message. The statements used here have shorter replies.
const LONGEST: usize = 1 << 20;

/// A connection.
pub(crate) struct Session(TcpStream);

impl Session {
    /// Connects as a user who needs no password.
    pub(crate) fn open(
        address: SocketAddrV4,
        user: &str,
        database: &str,
    ) -> Result<Self, ServerError> {
        let connect = || -> io::Result<TcpStream> {
            let stream = TcpStream::connect_timeout(&address.into(), PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        };
        let mut session = Self(connect().map_err(ServerError::io("connect to PostgreSQL"))?);
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for word in ["user", user, "database", database, ""] {
            body.extend(word.bytes());
            body.push(0);
        }
        session
            .send(None, &body)
            .and_then(|()| session.answer())
            .map_err(failed)?
            .map_or(Ok(session), |message| Err(refused("a connection")(message)))
    }

    /// Runs statements, and ignores the rows that they return.
    pub(crate) fn execute(&mut self, sql: &str) -> Result<(), ServerError> {
        let mut body = sql.as_bytes().to_vec();
        body.push(0);
        self.send(Some(b'Q'), &body)
            .and_then(|()| self.answer())
            .map_err(failed)?
            .map_or(Ok(()), |message| Err(refused("a statement")(message)))
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let length = i32::try_from(body.len() + 4).map_err(io::Error::other)?;
        let mut message: Vec<u8> = kind.into_iter().chain(length.to_be_bytes()).collect();
        message.extend(body);
        self.0.write_all(&message)
    }

    /// Reads until the server is ready for the next statement or closes the connection. Returns the
    /// server's error message, if there is one.
    fn answer(&mut self) -> io::Result<Option<String>> {
        let mut refusal = None;
        loop {
            let mut head = [0; 5];
            match self.0.read_exact(&mut head) {
                // The server sends an error and closes the connection that it refuses.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && refusal.is_some() => {
                    return Ok(refusal);
                }
                read => read?,
            }
            let [kind, length @ ..] = head;
            let length = u32::from_be_bytes(length) as usize;
            if !(4..=LONGEST).contains(&length) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "not PostgreSQL's protocol",
                ));
            }
            let mut body = vec![0; length - 4];
            self.0.read_exact(&mut body)?;
            match kind {
                b'E' => refusal = Some(message(&body)),
                b'R' if body != [0; 4] => return Ok(Some("it asks for a password".to_owned())),
                b'Z' => return Ok(refusal),
                _ => {}
            }
        }
    }
}

/// Returns the field `M` of an error: the message for people.
fn message(fields: &[u8]) -> String {
    let text = fields.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(b"M"));
    String::from_utf8_lossy(text.unwrap_or(b"no message")).into_owned()
}

fn failed(source: io::Error) -> ServerError {
    ServerError::Io { doing: "talk to PostgreSQL".to_owned(), source }
}

fn refused(request: &str) -> impl FnOnce(String) -> ServerError {
    move |message| ServerError::Refused { server: SERVER, request: request.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn an_error_is_what_a_person_reads() {
        let fields =
            b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0Fpostmaster.c\0\0";
        assert_eq!(message(fields), "the database system is starting up");
        assert_eq!(message(b"SFATAL\0"), "no message");
    }
}
