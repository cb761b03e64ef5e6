//! Trajectories in the formats of other tools.

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
