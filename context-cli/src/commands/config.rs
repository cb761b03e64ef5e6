//! `config`: shows and changes the configuration of a person.

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::doctor::environment::without_password;
use crate::app::{App, Outcome};
use crate::config::{self, ConfigFile, PRICES};
use crate::error::Failure;
use crate::output::Style;
use crate::settings::Origin;
use crate::table::{Column, Table};
use crate::text::clean;

/// Show and change the defaults of the command line.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context config                             the values in use, and where each is from
  context config set store ~/chats.db
  context config set model claude-sonnet-4-5
  context config set color never
  context config set prices.gpt-5 'input=1.25, output=10, cache_read=0.125'
  context config unset store

The file is TOML, `context config path` prints its name: CONTEXT_CONFIG, otherwise context/config.toml
in XDG_CONFIG_HOME or ~/.config. An option goes before a variable of the environment, and that before
the file. Prices are per million tokens, in the currency of the table of models.

Settings:
  store           the store: a file, or a URL such as postgres://…
  user            the user whose chats are used
  key_file        the file with the keys of an encrypted store
  key_command     the command that prints the keys of an encrypted store
  user_keys       the file with a key for each user of an encrypted store
  model           the model for tokens, prepare and compact
  color           when colours are used: auto, always or never
  pager           the program that shows long text; empty for none
  prices.MODEL    input and output, and if you like cache_read and
                  cache_write")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the values in use, and where each is from
    List,
    /// Print a value of the file
    Get {
        /// The setting
        key: String,
    },
    /// Write a value into the file
    Set {
        /// The setting
        key: String,
        /// The value
        value: String,
    },
    /// Take a value out of the file
    Unset {
        /// The setting
        key: String,
    },
    /// Print the path of the file
    Path,
}

/// JSON record of `config`: a value in use, or one that was changed.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConfigRecord<'a> {
    v: u32,
    key: &'a str,
    value: Option<&'a str>,
    /// `option`, `environment`, `file` or `default`.
    from: &'static str,
}

/// JSON record of `config path`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConfigPathRecord<'a> {
    v: u32,
    path: &'a str,
    exists: bool,
}

pub(crate) fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    match args.action.unwrap_or(Action::List) {
        Action::List => list(app),
        Action::Get { key } => {
            let file = ConfigFile::open()?;
            let Some(value) = file.get(&key)? else {
                app.out.note(format_args!("{key} is not set in {}", file.shown()));
                return Ok(Outcome::Findings);
            };
            one(app, &key, Some(&value), Origin::File)
        }
        Action::Set { key, value } => {
            ConfigFile::open()?.set(&key, &value)?;
            changed(app, &key, Some(&value))
        }
        Action::Unset { key } => {
            let mut file = ConfigFile::open()?;
            if !file.unset(&key)? {
                app.out.note(format_args!("{key} is not set in {}", file.shown()));
            }
            changed(app, &key, None)
        }
        Action::Path => {
            let file = ConfigFile::open()?.shown();
            let exists = std::path::Path::new(&file).exists();
            match app.out.is_json() {
                true => app.out.record(&ConfigPathRecord { v: 1, path: &file, exists })?,
                false => app.out.line(clean(&file))?,
            }
            Ok(Outcome::Success)
        }
    }
}

fn one(app: &mut App, key: &str, value: Option<&str>, from: Origin) -> Result<Outcome, Failure> {
    match app.out.is_json() {
        true => app.out.record(&ConfigRecord { v: 1, key, value, from: from.as_str() })?,
        false => app.out.content(value.unwrap_or_default())?,
    }
    Ok(Outcome::Success)
}

fn changed(app: &mut App, key: &str, value: Option<&str>) -> Result<Outcome, Failure> {
    if app.out.is_json() {
        return one(app, key, value, Origin::File);
    }
    let name = app.out.paint(Style::Bold, clean(key)).to_string();
    match value {
        Some(value) => app.out.line(format_args!("{name} is now {}", clean(value)))?,
        None => app.out.line(format_args!("{name} is not set any more"))?,
    }
    Ok(Outcome::Success)
}

fn list(app: &mut App) -> Result<Outcome, Failure> {
    let file = ConfigFile::open()?;
    let mut values = app.settings.values();
    for (_, value, _) in values.iter_mut().filter(|(key, ..)| key == "store") {
        *value = without_password(value).into_owned();
    }
    for model in file.priced() {
        let key = format!("{PRICES}.{model}");
        let value = file.get(&key)?.unwrap_or_default();
        values.push((key, value, Origin::File));
    }
    if app.out.is_json() {
        for (key, value, from) in &values {
            one(app, key, Some(value.as_str()).filter(|value| !value.is_empty()), *from)?;
        }
        return Ok(Outcome::Success);
    }
    let mut table = Table::new([
        Column::word("SETTING").style(Style::Bold),
        Column::text("VALUE"),
        Column::word("FROM").style(Style::Dim),
    ]);
    for (key, value, from) in values {
        table.row([key.into(), value.into(), from.as_str().into()]);
    }
    table.write(&mut app.out)?;
    let (file, variable) = (file.shown(), config::VARIABLE);
    app.out.end_note(format_args!("the file is {file}; {variable} names another"))?;
    Ok(Outcome::Success)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use crate::config::KEYS;

    #[test]
    fn the_help_has_every_setting() {
        let mut command = crate::cli::Cli::command();
        let help = command.find_subcommand_mut("config").expect("a command").render_long_help();
        for (key, about) in KEYS {
            assert!(help.to_string().contains(&format!("{key:16}{about}")), "{key}");
        }
    }
}
