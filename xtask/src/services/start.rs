//! The servers of one run of a task.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use std::{env, thread};

use anyhow::{Context, Result, anyhow, bail};
use context_servers::{
    Postgres, PostgresOptions, Redis, RedisCluster, RedisOptions, S3, ServerError,
};

use super::browser;
use super::install::{self, Program};
use super::moto;
use super::need::Need;

/// The environment variable that makes tests fail instead of skip if a server is missing.
const REQUIRE: &str = "CONTEXT_REQUIRE_SERVICES";

/// The variable of the address of a PostgreSQL server that has the extension for vectors.
const PGVECTOR: &str = "CONTEXT_TEST_PGVECTOR_URL";

/// The variables of the credentials of an S3 server.
const S3_CREDENTIALS: [&str; 2] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

/// A server with its own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Server {
    Postgres,
    /// Another installed version.
    OtherPostgres,
    Redis,
    Cluster,
    S3,
}

impl Server {
    fn of(need: Need) -> &'static [Self] {
        match need {
            // A browser is no server: each test program starts its own.
            Need::Folder | Need::Browser => &[],
            Need::Postgres => &[Self::Postgres],
            Need::Redis => &[Self::Redis, Self::Cluster],
            Need::S3 => &[Self::S3],
        }
    }

    /// Returns the variable in which tests find the address.
    fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "CONTEXT_TEST_POSTGRES_URL",
            Self::OtherPostgres => "CONTEXT_TEST_OTHER_POSTGRES_URL",
            Self::Redis => "CONTEXT_TEST_REDIS_URL",
            Self::Cluster => "CONTEXT_TEST_REDIS_CLUSTER_URL",
            Self::S3 => "CONTEXT_TEST_S3_URL",
        }
    }

    fn program(self) -> Program {
        match self {
            Self::Postgres | Self::OtherPostgres => Program::Postgres,
            Self::Redis | Self::Cluster => Program::Redis,
            Self::S3 => Program::Moto,
        }
    }

    /// Returns the address that the environment provides.
    fn given(self) -> Option<String> {
        env::var(self.variable()).ok().filter(|url| !url.is_empty())
    }

    fn start(self) -> Result<Running, ServerError> {
        Ok(match self {
            Self::Postgres => Running::Postgres(Postgres::start(PostgresOptions::new())?),
            Self::OtherPostgres => {
                let other = Postgres::all_programs().into_iter().nth(1).unwrap_or_default();
                Running::Postgres(Postgres::start(PostgresOptions::new().programs(other))?)
            }
            Self::Redis => Running::Redis(Redis::start(RedisOptions::new())?),
            Self::Cluster => Running::Cluster(RedisCluster::start()?),
            Self::S3 => Running::S3(S3::start(&moto::program()?)?),
        })
    }
}

/// A server that was started here.
#[derive(Debug)]
enum Running {
    Postgres(Postgres),
    Redis(Redis),
    Cluster(RedisCluster),
    S3(S3),
}

impl Running {
    fn url(&self) -> String {
        match self {
            Self::Postgres(server) => server.url("postgres"),
            Self::Redis(server) => server.url(),
            Self::Cluster(cluster) => cluster.urls(),
            Self::S3(server) => server.url(),
        }
    }

    /// Returns the names of the servers and their folders, for people.
    fn notes(&self) -> Vec<String> {
        let of_redis =
            |name: &str, server: &Redis| format!("{name}: {}", server.folder().display());
        match self {
            Self::Postgres(server) => vec![format!("PostgreSQL: {}", server.folder().display())],
            Self::Redis(server) => vec![of_redis("Redis", server)],
            Self::S3(server) => vec![format!("S3: {}", server.folder().display())],
            Self::Cluster(cluster) => cluster
                .nodes()
                .iter()
                .map(|node| of_redis("a node of Redis Cluster", node))
                .collect(),
        }
    }
}

/// The servers of a run. They end with the run, or with the process in whatever way it ends.
#[derive(Debug, Default)]
pub(crate) struct Services {
    addresses: Vec<(&'static str, String)>,
    /// The source of each met need, such as `local 15` or `env`.
    provisions: BTreeMap<Need, String>,
    /// A description of the missing servers.
    missing: Option<String>,
    running: Vec<Running>,
    /// The program of the browser, if one is needed and there.
    browser: Option<String>,
}

impl Services {
    /// Provides what is needed: takes the servers of the environment, starts installed ones, and
    /// installs missing ones if that is allowed unasked.
    ///
    /// A server that is still missing is an error if `required` is set, or if `CI` or
    /// `CONTEXT_REQUIRE_SERVICES` is and it does not come from PyPI. Otherwise
    /// [`missing`](Self::missing) describes it.
    pub(crate) fn start(needs: &BTreeSet<Need>, required: bool) -> Result<Self> {
        let wanted: Vec<Server> =
            needs.iter().flat_map(|need| Server::of(*need)).copied().collect();
        let (given, own): (Vec<_>, Vec<_>) =
            wanted.iter().copied().partition(|server| server.given().is_some());
        if own.contains(&Server::S3) {
            moto::install_unasked();
        }
        install::unasked(&absent(&own))?;
        if own.contains(&Server::Postgres) {
            install::more_postgres_unasked()?;
        }
        let wants_browser = needs.contains(&Need::Browser);
        if wants_browser && !Program::Chromium.is_there() {
            install::unasked(&[Program::Chromium])?;
        }
        let mut absent = absent(&own);
        if wants_browser && !Program::Chromium.is_there() {
            absent.push(Program::Chromium);
        }
        let needed: Vec<_> = match required {
            true => absent.clone(),
            // A machine that has no way to PyPI can still run all the other tests.
            false if promised() => {
                absent.iter().copied().filter(|program| *program != Program::Moto).collect()
            }
            false => Vec::new(),
        };
        if !needed.is_empty() {
            bail!("there is no {}; run {}", names(&needed), install::hint(&needed));
        }
        let missing = (!absent.is_empty()).then(|| missing(&absent));
        let own: Vec<_> =
            own.into_iter().filter(|server| !absent.contains(&server.program())).collect();
        let mut own = own;
        if own.contains(&Server::Postgres)
            && Server::OtherPostgres.given().is_none()
            && Postgres::all_programs().len() > 1
        {
            own.push(Server::OtherPostgres);
        }
        let running = start_all(&own)?;
        let mut addresses: Vec<_> =
            given.iter().filter_map(|s| Some((s.variable(), s.given()?))).collect();
        addresses.extend(
            own.iter().zip(&running).map(|(server, running)| (server.variable(), running.url())),
        );
        for running in &running {
            if let Running::Postgres(server) = running
                && env::var_os(PGVECTOR).is_none()
                && server.offers("vector")?
            {
                addresses.push((PGVECTOR, running.url()));
                break;
            }
        }
        if own.contains(&Server::S3) {
            // The client does not ask a server without any, and Moto takes these.
            addresses.extend(S3_CREDENTIALS.map(|name| (name, "test".to_owned())));
        }
        let provisions = provisions(needs, &given, &own)?;
        let browser = wants_browser.then(browser::program).flatten();
        Ok(Self { addresses, provisions, missing, running, browser })
    }

