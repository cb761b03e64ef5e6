//! Tests of the renderers through their public API, in one binary.

mod data;
mod markdown_properties;
mod markdown_reader;
mod markdown_rules;
mod plain;
mod plain_rules;
mod prompts;
mod rows;
mod scale;
mod toml_corpus;
mod toml_prompts;
mod toml_properties;
mod toml_rules;
mod toml_scale;
mod toon_corpus;
mod toon_prompts;
mod toon_properties;
mod toon_rules;
mod toon_scale;
mod xml_properties;
mod xml_reader;
mod xml_rules;
