//! The values that commands use where their own options are silent: of the command line, the
//! environment, the configuration, or the default.

use context_runtime::tokens::ModelTable;

use crate::config::Config;
use crate::output::{ColorWhen, OutputSettings};
use crate::store_keys::KeySettings;

/// The store that is used if none is named.
const DEFAULT_STORE: &str = "sqlite:context.db";
/// The user whose chats are used if none is named.
const DEFAULT_USER: &str = "local";

/// The place where a value was given. The first one that has a value is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The command line.
    Option,
    /// The environment.
    Environment,
    /// The configuration.
    File,
    Default,
}

impl Origin {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        }
    }
}

/// The settings of a command.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The URL of the store, as it was given.
    pub(crate) store: (String, Origin),
    /// The users. All but the first are for commands that take several.
    pub(crate) users: (Vec<String>, Origin),
    /// The sources of the keys of the store, if it is encrypted.
    pub(crate) keys: KeySettings,
    /// The model, if one was configured.
    pub(crate) model: Option<String>,
    pub(crate) color: (ColorWhen, Origin),
    pub(crate) pager: (String, Origin),
    /// The models with their windows and prices.
    pub(crate) models: ModelTable,
    pub(crate) json: bool,
    pub(crate) fields: Vec<String>,
    pub(crate) full_time: bool,
}

/// The values of the command line and the environment, with the origin of the store and the users.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) store: Option<(String, Origin)>,
    pub(crate) users: Option<(Vec<String>, Origin)>,
    pub(crate) keys: KeySettings,
    pub(crate) color: Option<ColorWhen>,
    pub(crate) no_pager: bool,
    /// The fields of records, if records are asked for. All if empty.
    pub(crate) json: Option<Vec<String>>,
    pub(crate) full_time: bool,
}

impl Settings {
    /// Joins what was given with the configuration.
    pub(crate) fn new(given: Given, config: Config) -> Self {
        let models = config.model_table();
        let store = given.store.or(config.store.map(|store| (store, Origin::File)));
        let users = given.users.or(config.user.map(|user| (vec![user], Origin::File)));
        let of_file = |value: Option<String>| value.map(|value| (value, Origin::File));
        let keys = given.keys.or(KeySettings {
            file: of_file(config.key_file),
            command: of_file(config.key_command),
            users: of_file(config.user_keys),
        });
        let color = given.color.map(|color| (color, Origin::Option));
        Self {
            store: store.unwrap_or_else(|| (DEFAULT_STORE.to_owned(), Origin::Default)),
            users: users.unwrap_or_else(|| (vec![DEFAULT_USER.to_owned()], Origin::Default)),
            keys,
            model: config.model,
            color: color
                .or(config.color.map(|color| (color, Origin::File)))
                .unwrap_or((ColorWhen::Auto, Origin::Default)),
            pager: pager(given.no_pager, config.pager),
            models,
            json: given.json.is_some(),
            fields: given.json.unwrap_or_default(),
            full_time: given.full_time,
        }
    }

    /// Returns the settings of the output.
    pub(crate) fn output(&self) -> OutputSettings {
        OutputSettings {
            json: self.json,
            fields: self.fields.clone(),
            color: self.color.0,
            full_time: self.full_time,
            pager: self.pager.0.clone(),
            ..OutputSettings::default()
        }
    }

    /// Returns the values of the settings that the configuration knows.
    pub(crate) fn values(&self) -> Vec<(String, String, Origin)> {
        let color = match self.color.0 {
            ColorWhen::Auto => "auto",
            ColorWhen::Always => "always",
            ColorWhen::Never => "never",
        };
        let model = match &self.model {
            Some(model) => (model.as_str(), Origin::File),
            None => ("", Origin::Default),
        };
        let users = self.users.0.join(", ");
        let KeySettings { file, command, users: user_keys } = &self.keys;
        let [file, command, user_keys] = [file, command, user_keys].map(|value| match value {
            Some((value, from)) => (value.as_str(), *from),
            None => ("", Origin::Default),
        });
        [
            ("store", self.store.0.as_str(), self.store.1),
            ("user", users.as_str(), self.users.1),
            ("key_file", file.0, file.1),
            ("key_command", command.0, command.1),
            ("user_keys", user_keys.0, user_keys.1),
            ("model", model.0, model.1),
            ("color", color, self.color.1),
            ("pager", self.pager.0.as_str(), self.pager.1),
        ]
        .map(|(key, value, from)| (key.to_owned(), value.to_owned(), from))
        .into()
    }
}

/// Returns the pager, by the rules of git: a variable of this program, then the configuration, then
/// the variable of all programs.
fn pager(none: bool, configured: Option<String>) -> (String, Origin) {
    let variable = |name| Some((std::env::var(name).ok()?, Origin::Environment));
    if none {
        return (String::new(), Origin::Option);
    }
    variable("CONTEXT_PAGER")
        .or(configured.map(|pager| (pager, Origin::File)))
        .or_else(|| variable("PAGER"))
        .unwrap_or_else(|| ("less".to_owned(), Origin::Default))
}
