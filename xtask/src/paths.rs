//! Paths on pages: each link leads to a file, folder or heading that exists, and so does each path
//! on the pages for contributors.

use crate::source::SourceFile;
use crate::tidy::Finding;

/// The pages whose paths are checked.
const PAGES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/plugins.md"];

/// Beginnings of the paths of this workspace.
const STARTS: [&str; 4] = ["context-", "examples/", "xtask/", "docs/"];

/// Returns the links and paths on pages that lead nowhere.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut found = check_paths(files);
    for page in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (n, line) in prose(&page.text) {
            for link in links(line).filter(|link| !leads_somewhere(files, page, link)) {
                let message = format!("the link `{link}` leads nowhere");
                found.push(Finding { path: page.path.clone(), line: n + 1, message });
            }
        }
    }
    found
}

/// Returns the lines of a page outside code blocks, with their indexes.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Returns the targets of the links in a line that lead to this workspace.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()).filter(|target| {
        let elsewhere = ["://", "::", "mailto:"].iter().any(|mark| target.contains(mark));
        !elsewhere && !target.contains("LICENSE")
    })
}

/// Whether a link of a page leads to a file or folder, and to a heading if it names one.
fn leads_somewhere(files: &[SourceFile], page: &SourceFile, link: &str) -> bool {
    let (target, heading) = link.split_once('#').map_or((link, None), |(t, h)| (t, Some(h)));
    let path = match target {
        "" => page.path.clone(),
        _ => resolve(&page.path, target),
    };
    let leads_to = |heading| {
        let target = files.iter().find(|file| file.path == path);
        target.is_none_or(|file| prose(&file.text).any(|(_, line)| anchor(line) == heading))
    };
    (path.is_empty() || exists(files, &path))
        && heading.is_none_or(|heading| leads_to(Some(heading.to_owned())))
}

/// Returns the path from the root of the workspace that a page means by a relative path.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the anchor of a heading, as GitHub forms it. `None` for other lines.
fn anchor(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let letters = title.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    });
    Some(letters.flat_map(char::to_lowercase).collect())
}

fn check_paths(files: &[SourceFile]) -> Vec<Finding> {
    let pages = files.iter().filter(|file| PAGES.contains(&file.path.as_str()));
    let mut found = Vec::new();
    for page in pages {
        for (n, line) in page.text.lines().enumerate() {
            let spans = line.split('`').skip(1).step_by(2);
            let paths = spans.filter(|span| is_path(span)).flat_map(expand);
            for path in paths.filter(|path| !exists(files, path)) {
                let message = format!("there is no `{path}`");
                found.push(Finding { path: page.path.clone(), line: n + 1, message });
            }
        }
    }
    found
}

/// Whether a code span is a path of this workspace. One with a placeholder is an example.
fn is_path(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./{},*".contains(c);
    span.contains('/')
        && span.chars().all(plain)
        && STARTS.iter().any(|start| span.starts_with(start))
}

/// Returns the paths that the braces of a path stand for.
fn expand(span: &str) -> Vec<String> {
    let Some((before, rest)) = span.split_once('{') else { return vec![span.to_owned()] };
    let Some((choices, after)) = rest.split_once('}') else { return vec![span.to_owned()] };
    let each = |choice: &str| expand(&format!("{before}{choice}{after}"));
    choices.split(',').flat_map(each).collect()
}

/// Whether a file or folder exists. A star stands for the rest of a name.
fn exists(files: &[SourceFile], path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    files.iter().any(|file| {
        let mut names = file.path.split('/');
        parts.iter().all(|part| names.next().is_some_and(|name| fits(name, part)))
    })
}

fn fits(name: &str, part: &str) -> bool {
    match part.split_once('*') {
        Some((before, after)) => {
            name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after.trim_matches('*')))
        }
        None => name == part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_folders_and_headings() {
        let page = "# A: `b`, c\n[a](#a-b-c) [b](#gone) [c](b.md#two) [d](b.md#three) [e](../c) [f](d)\n\
                    [g](https://example.org) [h](../README.md)\n```text\n[i](gone)\n```\n";
        let files = [
            SourceFile::new("docs/a.md", page),
            SourceFile::new("docs/b.md", "## Two\n"),
            SourceFile::new("c/d.rs", ""),
            SourceFile::new("README.md", ""),
        ];
        let found: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["#gone", "b.md#three", "d"]
                .map(|link| format!("docs/a.md:2: the link `{link}` leads nowhere"))
        );
    }

    #[test]
    fn paths_lead_to_files_or_folders() {
        let page = "| `context-a/src/store` | `context-{a,b}/src/lib.rs` |\n`context-*/src` and \
                    `context-a/src/fold*`, `context-<name>/src`, `context-a::b`, `context-a/gone.rs`\n";
        let files = [
            SourceFile::new("ARCHITECTURE.md", page),
            SourceFile::new("context-a/src/lib.rs", ""),
            SourceFile::new("context-a/src/store/a.rs", ""),
            SourceFile::new("context-a/src/folder.rs", ""),
        ];
        let found: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md:1: there is no `context-b/src/lib.rs`",
                "ARCHITECTURE.md:2: there is no `context-a/gone.rs`",
            ]
        );
    }
}
