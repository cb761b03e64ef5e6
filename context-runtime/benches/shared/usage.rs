//! CPU, switches, bytes and memory of this process and of the servers, as Linux counts them.
//! Elsewhere everything is 0.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::param::clock_ticks_per_second;

/// Counters since processes began, or what was used between two readings.
#[derive(Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) client: Counts,
    /// All processes of the server on this machine, by the name of its program.
    pub(crate) server: Counts,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Seconds of CPU.
    pub(crate) cpu: f64,
    /// Times that a thread gave up its core or lost it.
    pub(crate) switches: f64,
    /// Bytes written to files.
    pub(crate) written: f64,
}

impl Usage {
    pub(crate) fn now(server: Option<&str>) -> Self {
        let mut usage = Self { client: Counts::of(Path::new("/proc/self")), ..Self::default() };
        for process in processes(server) {
            let counts = Counts::of(&process);
            usage.server = usage.server.with(counts, |all, one| all + one);
        }
        usage
    }

    /// Returns what was used since this reading.
    pub(crate) fn until_now(self, server: Option<&str>) -> Self {
        let now = Self::now(server);
        let spent = |now: Counts, before| now.with(before, |now, before| (now - before).max(0.0));
        Self { client: spent(now.client, self.client), server: spent(now.server, self.server) }
    }
}

impl Counts {
    fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            cpu: of(self.cpu, other.cpu),
            switches: of(self.switches, other.switches),
            written: of(self.written, other.written),
        }
    }

    /// Reads the counters of a process. A process that has ended has none.
    fn of(process: &Path) -> Self {
        let text = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
        // The name of the program may have spaces, and ends with a parenthesis. Then the 12th and
        // 13th fields are ticks of its own, the next two those of children that ended.
        let stat = text("stat");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: f64 =
            fields.skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum();
        let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
        let switches = threads.map(|thread| {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            value(&status, "voluntary_ctxt_switches") + value(&status, "nonvoluntary_ctxt_switches")
        });
        Self {
            cpu: ticks / clock_ticks_per_second() as f64,
            switches: switches.sum(),
            written: value(&text("io"), "write_bytes"),
        }
    }
}

/// Returns the memory of this process in bytes.
pub(crate) fn resident() -> f64 {
    value(&fs::read_to_string("/proc/self/status").unwrap_or_default(), "VmRSS") * 1024.0
}

/// Returns the memory of the server's processes in bytes, without pages that they share.
pub(crate) fn resident_server(server: Option<&str>) -> f64 {
    let of = |process: PathBuf| {
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        value(&status, "RssAnon") * 1024.0
    };
    processes(server).map(of).sum()
}

fn value(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Returns the processes with the name of a server's program.
fn processes(server: Option<&str>) -> impl Iterator<Item = PathBuf> {
    let is_named = move |process: &PathBuf| {
        let comm = server.and_then(|_| fs::read_to_string(process.join("comm")).ok());
        comm.is_some_and(|comm| Some(comm.trim()) == server)
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(is_named)
}
