//! Tests of the export formats.

mod atif;
mod browser;
#[cfg(feature = "otlp")]
mod collector;
mod diagrams;
mod forms;
mod html;
mod otlp;
mod read_back;
mod scene;
mod selection;
