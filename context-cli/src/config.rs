//! The configuration of a person: a TOML file that names the store, the user, the model and so on,
//! for what the command line and the environment leave open.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use context_runtime::tokens::{ModelTable, Prices};
use etcetera::BaseStrategy;
use serde::Deserialize;
use tempfile::NamedTempFile;
use toml_edit::{DocumentMut, Item, Value};

use crate::error::Failure;
use crate::near_names::near;
use crate::output::ColorWhen;

/// The variable that names another file. Empty for none.
pub(crate) const VARIABLE: &str = "CONTEXT_CONFIG";
/// The keys of the file, apart from prices, with what they are for.
pub(crate) const KEYS: [(&str, &str); 8] = [
    ("store", "the store: a file, or a URL such as postgres://…"),
    ("user", "the user whose chats are used"),
    ("key_file", "the file with the keys of an encrypted store"),
    ("key_command", "the command that prints the keys of an encrypted store"),
    ("user_keys", "the file with a key for each user of an encrypted store"),
    ("model", "the model for tokens, prepare and compact"),
    ("color", "when colours are used: auto, always or never"),
    ("pager", "the program that shows long text; empty for none"),
];
/// The first part of a key such as `prices.gpt-5.input`.
pub(crate) const PRICES: &str = "prices";

/// The values of the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) store: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) key_file: Option<String>,
    pub(crate) key_command: Option<String>,
    pub(crate) user_keys: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) color: Option<ColorWhen>,
    pub(crate) pager: Option<String>,
    /// Prices of models, per million tokens, in the currency of the built-in table.
    #[serde(default)]
    pub(crate) prices: BTreeMap<String, Prices>,
}

/// The problem of a configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("it cannot be read: {0}")]
    Read(#[source] io::Error),
    #[error("it cannot be written: {0}")]
    Write(#[source] io::Error),
    #[error("{0}")]
    Syntax(String),
    #[error("there is no folder for the configuration of this user")]
    NoFolder,
    #[error("there is no setting {key:?}; {}", meant(.key))]
    UnknownKey { key: String },
    #[error("prices are written such as input=1.25, output=10")]
    Prices,
}

impl Config {
    /// Returns the path of the file: that of `CONTEXT_CONFIG`, otherwise `context/config.toml` in
    /// the folder for configurations, which is `XDG_CONFIG_HOME` or `~/.config` on Unix. `None` if
    /// there is no such folder, or if the variable is empty.
    pub(crate) fn path() -> Option<PathBuf> {
        match env::var_os(VARIABLE) {
            Some(path) if path.is_empty() => None,
            Some(path) => Some(path.into()),
            None => {
                let folders = etcetera::choose_base_strategy().ok()?;
                Some(folders.config_dir().join("context").join("config.toml"))
            }
        }
    }

    /// Reads the file, which need not exist.
    pub(crate) fn read() -> Result<Self, Failure> {
        let Some(file) = Self::path() else { return Ok(Self::default()) };
        let read = || Self::from_text(&text_of(&file)?);
        read().map_err(|source| Failure::Config { file: file.display().to_string(), source })
    }

    /// Reads the text of a file.
    pub(crate) fn from_text(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml_edit::de::from_str(text).map_err(|error| {
            let mut told = error.to_string().trim_end().to_owned();
            if let Some(key) = unknown_key(text) {
                told = format!("{told}\n{}", meant(&key));
            }
            ConfigError::Syntax(told)
        })?;
        config.models().map_err(|error| ConfigError::Syntax(error.to_string()))?;
        Ok(config)
    }

    /// Returns the table of models with the prices of the file.
    fn models(&self) -> Result<ModelTable, context_runtime::tokens::TableError> {
        let mut table = ModelTable::builtin().clone();
        for (name, prices) in &self.prices {
            table.set_prices(name, *prices, "the configuration")?;
        }
        Ok(table)
    }

    /// Returns the table of models with the prices of the file. Those of a file that was read are
    /// in range.
    pub(crate) fn model_table(&self) -> ModelTable {
        self.models().unwrap_or_else(|_| ModelTable::builtin().clone())
    }
}

/// Returns the first key of a file that is no setting.
fn unknown_key(text: &str) -> Option<String> {
    let document: DocumentMut = text.parse().ok()?;
    let mut keys = document.iter().map(|(key, _)| key);
    keys.find(|key| !settings().any(|name| name == *key)).map(str::to_owned)
}

/// Returns the names of all settings.
fn settings() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(name, _)| *name).chain([PRICES])
}

