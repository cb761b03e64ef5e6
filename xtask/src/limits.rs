//! The table of limits: the security page must list every limit of the stores with its value.

use crate::source::SourceFile;
use crate::tidy::Finding;

/// The source file of the limits.
const CODE: &str = "context-core/src/limits.rs";

/// The page with the table.
const PAGE: &str = "docs/security.md";

/// Returns the limits that the page lacks or lists with another value. Returns nothing if one of
/// the files is missing.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let find = |path| files.iter().find(|file| file.path == path);
    let (Some(code), Some(page)) = (find(CODE), find(PAGE)) else { return Vec::new() };
    let rows: Vec<&str> =
        page.text.lines().filter(|line| line.trim_start().starts_with('|')).collect();
    let lines =
        code.text.lines().enumerate().filter_map(|(n, line)| Some((n + 1, constant(line)?)));
    let absent = lines.filter(|(_, (name, number))| {
        !rows.iter().any(|row| {
            row.contains(&format!("`{name}`")) && numbers(row).any(|shown| shown == *number)
        })
    });
    let finding = |(line, (name, number))| {
        let message = format!("no table of {PAGE} has `{name}` with {number}");
        Finding { path: CODE.to_owned(), line, message }
    };
    absent.map(finding).collect()
}

/// Parses the name and value of a public constant. A value is a number or a shift.
fn constant(line: &str) -> Option<(&str, u64)> {
    let (name, rest) = line.strip_prefix("pub const ")?.split_once(':')?;
    let (_, value) = rest.trim_end_matches(';').split_once('=')?;
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    let value = match value.split_once("<<") {
        Some((number_of, shift)) => number(number_of)?.checked_shl(shift.trim().parse().ok()?)?,
        None => number(value)?,
    };
    Some((name, value))
}

/// Returns the numbers of a row, with or without thousands separators.
fn numbers(row: &str) -> impl Iterator<Item = u64> {
    let words = row.split(|c: char| !(c.is_ascii_digit() || c == ','));
    words.filter_map(|word| word.trim_matches(',').replace(',', "").parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_stands_on_the_page_with_its_number() {
        let code = "//! A.\npub const A: usize = 16 << 20;\npub const B: u64 = 2_000;\npub const C: usize = 7;\n";
        let page = "| `A`: of a, b | 16,777,216 | bytes |\n| `B`, `C` | 2,000, 8 | x |\n";
        let files = [SourceFile::new(CODE, code), SourceFile::new(PAGE, page)];
        let found: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found, [format!("{CODE}:4: no table of {PAGE} has `C` with 7")]);
    }
}
