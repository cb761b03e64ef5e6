//! All clients at the same time, and what the machine needed for them.

use std::time::{Duration, Instant};

use crate::client::{Answered, Client};
use crate::servers::{Servers, cpu};

/// A round of one side.
pub(crate) struct Measured {
    /// Requests a second.
    pub(crate) rate: f64,
    /// The times of appends and of pages in milliseconds, ascending.
    pub(crate) appends: Vec<f64>,
    pub(crate) pages: Vec<f64>,
    /// Microseconds of CPU time for each request: of the servers, and of the clients.
    pub(crate) servers: Option<f64>,
    pub(crate) clients: Option<f64>,
}

impl Measured {
    pub(crate) async fn of(clients: &mut Vec<Client>, servers: &Servers, time: Duration) -> Self {
        let before = (servers.cpu(), cpu("self"));
        let begun = Instant::now();
        let answered = run(clients, &servers.addresses(), time).await;
        let seconds = begun.elapsed().as_secs_f64();
        let each = |before: Option<f64>, after: Option<f64>| {
            Some((after? - before?) * 1e6 / answered.len() as f64)
        };
        let times = |is_append| {
            let of = answered.iter().filter(|answered| answered.is_append == is_append);
            let mut times: Vec<_> = of.map(|it| it.time.as_secs_f64() * 1e3).collect();
            times.sort_by(f64::total_cmp);
            times
        };
        Self {
            rate: answered.len() as f64 / seconds,
            appends: times(true),
            pages: times(false),
            servers: each(before.0, servers.cpu()),
            clients: each(before.1, cpu("self")),
        }
    }
}

/// Lets all clients ask for a time. Returns their answered requests.
pub(crate) async fn run(
    clients: &mut Vec<Client>,
    addresses: &[String],
    time: Duration,
) -> Vec<Answered> {
    let until = Instant::now() + time;
    let tasks: Vec<_> = std::mem::take(clients)
        .into_iter()
        .map(|mut client| {
            let addresses = addresses.to_vec();
            tokio::spawn(async move {
                let answered = client.run(&addresses, until).await;
                (client, answered)
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        let (client, answered) = task.await.unwrap();
        clients.push(client);
        all.extend(answered);
    }
    all
}
