//! The renderers through their public API, in one binary.

mod data;
mod plain;
mod prompts;
mod properties;
mod reader;
mod rules;
mod scale;
mod toml_corpus;
mod toml_prompts;
mod toml_properties;
mod toml_rules;
mod toml_scale;
mod trees;
