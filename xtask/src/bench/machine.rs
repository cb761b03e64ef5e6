//! A description of the machine, for reports in Markdown. Unknown values are left out.

use std::fs;
use std::process::Command;

/// Returns the processors, the memory and the kernel, for example
/// `1 of 2 cores (AMD EPYC), 23 GB, Linux 6.18`.
pub(crate) fn describe() -> String {
    let usable = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = of_all(usable, &processors);
    let model = value(&processors, "model name");
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| value(&text, "MemTotal"));
    let cores = match model {
        Some(model) => format!("{cores} ({model})"),
        None => cores,
    };
    let kernel = said(Command::new("uname").arg("-sr"));
    [Some(cores), memory.as_deref().and_then(gigabytes), kernel]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the date in UTC.
pub(crate) fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}

/// Returns the compiler without its commit, for example `rustc 1.95.0`.
pub(crate) fn compiler() -> String {
    let version = said(
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version"),
    );
    let version = version.unwrap_or_else(|| "an unknown compiler".to_owned());
    version.split(" (").next().unwrap_or_default().to_owned()
}

/// Returns the first line that a program prints.
pub(crate) fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned())
}

/// Formats the number of usable processors, since a measurement is often pinned to one.
fn of_all(usable: usize, processors: &str) -> String {
    let all = processors.lines().filter(|line| line.starts_with("processor")).count();
    if usable < all { format!("{usable} of {all} cores") } else { format!("{usable} cores") }
}

/// Returns the value after the colon of the first line with this name.
fn value(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Formats `24662712 kB` as `24 GB`.
fn gigabytes(memory: &str) -> Option<String> {
    let kilobytes: f64 = memory.split_whitespace().next()?.parse().ok()?;
    Some(format!("{:.0} GB", kilobytes / f64::from(1 << 20)))
}

#[cfg(test)]
mod tests {
    use super::{gigabytes, of_all, value};

    #[test]
    fn lines_of_the_system_are_read() {
        let text = "processor\t: 0\nmodel name\t: A Processor\nMemTotal:       24662712 kB\n";
        assert_eq!(value(text, "model name").as_deref(), Some("A Processor"));
        assert_eq!(
            value(text, "MemTotal").and_then(|memory| gigabytes(&memory)).as_deref(),
            Some("24 GB")
        );
        assert_eq!(value(text, "absent"), None);
    }

    #[test]
    fn being_pinned_is_said() {
        let two = "processor\t: 0\nmodel name\t: A Processor\nprocessor\t: 1\n";
        assert_eq!(
            [of_all(1, two), of_all(2, two), of_all(4, "")],
            ["1 of 2 cores", "2 cores", "4 cores"]
        );
    }
}
