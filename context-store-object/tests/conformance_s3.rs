//! Runs the conformance suite against a split store: the history in SQLite, blobs in a bucket of an
//! S3 server, with one prefix per namespace.

mod subject;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(missing) = context_conformance::find_server(subject::S3_URL) {
        return context_conformance::ignore_all(&missing);
    }
    context_conformance::main(subject::Split::new("split over s3", |place: &Path| {
        // The path of the file of the history is unique, and the same in each process.
        let prefix = place.with_extension("").to_string_lossy().replace('/', "_");
        subject::s3_bucket(&prefix)
    }))
}
