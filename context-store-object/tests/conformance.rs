//! Runs the conformance suite against a split store: the history in SQLite, blobs in a folder.

mod subject;

use std::path::Path;

use context_store_object::ObjectConfig;

fn main() -> std::process::ExitCode {
    context_conformance::main(subject::Split::new("split over a folder", |place: &Path| {
        Ok(ObjectConfig::folder(place.with_extension("blobs")))
    }))
}
