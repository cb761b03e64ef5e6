//! Every command with its effect on a store. Read by tests of the parser, which detect missing
//! commands, and by tests of the executable, which run all of them.

/// The effect of a command on a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Opens no store.
    None,
    /// Changes nothing.
    Looks,
    /// Changes an existing store.
    Writes,
    /// Creates a store if it does not exist.
    Makes,
}

use Use::{Looks, Makes, None, Writes};

/// Name, effect, and a command line. The store is the default one and has a chat `notes`; the files
/// are `notes.json` and `runs.json`.
pub(crate) const COMMANDS: &[(&str, Use, &str)] = &[
    // It serves until Ctrl-C, unless the file is missing; `inspector.rs` starts and ends it.
    ("ui", None, "ui missing.json --no-open"),
    // It serves until Ctrl-C, unless the tokens are missing; `serve.rs` starts and ends it.
    ("serve", None, "serve --tokens missing.txt"),
    // It answers what a client writes to standard input; `mcp.rs` is one.
    ("mcp", Makes, "mcp"),
    ("chats", Looks, "chats"),
    ("log", Looks, "log notes"),
    ("show", Looks, "show notes m1"),
    ("search", Looks, "search notes"),
    ("branches", Looks, "branches notes"),
    ("branches", Looks, "branches notes --log"),
    ("branches", Writes, "branches notes --switch main"),
    ("branches", Writes, "branches notes --rename main trunk"),
    ("branches", Looks, "branches notes --delete other --dry-run"),
    ("branches", Writes, "branches notes --delete other --yes"),
    ("checkpoint", Looks, "checkpoint notes"),
    ("checkpoint", Writes, "checkpoint notes here"),
    ("checkpoint", Looks, "checkpoint notes here --delete --dry-run"),
    ("diff", Looks, "diff notes main main"),
    ("render", None, "render fragments.json"),
    ("prompt", Looks, "prompt notes"),
    ("prepare", Looks, "prepare notes --provider anthropic"),
    ("tokens", Looks, "tokens notes"),
    ("compact", Looks, "compact notes --dry-run"),
    ("compact", Looks, "compact notes --undo --dry-run"),
    ("compact", Writes, "compact notes"),
    ("pin", Looks, "pin notes"),
    ("pin", Writes, "pin notes m1"),
    ("graph", Looks, "graph notes"),
    ("spill list", Looks, "spill list notes"),
    ("spill read", Looks, "spill read notes 3f2a91c0"),
    ("spill prune", Looks, "spill prune --older-than 1d --dry-run"),
    ("spill prune", Writes, "spill prune --older-than 1d --yes"),
    ("streams list", Looks, "streams list notes"),
    ("streams show", Looks, "streams show notes answer"),
    ("streams prune", Looks, "streams prune --older-than 1d --dry-run"),
    ("streams prune", Writes, "streams prune --older-than 1d --yes"),
    ("trajectory list", Looks, "trajectory list"),
    ("trajectory show", Looks, "trajectory show notes"),
    ("trajectory graph", Looks, "trajectory graph notes"),
    ("trajectory export", Looks, "trajectory export notes --format atif"),
    ("trajectory stats", Looks, "trajectory stats notes"),
    ("trajectory prune", Looks, "trajectory prune --older-than 90d --dry-run"),
    ("trajectory prune", Writes, "trajectory prune --older-than 90d --yes"),
    ("trajectory import", Makes, "trajectory import runs.json --session runs"),
    ("trajectory record", Writes, "trajectory record notes"),
    ("memory recall", Looks, "memory recall tickets"),
    ("memory list", Looks, "memory list"),
    ("memory stats", Looks, "memory stats"),
    ("memory add", Makes, "memory add words"),
    ("memory add", Makes, "memory add --block user words"),
    ("memory add", Writes, "memory add --chat notes"),
    ("memory quarantine", Writes, "memory quarantine --from-session monday"),
    ("memory release", Writes, "memory release 3f2a91c0"),
    ("memory quarantined", Looks, "memory quarantined"),
    ("memory uses", Looks, "memory uses 3f2a91c0"),
    ("memory forget", Looks, "memory forget --all --dry-run"),
    ("memory forget", Writes, "memory forget --all --yes"),
    ("import", Makes, "import notes.json"),
    ("watch", Makes, "watch . --once"),
    ("export", Looks, "export notes"),
    ("export", Looks, "export --all --to jsonl"),
    ("export", Looks, "export notes --to md"),
    ("copy", Looks, "copy sqlite:context.db sqlite:other.db --dry-run"),
    ("copy", Writes, "copy notes copy"),
    ("fork", Writes, "fork notes"),
    ("rewind", Writes, "rewind notes m2"),
    ("restore", Writes, "restore notes here"),
    ("cherry-pick", Writes, "cherry-pick notes m1 --onto main"),
    ("redact", Looks, "redact notes m1 --dry-run"),
    ("redact", Writes, "redact notes m1 --yes"),
    ("retain", Looks, "retain --older-than 90d --dry-run"),
    ("retain", Writes, "retain --older-than 90d --yes"),
    // It reports a store that cannot be used instead of failing; `doctor.rs` tries such stores.
    ("doctor", None, "doctor"),
    ("verify", Looks, "verify"),
    // The store is only read. The new one is created beside it.
    ("repair", None, "repair sqlite:context.db sqlite:elsewhere/saved.db"),
    ("vacuum", Looks, "vacuum --dry-run"),
    ("vacuum", Writes, "vacuum"),
    ("backup", Looks, "backup elsewhere/new.db"),
    ("upgrade", Writes, "upgrade"),
    ("delete", Looks, "delete notes --dry-run"),
    ("delete", Writes, "delete notes --yes"),
    ("erase", Looks, "erase local --dry-run"),
    ("erase", Writes, "erase local --yes"),
    ("config list", None, "config list"),
    ("config get", None, "config get store"),
    ("config set", None, "config set color never"),
    ("config unset", None, "config unset color"),
    ("config path", None, "config path"),
    ("schema", None, "schema chats"),
    ("completions", None, "completions bash"),
    ("man", None, "man"),
];