/// Describes the settings that a key was probably meant to be, or all settings.
fn meant(key: &str) -> String {
    let near = near(key, settings());
    match near.is_empty() {
        true => format!("there are {}", settings().collect::<Vec<_>>().join(", ")),
        false => format!("did you mean {}?", near.join(" or ")),
    }
}

fn text_of(file: &Path) -> Result<String, ConfigError> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(ConfigError::Read),
    }
}

/// The file as its author wrote it, to change a value in it.
pub(crate) struct ConfigFile {
    path: PathBuf,
    document: DocumentMut,
}

impl ConfigFile {
    /// Opens the file, which need not exist.
    pub(crate) fn open() -> Result<Self, Failure> {
        let path = Config::path().ok_or_else(|| failure("", ConfigError::NoFolder))?;
        let read = || {
            text_of(&path)?
                .parse()
                .map_err(|error: toml_edit::TomlError| ConfigError::Syntax(error.to_string()))
        };
        match read() {
            Ok(document) => Ok(Self { path, document }),
            Err(source) => Err(failure(&path.display().to_string(), source)),
        }
    }

    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns a value as text.
    pub(crate) fn get(&self, key: &str) -> Result<Option<String>, Failure> {
        let mut item = self.document.as_item();
        for part in self.parts(key)? {
            match item.get(&part) {
                Some(next) => item = next,
                None => return Ok(None),
            }
        }
        Ok(item.clone().into_value().ok().map(|value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.decorated("", "").to_string(),
        }))
    }

    /// Returns the names of the models that have prices of their own.
    pub(crate) fn priced(&self) -> Vec<String> {
        let table = self.document.get(PRICES).and_then(Item::as_table_like);
        table.into_iter().flat_map(|table| table.iter().map(|(name, _)| name.to_owned())).collect()
    }

    /// Sets a value. Fails without a change if it is not a value for the key.
    pub(crate) fn set(&mut self, key: &str, text: &str) -> Result<(), Failure> {
        let parts = self.parts(key)?;
        let mut value = match parts.len() {
            1 => Value::from(text),
            _ => format!("{{{text}}}").parse().map_err(|_| self.failed(ConfigError::Prices))?,
        };
        let mut item = self.document.as_item_mut();
        for part in &parts {
            if item.is_none() {
                *item = toml_edit::table();
            }
            item = &mut item[part.as_str()];
        }
        if let Some(old) = item.as_value() {
            // A comment behind a value stays there.
            *value.decor_mut() = old.decor().clone();
        }
        *item = Item::Value(value);
        self.write()
    }

    /// Removes a value. Returns whether there was one.
    pub(crate) fn unset(&mut self, key: &str) -> Result<bool, Failure> {
        let parts = self.parts(key)?;
        let removed = match parts.as_slice() {
            [table, name] => {
                let table = self.document.get_mut(table).and_then(Item::as_table_like_mut);
                table.and_then(|table| table.remove(name))
            }
            parts => parts.first().and_then(|name| self.document.remove(name)),
        };
        if removed.is_some() {
            self.write()?;
        }
        Ok(removed.is_some())
    }

    /// Writes the file, if what is in it is a configuration.
    fn write(&self) -> Result<(), Failure> {
        let text = self.document.to_string();
        Config::from_text(&text).map_err(|source| self.failed(source))?;
        let write = || {
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            // A reader sees the old file or the new one.
            let mut file = NamedTempFile::new_in(folder)?;
            file.write_all(text.as_bytes())?;
            file.persist(&self.path).map(drop).map_err(|error| error.error)
        };
        write().map_err(|error| self.failed(ConfigError::Write(error)))
    }

    /// Returns the parts of a key: a name, or `prices` and a model, which may have dots in its
    /// name.
    fn parts(&self, key: &str) -> Result<Vec<String>, Failure> {
        if KEYS.iter().any(|(name, _)| *name == key) {
            return Ok(vec![key.to_owned()]);
        }
        match key.strip_prefix(PRICES).and_then(|rest| rest.strip_prefix('.')) {
            Some(model) if !model.is_empty() => Ok(vec![PRICES.to_owned(), model.to_owned()]),
            _ => Err(self.failed(ConfigError::UnknownKey { key: key.to_owned() })),
        }
    }

    fn failed(&self, source: ConfigError) -> Failure {
        failure(&self.shown(), source)
    }
}

fn failure(file: &str, source: ConfigError) -> Failure {
    Failure::Config { file: file.to_owned(), source }
}