    /// Returns the addresses, with the variables in which tests look for them.
    pub(crate) fn addresses(&self) -> &[(&'static str, String)] {
        &self.addresses
    }

    /// Returns the environment variables for tests: the addresses, and whether all needs are met.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let all = !self.addresses.is_empty() && self.missing.is_none();
        let require = all.then(|| (REQUIRE, "1".to_owned()));
        self.addresses.iter().cloned().chain(require).collect()
    }

    /// Returns the program of the browser, if one is needed and there.
    pub(crate) fn browser(&self) -> Option<&str> {
        self.browser.as_deref()
    }

    /// Whether there is a server: `PostgreSQL`, `Redis` or `S3`.
    pub(crate) fn has(&self, server: &str) -> bool {
        let variable = match server {
            "PostgreSQL" => Server::Postgres.variable(),
            "Redis" => Server::Redis.variable(),
            "S3" => Server::S3.variable(),
            _ => return false,
        };
        self.addresses.iter().any(|(name, _)| *name == variable)
    }

    /// Returns the source of a need, or `None` if it is not met.
    pub(crate) fn provision(&self, need: Need) -> Option<&str> {
        self.provisions.get(&need).map(String::as_str)
    }

    /// Returns the missing servers and the command that installs them.
    pub(crate) fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Returns the folders of the servers that were started here, for people.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.running.iter().flat_map(Running::notes).collect()
    }
}

fn absent(servers: &[Server]) -> Vec<Program> {
    let programs =
        servers.iter().map(|server| server.program()).filter(|program| !program.is_there());
    let mut programs: Vec<_> = programs.collect();
    programs.dedup();
    programs
}

fn names(programs: &[Program]) -> String {
    programs.iter().map(|program| program.name()).collect::<Vec<_>>().join(" and no ")
}

fn missing(absent: &[Program]) -> String {
    let hint = install::hint(absent);
    format!(
        "SKIPPED: what needs a server or a browser, for there is no {}; to have it run, run {hint}",
        names(absent)
    )
}

/// Whether servers are required, because nobody would read which tests were skipped.
pub(crate) fn promised() -> bool {
    let is_set = |variable| {
        env::var(variable).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
    };
    is_set("CI") || is_set(REQUIRE)
}

/// Starts servers in parallel.
fn start_all(servers: &[Server]) -> Result<Vec<Running>> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let begin = Instant::now();
    let running = thread::scope(|scope| {
        let starting: Vec<_> =
            servers.iter().map(|server| scope.spawn(|| server.start())).collect();
        let joined = starting.into_iter().map(|thread| {
            thread
                .join()
                .map_err(|_| anyhow!("starting a server panicked"))?
                .map_err(anyhow::Error::from)
        });
        joined.collect::<Result<Vec<_>>>()
    });
    let running = running.context("a server does not start")?;
    let names: Vec<_> = servers.iter().map(|server| format!("{server:?}")).collect();
    eprintln!("servers: {} ready in {:.1} s", names.join(", "), begin.elapsed().as_secs_f64());
    Ok(running)
}

fn provisions(
    needs: &BTreeSet<Need>,
    given: &[Server],
    own: &[Server],
) -> Result<BTreeMap<Need, String>> {
    let mut provisions = BTreeMap::new();
    for need in needs {
        let servers = Server::of(*need);
        let from = |list: &[Server]| servers.iter().any(|server| list.contains(server));
        let local = match need {
            Need::Folder => Some("temp dir".to_owned()),
            Need::Browser => browser::program(),
            Need::Postgres if from(own) => Some(format!("local {}", major(&Postgres::version()?))),
            Need::Redis if from(own) => Some(format!("local {}", major(&Redis::version()?))),
            Need::S3 if from(own) => Some("local moto".to_owned()),
            Need::Postgres | Need::Redis | Need::S3 => None,
        };
        let env = from(given).then(|| "env".to_owned());
        let sources: Vec<_> = env.into_iter().chain(local).collect();
        let is_met = match need {
            Need::Folder => true,
            Need::Browser => !sources.is_empty(),
            Need::Postgres | Need::Redis | Need::S3 => {
                servers.iter().all(|server| given.contains(server) || own.contains(server))
            }
        };
        if is_met {
            provisions.insert(*need, sources.join(", "));
        }
    }
    Ok(provisions)
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}
