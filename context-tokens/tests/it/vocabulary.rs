//! Counts compared with another implementation of the same vocabularies.

use std::fs;
use std::path::{Path, PathBuf};

use context_tokens::Vocabulary;
use proptest::prelude::*;

fn oracle(vocabulary: Vocabulary, text: &str) -> u64 {
    let tokenizer = match vocabulary {
        Vocabulary::O200kBase => bpe_openai::o200k_base(),
        _ => bpe_openai::cl100k_base(),
    };
    tokenizer.count(text) as u64
}

const BOTH: [Vocabulary; 2] = [Vocabulary::O200kBase, Vocabulary::Cl100kBase];

fn assert_same(text: &str) {
    for vocabulary in BOTH {
        let shown: String = text.chars().take(80).collect();
        assert_eq!(vocabulary.count(text), oracle(vocabulary, text), "{vocabulary}: {shown:?}");
    }
}

/// Collects the files of this repository.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden || entry.file_name() == "target" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            files(&path, into);
        } else if path
            .extension()
            .is_some_and(|ext| ["rs", "md", "toml", "json"].iter().any(|e| ext == *e))
        {
            into.push(path);
        }
    }
}

#[test]
fn the_files_of_this_repository() {
    let mut all = Vec::new();
    files(Path::new(env!("CARGO_MANIFEST_DIR")), &mut all);
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../context-core"), &mut all);
    assert!(all.len() > 50);
    for file in all {
        assert_same(&fs::read_to_string(file).unwrap());
    }
}

#[test]
fn known_counts() {
    assert_eq!(Vocabulary::O200kBase.count("hello world"), 2);
    assert_eq!(Vocabulary::Cl100kBase.count("tiktoken is great!"), 6);
    assert_eq!(Vocabulary::O200kBase.count(""), 0);
}

#[test]
fn special_tokens_are_text() {
    for text in ["<|endoftext|>", "<|im_start|>system<|im_end|>", "<|fim_prefix|>"] {
        assert!(BOTH.iter().all(|vocabulary| vocabulary.count(text) > 1), "{text}");
        assert_same(text);
        assert_same(&text.repeat(500));
    }
}

/// Returns texts on which tokenizers are slow: runs without a place to split.
fn runs() -> Vec<String> {
    let units = [
        "a",
        "X",
        "aB",
        "-",
        "=",
        "─",
        " ",
        "\t",
        "\n",
        "\r\n",
        " \n",
        "\n ",
        "\t ",
        " \u{a0}",
        "汉",
        "，",
        "é",
        "e\u{301}",
        "😀",
        "1",
        "١",
        "'",
        "'s",
        "/",
        "\n/",
        "-\n",
        "_",
        "<|endoftext|>",
        "人工智能正在改变世界",
        "\u{1}",
        "\u{fffd}",
        "ſ'ſ",
    ];
    let mut all = Vec::new();
    for unit in units {
        for length in [15, 31, 33, 64, 129, 700, 5_000] {
            let run = unit.repeat(length / unit.len() + 1);
            for around in
                [["", ""], ["x", "y"], [" ", " "], ["1  ", "  1"], ["-", "s"], ["\t\t", "\t\t-"]]
            {
                all.push(format!("{}{run}{}", around[0], around[1]));
            }
        }
    }
    all
}

#[test]
fn long_runs_are_counted_exactly() {
    for text in runs() {
        assert_same(&text);
    }
}

#[test]
fn megabytes_of_runs_are_counted_exactly() {
    for unit in ["a", "汉", "<|endoftext|>", "人工智能正在改变世界", "0123456789abcdef"]
    {
        let text = unit.repeat((1 << 20) / unit.len());
        assert_same(&text);
    }
    // The other implementation needs seconds for these texts. The vocabulary's longest token of
    // dashes repeats.
    let count = |text: &str| Vocabulary::O200kBase.count(text);
    let (one, two) = (count(&"-".repeat(1 << 20)), count(&"-".repeat(1 << 21)));
    assert!(two.abs_diff(2 * one) <= 1, "{one} and {two}");
}

proptest! {
    #[test]
    fn any_text(text in any::<String>()) {
        for vocabulary in BOTH {
            prop_assert_eq!(vocabulary.count(&text), oracle(vocabulary, &text));
        }
    }

    #[test]
    fn texts_of_runs(parts in prop::collection::vec((0_usize..12, 1_usize..90), 1..12)) {
        let units = ["a", "B", "-", " ", "\n", "汉", "é", "7", "'s", "/", "\t", "word "];
        let text: String = parts.iter().map(|(unit, times)| units[*unit].repeat(*times)).collect();
        for vocabulary in BOTH {
            prop_assert_eq!(vocabulary.count(&text), oracle(vocabulary, &text));
        }
    }

    #[test]
    fn long_words_of_random_letters(text in "[a-z]{1200,4000}") {
        for vocabulary in BOTH {
            prop_assert_eq!(vocabulary.count(&text), oracle(vocabulary, &text));
        }
    }

    #[test]
    fn long_texts_of_few_letters(text in "[ab]{1200,4000}|[ACGT]{1200,4000}|[-=]{1200,4000}") {
        for vocabulary in BOTH {
            prop_assert_eq!(vocabulary.count(&text), oracle(vocabulary, &text));
        }
    }

    #[test]
    fn never_more_tokens_than_bytes_and_some_for_every_text(text in ".{1,400}") {
        for vocabulary in BOTH {
            let count = vocabulary.count(&text);
            prop_assert!((1..=text.len() as u64).contains(&count));
        }
    }

    /// Words separated by a blank are tokenised separately.
    #[test]
    fn a_blank_between_words_separates_counts(left in "[a-z]{1,60}", right in "[a-z]{1,60}") {
        for vocabulary in BOTH {
            let joint = vocabulary.count(&format!("{left} {right}"));
            prop_assert_eq!(joint,
                vocabulary.count(&left) + vocabulary.count(&format!(" {right}")));
        }
    }
}
