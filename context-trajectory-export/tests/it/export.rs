//! Tests of the export formats.

mod atif;
#[cfg(feature = "otlp")]
mod collector;
mod diagrams;
mod forms;
mod otlp;
mod read_back;
mod scene;
mod selection;
