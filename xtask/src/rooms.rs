//! The rooms of the stores that keep rows: the same modules with the same jobs in each.

use std::collections::BTreeSet;

use crate::source::SourceFile;
use crate::tidy::Finding;

/// The page with the table.
const PAGE: &str = "ARCHITECTURE.md";
/// The beginning of the head of the table. The other columns name the stores.
const HEAD: &str = "| room |";

/// Compares the table of rooms with the modules of the stores that it names.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else { return Vec::new() };
    let mut found = Vec::new();
    let mut report = |line: usize, message| {
        found.push(Finding { path: PAGE.to_owned(), line: line + 1, message })
    };
    let lines: Vec<_> = page.text.lines().enumerate().collect();
    let Some(head) = lines.iter().position(|(_, line)| line.starts_with(HEAD)) else {
        return found;
    };
    let columns: Vec<_> = cells(lines[head].1).map(|cell| code(cell).map(str::to_owned)).collect();
    let rows = lines[head + 1..].iter().skip(1).take_while(|(_, line)| line.starts_with('|'));
    let rows: Vec<_> = rows.map(|(n, line)| (*n, cells(line).collect::<Vec<_>>())).collect();
    for (column, store) in columns.iter().enumerate() {
        let Some(store) = store else { continue };
        let mut left = modules(files, store);
        for (n, row) in &rows {
            let Some(room) = row.first().and_then(|cell| code(cell)) else { continue };
            let says = row.get(column).is_some_and(|cell| *cell == "yes");
            match (says, left.remove(room)) {
                (true, false) => report(*n, format!("{store} has no module `{room}`")),
                (false, true) => report(*n, format!("{store} has a module `{room}`")),
                _ => {}
            }
        }
        for module in left {
            report(head, format!("`{module}` of {store} is not a room of the table"));
        }
    }
    found
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.trim_matches('|').split('|').map(str::trim)
}

/// Returns the text of a cell that is a code span.
fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

/// Returns the top-level modules of a crate.
fn modules<'a>(files: &'a [SourceFile], krate: &str) -> BTreeSet<&'a str> {
    let inner = files.iter().filter_map(|file| {
        file.path.strip_prefix(krate)?.strip_prefix("/src/")?.strip_suffix(".rs")
    });
    inner.filter(|path| !path.contains('/') && *path != "lib").collect()
}
