//! Replay: a recorded run step by step, with a model and tools that answer as they did then.
//!
//! [`Replay`] reads a trajectory as a conversation: questions, model turns with their calls and
//! results, and answers. To inspect a run, use [`steps`](Replay::steps) and
//! [`messages`](Replay::messages). To run an agent against the record, give its loop
//! [`RecordedModel`] in place of the model and [`RecordedTools`] in place of the tools: no model
//! and no tool is called. If the loop deviates from the record, a [`Divergence`] names the step.
//!
//! ```
//! # use std::sync::Arc;
//! use context_core::trajectory::AgentRef;
//! use context_core::trajectory::NewQuery;
//! # use context_core::{CancelSignal, ModelRequest};
//! # use context_core::model::LanguageModel;
//! # use context_store_inmem::InMemoryStore;
//! use context_trajectory::replay::{RecordedModel, RecordedTools, Replay};
//! # use context_trajectory::{OpenOptions, Trajectories, Step, StepCall};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! # let trajectories = Trajectories::builder(Arc::new(InMemoryStore::default())).build()?;
//! # let open = trajectories.open(&AgentRef::main("ada", "trip").round(0), OpenOptions::new()).await?;
//! open.ask(NewQuery::new("Where is it warm in March?")).await?;
//! let call = StepCall::new("call_1", "weather", serde_json::json!({"month": 3}));
//! open.step(Step::new("I look it up.").call(call)).await?;
//! open.tool_result("call_1", serde_json::json!(["Madeira"]), true).await?;
//! open.step(Step::new("On Madeira.")).await?;
//!
//! let replay = Replay::new(&open.trajectory().await?);
//! let (model, tools) = (RecordedModel::new(&replay), RecordedTools::new(&replay));
//! let asked = ModelRequest::new(replay.messages().into_iter().take(1));
//! let answer = model.complete(&asked, &CancelSignal::never()).await?;
//! assert_eq!(answer.message.readable_text(), "I look it up.");
//! let result = tools.answer("call_1", "weather", &serde_json::json!({"month": 3}).into())?;
//! assert_eq!(result.output.as_str(), r#"["Madeira"]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The agent loop is the caller's: checking that it behaves as before is the purpose of a replay.

mod calls;
mod divergence;
mod messages;
mod model;
mod order;
mod steps;
mod tools;

pub use divergence::{Divergence, DivergenceKind};
pub use model::RecordedModel;
pub use steps::{RecordedStep, Replay};
pub use tools::{RecordedResult, RecordedTools};
