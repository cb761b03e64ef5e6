//! A long run: whether turns a second and memory stay what they were.

use std::sync::Arc;
use std::time::Duration;

use crate::options::Options;
use crate::run::{self, Side};
use crate::table::{Case, Minute, Table};
use crate::usage;

pub(crate) async fn run(
    side: &Arc<dyn Side>,
    options: &Options,
    case: Case,
    seconds: u64,
    table: &mut Table,
) {
    let mut minutes = Vec::new();
    for number in 1..=seconds / 60 {
        let measured = run::run(side, options.mix, case, Duration::from_secs(60)).await;
        let minute = Minute {
            number,
            measured,
            client: usage::resident(),
            server: usage::resident_server(case.store.program()),
        };
        table.minute(case, &minute);
        minutes.push(minute);
    }
    table.soaked(case, &minutes);
}
