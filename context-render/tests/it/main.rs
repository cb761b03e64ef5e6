//! The renderers through their public API, in one binary.

mod markdown_properties;
mod markdown_reader;
mod markdown_rules;
mod prompts;
mod properties;
mod reader;
mod rules;
mod scale;
mod trees;
