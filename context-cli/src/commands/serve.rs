//! `serve`: the HTTP API for programs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use context_runtime::store::OpenMode;
use context_server::{Operations, Service, ServiceLimits, Tokens};
use schemars::JsonSchema;
use serde::Serialize;

use super::ui::random_token;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::input;

const EXAMPLES: &str = "\
Examples:
  context serve                              this machine, the user `local`
  context serve --new-token ada >>tokens.txt
  context serve --tokens tokens.txt --address 0.0.0.0 --port 8080
  context serve --describe >openapi.json

Serves chats, turns, search, streams, memories and trajectories of the store as JSON over HTTP.
/openapi.json describes every path; /healthz and /metrics are for operators. Several processes may
serve one store of PostgreSQL or Redis.

Without --tokens, only programs of this machine may use it, as the user of --user. With it, each
request needs `Authorization: Bearer TOKEN`, and sees the chats of the token's user. A token is
printed once, on standard error; the file holds its hash. Put a proxy in front of it for TLS.

Ctrl-C, or SIGTERM, ends it: no further request is accepted, and those that have begun are
finished.";

/// Serve chats to programs over HTTP.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The address to listen on; another than one of this machine needs --tokens
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// The port [default: a free one]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// The file of tokens [default: the value of CONTEXT_SERVE_TOKENS, if it is set]
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// A host name by which the service may be addressed; may be repeated [default: any with
    /// tokens, those of this machine without]
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Refuse all changes
    #[arg(long)]
    read_only: bool,
    /// The largest body of a request in MiB
    #[arg(long, value_name = "MIB", default_value_t = 32)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_body: u16,
    /// The requests that a user may make in a second
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// The connections of all users; further ones wait
    #[arg(long, value_name = "N", default_value_t = 4_096)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// The seconds that open requests may take after Ctrl-C
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    grace: u16,
    /// Make a token for this user, print its line for the file of tokens, and end
    #[arg(long, value_name = "USER", conflicts_with_all = ["tokens", "describe"])]
    new_token: Option<String>,
    /// Let the new token also check and vacuum the store and read the metrics
    #[arg(long, requires = "new_token")]
    admin: bool,
    /// Print the OpenAPI description, and end
    #[arg(long)]
    describe: bool,
}

/// JSON record of `serve`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ServeRecord<'a> {
    v: u32,
    /// The address of the service.
    url: &'a str,
    port: u16,
}

/// JSON record of `serve --new-token`.
#[derive(Serialize, JsonSchema)]
pub(super) struct NewTokenRecord<'a> {
    v: u32,
    /// The token, which is stored nowhere.
    token: &'a str,
    /// The line for the file of tokens.
    line: &'a str,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    if args.describe {
        app.out.text(&Service::description())?;
        return Ok(Outcome::Success);
    }
    if let Some(user) = &args.new_token {
        return new_token(user, args.admin, app);
    }
    let tokens = tokens(&args)?;
    if tokens.is_none() && !args.address.is_loopback() {
        let text = format!("{} is not of this machine: it needs --tokens", args.address);
        return Err(Failure::Usage(text));
    }
    let mode = if args.read_only { OpenMode::Read } else { OpenMode::Write };
    let store = match args.read_only {
        true => app.store_in(mode).await?,
        false => app.store_or_told_new().await?,
    };
    let operations = Operations::new(store)
        .user(app.user.clone())
        .read_only(args.read_only)
        .environment(Arc::new(app.host.clone()), Arc::new(app.host.clone()));
    let mut limits = ServiceLimits::default();
    limits.body = usize::from(args.max_body) * 1024 * 1024;
    limits.requests_per_second = args.rate;
    limits.connections = args.connections.into();
    limits.grace = Duration::from_secs(args.grace.into());
    let mut service = Service::new(operations).limits(limits);
    if let Some(tokens) = tokens {
        service = service.tokens(tokens);
    }
    if !args.host.is_empty() {
        service = service.hosts(&args.host);
    }
    // Listened to before anybody knows the address, and so can ask for the end.
    let terminated = Termination::listen().map_err(Failure::Runtime)?;
    let address = SocketAddr::new(args.address, args.port.unwrap_or_default());
    let bound = service.bind(address).await.map_err(|source| match args.port {
        Some(port) => Failure::Port { port, source },
        None => Failure::Runtime(source),
    })?;
    let url = format!("http://{}", bound.address());
    if app.out.is_json() {
        app.out.record(&ServeRecord { v: 1, url: &url, port: bound.address().port() })?;
    } else {
        app.out.line(&url)?;
        app.out.note("Ctrl-C ends it");
    }
    app.out.flush()?;
    let interrupt = app.quiet_interrupt();
    let stop = async move {
        tokio::select! {
            () = interrupt.cancelled() => {}
            () = terminated.received() => {}
        }
    };
    bound.serve(stop).await.map_err(Failure::Runtime)?;
    Ok(Outcome::Success)
}

/// The request of the system to end: SIGTERM, where there is one.
struct Termination {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Termination {
    /// From here on, the signal does not end the process by itself.
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?,
        })
    }

    /// Resolves when the signal has come since [`listen`](Self::listen).
    async fn received(self) {
        #[cfg(unix)]
        {
            let mut signal = self.signal;
            if signal.recv().await.is_some() {
                return;
            }
        }
        std::future::pending().await
    }
}

/// Reads the tokens of the file, or of the environment.
fn tokens(args: &Args) -> Result<Option<Tokens>, Failure> {
    let (named, text) = match &args.tokens {
        Some(path) => {
            let file = input::read(path)?;
            (file.shown().to_owned(), file.text().to_owned())
        }
        None => match std::env::var("CONTEXT_SERVE_TOKENS") {
            Ok(text) if !text.is_empty() => ("CONTEXT_SERVE_TOKENS".to_owned(), text),
            _ => return Ok(None),
        },
    };
    let tokens: Tokens =
        text.parse().map_err(|error| Failure::Usage(format!("{named}: {error}")))?;
    if tokens.is_empty() {
        return Err(Failure::Usage(format!(
            "{named} has no token: make one with --new-token USER"
        )));
    }
    Ok(Some(tokens))
}

fn new_token(user: &str, is_admin: bool, app: &mut App) -> Result<Outcome, Failure> {
    context_runtime::limits::check_id("serve", "user", user)?;
    if user.contains(char::is_whitespace) {
        let text = "the user of a token has no white space in the file of tokens";
        return Err(Failure::Usage(text.to_owned()));
    }
    let token = random_token()?;
    let line = Tokens::line(user, &token, is_admin);
    if app.out.is_json() {
        app.out.record(&NewTokenRecord { v: 1, token: &token, line: &line })?;
    } else {
        app.out.line(&line)?;
        app.out.note(format_args!("token: {token}"));
        app.out.note("it is stored nowhere: keep it; the line belongs into the file of tokens");
    }
    Ok(Outcome::Success)
}
