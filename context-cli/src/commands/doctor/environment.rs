//! The program, and what was said to it: the store, the user, and variables.

use std::borrow::Cow;

use super::checks::Check;
use super::store::reason;
use crate::config::Config;
use crate::settings::Origin;

/// Variables that the command, its stores and its output read. Values of those with `true` are
/// secret.
const VARIABLES: [(&str, bool); 19] = [
    ("CONTEXT_STORE", false),
    ("CONTEXT_USER", false),
    ("CONTEXT_CONFIG", false),
    ("CONTEXT_PAGER", false),
    ("PAGER", false),
    ("CONTEXT_SERVE_TOKENS", false),
    ("PGHOST", false),
    ("PGHOSTADDR", false),
    ("PGPORT", false),
    ("PGDATABASE", false),
    ("PGUSER", false),
    ("PGPASSWORD", true),
    ("PGPASSFILE", false),
    ("PGSSLMODE", false),
    ("PGOPTIONS", true),
    ("AWS_SECRET_ACCESS_KEY", true),
    ("NO_COLOR", false),
    ("TERM", false),
    ("TZ", false),
];

pub(super) fn program() -> Check {
    let features = [
        ("sqlite", true),
        ("postgres", cfg!(feature = "postgres")),
        ("redis", cfg!(feature = "redis")),
        ("redis-cluster", cfg!(feature = "redis-cluster")),
        ("tls", cfg!(feature = "tls")),
        ("object", cfg!(feature = "object")),
        ("s3", cfg!(feature = "s3")),
        ("gcs", cfg!(feature = "gcs")),
        ("azure", cfg!(feature = "azure")),
    ];
    let names = |on: bool| {
        let names = features.iter().filter(|(_, is_on)| *is_on == on).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let (with, without) = (names(true), names(false));
    let without = if without.is_empty() { without } else { format!("; without {without}") };
    let version = env!("CARGO_PKG_VERSION");
    Check::ok("program", format!("context {version}, built with {with}{without}"))
}

/// Returns where a value comes from.
fn origin(origin: Origin, option: &str, variable: &str) -> String {
    match origin {
        Origin::Option => format!("from {option}"),
        Origin::Environment => format!("from {variable}"),
        Origin::File => "from the configuration".to_owned(),
        Origin::Default => "the default".to_owned(),
    }
}

pub(super) fn store(url: Option<&str>, source: Origin) -> Check {
    let shown = url.map_or("one that is open already".into(), without_password);
    Check::ok("store", format!("{shown} ({})", origin(source, "--store", "CONTEXT_STORE")))
}

pub(super) fn user(user: &str, source: Origin) -> Check {
    Check::ok("user", format!("{user} ({})", origin(source, "--user", "CONTEXT_USER")))
}

/// Checks the configuration. If it cannot be read, the defaults are used here.
pub(super) fn config() -> Check {
    const NAME: &str = "config";
    let Some(path) = Config::path() else {
        return Check::ok(NAME, "no file is used");
    };
    let file = path.display();
    match Config::read() {
        Err(failure) => Check::problem(NAME, reason(&failure))
            .advice("`context config path` prints the name of the file to mend"),
        Ok(_) if path.exists() => Check::ok(NAME, file.to_string()),
        Ok(_) => Check::ok(NAME, format!("there is no {file}")),
    }
}

/// Lists the variables that are set. No key of a provider is needed: nothing calls a model.
pub(super) fn variables() -> Check {
    let set = VARIABLES.iter().filter_map(|(name, is_secret)| {
        let value = std::env::var_os(name)?;
        let value = value.to_string_lossy();
        Some(match is_secret {
            true => format!("{name} is set"),
            false => format!("{name}={}", without_password(&value)),
        })
    });
    let set: Vec<_> = set.collect();
    Check::ok("variables", if set.is_empty() { "none is set".into() } else { set.join(", ") })
}

/// Hides what may be a password: in a URL, everything between the first colon of its user and the
/// last `@`, and the values of options that name a secret. Rather too much than too little.
pub(in crate::commands) fn without_password(url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = url.split_once(':') else { return Cow::Borrowed(url) };
    let (slashes, rest) = match rest.strip_prefix("//") {
        Some(rest) => ("//", rest),
        None => ("", rest),
    };
    let hidden = match rest.rsplit_once('@') {
        Some((before, host)) => match before.split_once(':') {
            Some((user, _)) => format!("{user}:…@{host}"),
            None => rest.to_owned(),
        },
        None => rest.to_owned(),
    };
    let (place, options) = hidden.split_once('?').unwrap_or((&hidden, ""));
    let option = |option: &str| match option.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}=…"),
        _ => option.to_owned(),
    };
    let options = options.split('&').filter(|one| !one.is_empty()).map(option).collect::<Vec<_>>();
    let mark = if options.is_empty() { "" } else { "?" };
    Cow::Owned(format!("{scheme}:{slashes}{place}{mark}{}", options.join("&")))
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pass", "secret", "token", "key"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn no_password_is_shown() {
        for (url, shown) in [
            ("sqlite:/data/a@b.db", "sqlite:/data/a@b.db"),
            ("sqlite:x.db?durability=full", "sqlite:x.db?durability=full"),
            ("sqlite:u:hunter2@host/x.db", "sqlite:u:…@host/x.db"),
            ("postgres://ada:hunter2@host:5432/chats", "postgres://ada:…@host:5432/chats"),
            ("redis://:hunter2@host/0", "redis://:…@host/0"),
            ("redis://:hunt@er2/?@host/0?prefix=a:", "redis://:…@host/0?prefix=a:"),
            (
                "postgres://host/c?password=hunter2&schema=a",
                "postgres://host/c?password=…&schema=a",
            ),
            ("mem:", "mem:"),
            ("context.db", "context.db"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
