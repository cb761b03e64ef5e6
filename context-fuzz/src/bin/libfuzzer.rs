//! The program that libFuzzer drives. `cargo xtask fuzz` builds it with instrumentation and names
//! the target in `CONTEXT_FUZZ_TARGET`.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(
    init: {
        let _ = chosen();
    },
    |bytes: &[u8]| {
        chosen().check(bytes);
    }
);

#[cfg(fuzzing)]
fn chosen() -> &'static context_fuzz::FuzzTarget {
    static CHOSEN: std::sync::LazyLock<&context_fuzz::FuzzTarget> =
        std::sync::LazyLock::new(|| {
            let name =
                std::env::var("CONTEXT_FUZZ_TARGET").expect("CONTEXT_FUZZ_TARGET names a target");
            context_fuzz::target(&name).expect("CONTEXT_FUZZ_TARGET names one of the targets")
        });
    &CHOSEN
}

/// Writes the initial documents and the corpus of a run, when built without instrumentation:
/// `libfuzzer FOLDER` creates a folder for each target.
#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    let root = std::env::args_os().nth(1).ok_or_else(|| std::io::Error::other("name a folder"))?;
    for target in context_fuzz::TARGETS {
        let folder = std::path::Path::new(&root).join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in target.seeds().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
        for (number, input) in target.corpus().iter().enumerate() {
            std::fs::write(folder.join(format!("corpus-{number}")), input)?;
        }
    }
    Ok(())
}
