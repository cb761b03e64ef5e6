//! The results as files for others: a page, data, and a badge for a README.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::report::{Line, Outcome};

/// The style of the page, which needs nothing from elsewhere.
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;\
    padding:0 1rem;color:#1b1f24;background:#fff}table{border-collapse:collapse;width:100%}\
    th,td{text-align:left;padding:.2rem .6rem;border-bottom:1px solid #d8dee4;\
    vertical-align:top}td.pass{color:#1a7f37}td.fail{color:#c4161c;font-weight:600}\
    td.skip{color:#57606a}pre{white-space:pre-wrap;margin:.3rem 0;font-size:13px}\
    @media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}\
    th,td{border-color:#30363d}td.pass{color:#3fb950}td.fail{color:#f85149}\
    td.skip{color:#9198a1}}";

/// The results of a run.
#[derive(Debug, Serialize)]
pub struct ReportFolder<'a> {
    /// The version of the contract.
    contract: u32,
    /// The day of the run.
    day: &'a str,
    subjects: Vec<Proof<'a>>,
}

/// The outcomes of an implementation.
#[derive(Debug, Serialize)]
struct Proof<'a> {
    subject: &'a str,
    #[serde(rename = "crate")]
    krate: &'a str,
    provision: &'a str,
    passed: usize,
    skipped: usize,
    failed: usize,
    cases: Vec<&'a Line>,
}

impl<'a> ReportFolder<'a> {
    /// Orders the lines of a run by implementation.
    pub fn new(lines: &'a [Line], day: &'a str) -> Self {
        let mut subjects: Vec<Proof<'a>> = Vec::new();
        for line in lines {
            let known = subjects.iter().position(|proof| proof.subject == line.subject);
            let at = known.unwrap_or(subjects.len());
            if at == subjects.len() {
                subjects.push(Proof::begin(line));
            }
            subjects[at].add(line);
        }
        let contract = lines.first().map_or(0, |line| line.suite_version);
        Self { contract, day, subjects }
    }

    /// Writes `report.json`, `report.html` and `badge.svg` into a folder, which is created; with
    /// several implementations also a badge of each, `badge-NAME.svg`.
    ///
    /// # Errors
    ///
    /// If the folder or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))
        };
        write("report.json", serde_json::to_string_pretty(self)? + "\n")?;
        write("report.html", self.page())?;
        write("badge.svg", self.badge(&self.subjects))?;
        if self.subjects.len() > 1 {
            for proof in &self.subjects {
                let name = proof.subject.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
                write(&format!("badge-{name}.svg"), self.badge(std::slice::from_ref(proof)))?;
            }
        }
        Ok(())
    }

    fn page(&self) -> String {
        let mut page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <title>Contract {contract}</title><style>{STYLE}</style>\n\
             <h1>Proved against contract {contract}</h1><p>{day}</p>\n<table>\
             <tr><th>implementation<th>passed<th>skipped<th>failed<th>servers\n",
            contract = self.contract,
            day = escaped(self.day)
        );
        // Writing to a string never fails.
        for Proof { subject, passed, skipped, failed, provision, .. } in &self.subjects {
            let (subject, provision) = (escaped(subject), escaped(provision));
            let _ = writeln!(
                page,
                "<tr><td><a href=\"#{subject}\">{subject}</a><td class=\"pass\">{passed}\
                 <td class=\"skip\">{skipped}<td class=\"{}\">{failed}<td>{provision}",
                if *failed > 0 { "fail" } else { "" }
            );
        }
        page += "</table>\n";
        for proof in &self.subjects {
            let subject = escaped(proof.subject);
            let _ = writeln!(
                page,
                "<h2 id=\"{subject}\">{subject}</h2><table><tr><th>case<th>outcome<th>reason"
            );
            for line in &proof.cases {
                let (class, word) = match line.outcome {
                    Outcome::Pass => ("pass", "passed"),
                    Outcome::Skip => ("skip", "skipped"),
                    Outcome::Begin | Outcome::Fail => ("fail", "failed"),
                };
                let reason = line.reason.as_deref().unwrap_or_default();
                let reason = match line.outcome {
                    Outcome::Fail => {
                        format!("<pre>{}</pre>seed {:#x}", escaped(reason), line.seed)
                    }
                    _ => escaped(reason),
                };
                let name = escaped(&format!("{}::{}", line.group, line.case));
                let _ = writeln!(page, "<tr><td>{name}<td class=\"{class}\">{word}<td>{reason}");
            }
            page += "</table>\n";
        }
        page
    }

    fn badge(&self, of: &[Proof<'_>]) -> String {
        let sum = |count: fn(&Proof<'_>) -> usize| of.iter().map(count).sum::<usize>();
        let (passed, failed) = (sum(|proof| proof.passed), sum(|proof| proof.failed));
        let (text, color) = match failed {
            0 => (format!("{passed} passed"), "#1a7f37"),
            failed => (format!("{failed} failed"), "#c4161c"),
        };
        let name = format!("contract {}", self.contract);
        // The mean width of a letter of the font, and a margin on both sides.
        let [left, right] = [&name, &text].map(|text| 7 * text.chars().count() + 12);
        let width = left + right;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"20\" \
             role=\"img\" aria-label=\"{name}: {text}\"><title>{name}: {text}</title>\
             <rect width=\"{left}\" height=\"20\" fill=\"#57606a\"/>\
             <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{color}\"/>\
             <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,sans-serif\" \
             font-size=\"11\"><text x=\"{}\" y=\"14\">{name}</text>\
             <text x=\"{}\" y=\"14\">{text}</text></g></svg>\n",
            left / 2,
            left + right / 2
        )
    }
}

impl<'a> Proof<'a> {
    fn begin(line: &'a Line) -> Self {
        Self {
            subject: &line.subject,
            krate: &line.krate,
            provision: &line.provision,
            passed: 0,
            skipped: 0,
            failed: 0,
            cases: Vec::new(),
        }
    }

    fn add(&mut self, line: &'a Line) {
        match line.outcome {
            Outcome::Pass => self.passed += 1,
            Outcome::Skip => self.skipped += 1,
            Outcome::Begin | Outcome::Fail => self.failed += 1,
        }
        self.cases.push(line);
    }
}

/// Replaces what HTML gives a meaning. Reasons have texts of the subject in them.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c if c.is_control() && c != '\n' => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    escaped
}
