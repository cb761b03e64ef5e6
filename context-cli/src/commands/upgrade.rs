//! `upgrade`: upgrades a store of an older version.

use context_runtime::store::OpenMode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::clean;

/// Bring a store of an older version up to date.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context backup before.db                   with the older program, before the upgrade
  context upgrade --store sqlite:chats.db

Commands that only read do not change a store, and refuse a store of an older version. This command
upgrades it, all or nothing, and so does every command that writes. An upgrade cannot be undone:
programs of the older version cannot read the store any more.")]
pub(crate) struct Args {}

/// JSON record of `upgrade`. Versions are those of the store's schema.
#[derive(Serialize, JsonSchema)]
pub(super) struct UpgradeRecord<'a> {
    v: u32,
    store: &'static str,
    /// `upgraded` or `unchanged`.
    status: &'static str,
    /// The previous version. Not set if nothing was to be done.
    from: Option<&'a str>,
    /// The current version. Not set if nothing was to be done.
    to: Option<&'a str>,
}

pub(crate) async fn run(_args: Args, app: &mut App) -> Result<Outcome, Failure> {
    // Opening for reading reports both versions, and changes nothing if there is nothing to do.
    let older = match app.store_to_read().await {
        Ok(_) => None,
        Err(Failure::Store(error)) if error.get("older_schema").is_some() => Some(error),
        Err(failure) => return Err(failure),
    };
    app.opened().close().await?;
    let working = Progress::new(&app.out, "upgrading");
    let store = app.store_in(OpenMode::Write).await?;
    let elapsed = working.done().map(|elapsed| format!(", {elapsed}")).unwrap_or_default();
    let version = |key| older.as_ref().and_then(|error| error.get(key));
    let (from, to) = (version("older_schema"), version("newest_schema"));
    let status = if from.is_some() { "upgraded" } else { "unchanged" };
    if app.out.is_json() {
        app.out.record(&UpgradeRecord { v: 1, store: store.info().name, status, from, to })?;
        return Ok(Outcome::Success);
    }
    let Some(from) = from else {
        app.out.line("nothing to do: the store is up to date")?;
        return Ok(Outcome::Success);
    };
    let done = app.out.paint(Style::Green, "upgraded").to_string();
    let to = to.map(|to| format!(" to {}", clean(to))).unwrap_or_default();
    app.out.line(format_args!("{done} from schema {}{to}{elapsed}", clean(from)))?;
    Ok(Outcome::Success)
}
