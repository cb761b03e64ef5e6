//! `schema`: prints the JSON Schema of what a command writes with `--json`. The schemas are made
//! from the records themselves, so that they are what is written.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::{
    MovedRecord, backup, branches, chats, checkpoint, cherry_pick, compact, completions, config,
    copy, delete, diff, doctor, erase, export, export_markdown, graph, import, log, man, memory,
    pin, prepare, prompt, redact, render, repair, retain, search, serve, show, spill, streams,
    tokens, trajectory, ui, upgrade, vacuum, verify, watch,
};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::near_names::near;

/// Print the JSON Schema of what a command writes with --json.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context schema chats
  context schema memory list
  context chats --json=chat,title            only these fields of each record
  context schema | jq 'keys'                 the commands, with all schemas

A command writes one record per line; of several schemas a line has one. The field `v` is the
version of the record: it grows when a field changes its meaning, and new fields may come at any
time.")]
pub(crate) struct Args {
    /// The command [default: all, by name]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Writes the schema of a record.
type Writer = fn(&mut SchemaGenerator) -> Schema;

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.root_schema_for::<T>()
}

/// The records of each command.
const RECORDS: &[(&str, &[Writer])] = &[
    ("ui", &[of::<ui::UiRecord<'_>>]),
    ("serve", &[of::<serve::ServeRecord<'_>>, of::<serve::NewTokenRecord<'_>>]),
    ("chats", &[of::<chats::ChatRecord<'_>>]),
    ("log", &[of::<log::LogRecord<'_>>]),
    ("show", &[of::<show::ShowRecord<'_>>]),
    ("prompt", &[of::<prompt::PromptRecord<'_>>]),
    ("search", &[of::<search::SearchRecord<'_>>]),
    ("graph", &[of::<graph::GraphRecord<'_>>, of::<graph::GraphTextRecord<'_>>]),
    ("spill list", &[of::<spill::SpillRecord<'_>>]),
    ("spill read", &[of::<spill::SpillReadRecord<'_>>]),
    ("spill prune", &[of::<spill::SpillPruneRecord>]),
    ("streams list", &[of::<streams::StreamRecord<'_>>]),
    ("streams show", &[of::<streams::StreamRecord<'_>>, of::<streams::ChunkRecord<'_>>]),
    ("streams prune", &[of::<streams::StreamPruneRecord>]),
    ("trajectory list", &[of::<trajectory::list::RoundHeadRecord<'_>>]),
    ("trajectory show", &[of::<trajectory::outline::NodeRecord<'_>>]),
    ("trajectory graph", &[of::<trajectory::outline::NodeRecord<'_>>]),
    ("trajectory export", &[of::<trajectory::write::WrittenRecord<'_>>]),
    ("trajectory stats", &[of::<trajectory::stats::RoundStatsRecord<'_>>]),
    ("trajectory prune", &[of::<trajectory::prune::TrajectoryPruneRecord<'_>>]),
    ("trajectory import", &[of::<trajectory::import::TrajectoryImportRecord<'_>>]),
    ("trajectory record", &[of::<trajectory::record::RecordedRecord<'_>>]),
    (
        "memory recall",
        &[of::<memory::memory_view::MemoryLine<'_>>, of::<memory::recall::MemoryPromptRecord<'_>>],
    ),
    ("memory list", &[of::<memory::memory_view::MemoryLine<'_>>]),
    ("memory stats", &[of::<memory::stats::MemoryStatsRecord<'_>>]),
    (
        "memory add",
        &[of::<memory::add::MemoryAddRecord<'_>>, of::<memory::add::MemoryAddAllRecord<'_>>],
    ),
    ("memory quarantine", &[of::<memory::quarantine::MemoryQuarantineRecord<'_>>]),
    ("memory release", &[of::<memory::quarantine::MemoryReleaseRecord<'_>>]),
    ("memory quarantined", &[of::<memory::quarantine::MemoryQuarantineRecord<'_>>]),
    ("memory uses", &[of::<memory::uses::MemoryUseRecord<'_>>]),
    ("memory forget", &[of::<memory::forget::MemoryForgetRecord<'_>>]),
    (
        "import",
        &[
            of::<import::report::ImportRecord<'_>>,
            of::<import::report::BrokenRecord<'_>>,
            of::<import::report::FileRecord<'_>>,
            of::<trajectory::record::RecordedRecord<'_>>,
            of::<prompt::PromptRecord<'_>>,
        ],
    ),
    (
        "watch",
        &[
            of::<watch::report::WatchingRecord<'_>>,
            of::<watch::report::WatchedChatRecord<'_>>,
            of::<watch::report::WatchedFileRecord<'_>>,
        ],
    ),
    ("export", &[of::<export::ExportRecord<'_>>, of::<export_markdown::DocumentRecord<'_>>]),
    ("copy", &[of::<copy::CopyRecord<'_>>, of::<copy::stores::MigratedRecord<'_>>]),
    ("render", &[of::<render::RenderRecord<'_>>]),
    ("prepare", &[of::<prepare::PrepareRecord<'_>>]),
    (
        "tokens",
        &[
            of::<tokens::TokensRecord<'_>>,
            of::<tokens::TextRecord<'_>>,
            of::<tokens::ModelRecord<'_>>,
        ],
    ),
    ("compact", &[of::<compact::CompactRecord<'_>>]),
    ("pin", &[of::<pin::PinRecord<'_>>]),
    (
        "branches",
        &[
            of::<branches::BranchRecord<'_>>,
            of::<MovedRecord<'_>>,
            of::<branches::RenamedRecord<'_>>,
            of::<branches::DeletedRecord<'_>>,
            of::<branches::ref_log::RefChangeRecord<'_>>,
        ],
    ),
    ("fork", &[of::<MovedRecord<'_>>]),
    ("rewind", &[of::<MovedRecord<'_>>]),
    ("restore", &[of::<MovedRecord<'_>>]),
    ("checkpoint", &[of::<checkpoint::CheckpointRecord<'_>>]),
    ("diff", &[of::<diff::DiffRecord<'_>>]),
    ("cherry-pick", &[of::<cherry_pick::CherryPickRecord<'_>>]),
    ("redact", &[of::<redact::RedactRecord<'_>>, of::<redact::RemovedRecord<'_>>]),
    ("delete", &[of::<delete::DeleteRecord<'_>>]),
    ("retain", &[of::<retain::RetainRecord<'_>>]),
    ("erase", &[of::<erase::EraseRecord<'_>>]),
    ("verify", &[of::<verify::VerifyRecord<'_>>]),
    ("repair", &[of::<repair::RepairRecord<'_>>]),
    ("vacuum", &[of::<vacuum::VacuumRecord>]),
    ("backup", &[of::<backup::BackupRecord>]),
    ("upgrade", &[of::<upgrade::UpgradeRecord<'_>>]),
    ("doctor", &[of::<doctor::DoctorRecord<'_>>]),
    ("config", &[of::<config::ConfigRecord<'_>>, of::<config::ConfigPathRecord<'_>>]),
    ("completions", &[of::<completions::CompletionsRecord<'_>>]),
    ("man", &[of::<man::PageRecord<'_>>]),
];

/// Returns the schemas of the records of a command. None if it writes no records of its own.
fn schemas(command: &str) -> Vec<Schema> {
    // A command of `config` writes what `config` does.
    let found = RECORDS.iter().find(|(name, _)| *name == command).or_else(|| {
        let (first, _) = command.split_once(' ')?;
        RECORDS.iter().find(|(name, _)| *name == first)
    });
    let writers = found.map_or(&[][..], |(_, writers)| writers);
    // What is left out if it is empty is not required.
    let mut generator = SchemaSettings::default().for_serialize().into_generator();
    writers.iter().map(|write| write(&mut generator)).collect()
}

/// Returns the schemas of a command as one.
fn schema_of(command: &str) -> Value {
    let mut schemas: Vec<Value> = schemas(command).into_iter().map(Value::from).collect();
    if schemas.len() == 1 {
        return schemas.remove(0);
    }
    // References are relative to the whole.
    let mut parts = serde_json::Map::new();
    for schema in schemas.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(Value::Object(of_record)) = schema.remove("$defs") {
            parts.extend(of_record);
        }
    }
    json!({"title": format!("context {command}"), "anyOf": schemas, "$defs": parts})
}

/// Adds the names of the fields that a schema describes. Returns whether it may have others.
fn add_fields(schema: &Value, root: &Value, fields: &mut Vec<String>) -> bool {
    let mut is_open = schema.get("additionalProperties").is_some_and(|more| *more != json!(false));
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        fields.extend(properties.keys().cloned());
    }
    for list in ["oneOf", "anyOf", "allOf"] {
        for part in schema.get(list).and_then(Value::as_array).into_iter().flatten() {
            is_open |= add_fields(part, root, fields);
        }
    }
    if let Some(place) = schema.get("$ref").and_then(Value::as_str)
        && let Some(part) = root.pointer(place.trim_start_matches('#'))
    {
        is_open |= add_fields(part, root, fields);
    }
    is_open
}

/// Fails if a field is asked for that no record of the command has.
pub(crate) fn check_fields(command: &str, asked: &[String]) -> Result<(), Failure> {
    if asked.is_empty() {
        return Ok(());
    }
    let (mut fields, mut is_open) = (Vec::new(), false);
    for schema in schemas(command) {
        let schema = Value::from(schema);
        is_open |= add_fields(&schema, &schema, &mut fields);
    }
    fields.sort_unstable();
    fields.dedup();
    match asked.iter().find(|field| !is_open && !fields.contains(field)) {
        None => Ok(()),
        Some(_) if fields.is_empty() => {
            Err(Failure::Usage(format!("`context {command}` writes no records with fields")))
        }
        Some(field) => Err(Failure::Usage(format!(
            "`context {command}` has no field {field}; it has {}",
            fields.join(", ")
        ))),
    }
}

pub(crate) fn run(args: &Args, app: &mut App) -> Result<Outcome, Failure> {
    let command = args.command.join(" ");
    let schema = if command.is_empty() {
        RECORDS.iter().map(|(name, _)| ((*name).to_owned(), schema_of(name))).collect()
    } else if schemas(&command).is_empty() {
        let names = RECORDS.iter().map(|(name, _)| *name);
        let near = near(&command, names).join(" or ");
        let meant = if near.is_empty() { near } else { format!("; did you mean {near}?") };
        return Err(Failure::Usage(format!(
            "no records of a command `{command}` are known{meant}"
        )));
    } else {
        schema_of(&command)
    };
    // It is JSON with and without --json.
    match app.out.is_json() {
        true => app.out.record(&schema)?,
        false => app.out.content(format_args!("{schema:#}"))?,
    }
    Ok(Outcome::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_no_record_has_is_refused_with_those_that_they_have() {
        let check = |command, field: &str| check_fields(command, &[field.to_owned()]);
        assert!(check("chats", "title").is_ok() && check("memory list", "text").is_ok());
        assert!(check("config get", "value").is_ok());
        let error = check("chats", "name").expect_err("no field").to_string();
        assert_eq!(
            error,
            "`context chats` has no field name; it has active, branches, chat, created_at, file, \
             messages, title, updated_at, v"
        );
        assert!(check("mcp", "v").is_err());
    }

    #[test]
    fn every_command_with_records_is_listed() {
        use crate::command_table::COMMANDS;
        for (name, ..) in COMMANDS {
            let is_exempt = ["mcp", "schema"].contains(name);
            assert!(is_exempt || !schemas(name).is_empty(), "{name}");
        }
    }
}
