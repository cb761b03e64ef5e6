//! `branches`: lists the branches of a chat, or goes to another one.

use context_runtime::BranchName;
use serde::Serialize;

use super::{engine, moved};
use crate::app::{App, Done};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count, short_id, time};

/// List the branches of a chat, or go to another one.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  context branches support-7\n  context branches support-7 --switch main")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// Make this branch the active one
    #[arg(long, value_name = "NAME")]
    switch: Option<String>,
}

/// JSON record of `branches`: one branch.
#[derive(Serialize)]
struct BranchRecord<'a> {
    v: u32,
    branch: &'a str,
    /// Its newest message.
    head: Option<&'a str>,
    messages: u64,
    /// Whether it is the one that is worked on.
    active: bool,
    created_at: String,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    let store = app.store().await?;
    if let Some(branch) = args.switch {
        let result = engine(app, store, &args.chat).await?.switch_branch(BranchName::from(branch)).await?;
        return moved(&mut app.out, &args.chat, &result.branch, result.head.as_ref(), true);
    }
    let branches = store.history().branches(&app.chat(&args.chat)).await?;
    let width = branches.iter().map(|branch| clean(branch.name.as_str()).chars().count()).max().unwrap_or(0);
    for branch in &branches {
        if app.out.is_json() {
            app.out.record(&BranchRecord {
                v: 1,
                branch: branch.name.as_str(),
                head: branch.head.as_ref().map(AsRef::as_ref),
                messages: branch.length,
                active: branch.active,
                created_at: time(branch.created_at),
            })?;
            continue;
        }
        let star = if branch.active { "*" } else { " " };
        let name = app.out.paint(Style::Bold, format!("{:width$}", clean(branch.name.as_str()))).to_string();
        let head = branch.head.as_ref().map(|head| format!(", at {}", short_id(head))).unwrap_or_default();
        app.out.line(format_args!("{star} {name}  {}{head}", count(branch.length as usize, "message")))?;
    }
    Ok(Done::Fine)
}
