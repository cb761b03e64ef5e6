//! Tools as functions.

use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use super::ToolContext;
use context_core::history::shorten;
use context_core::model::{FunctionTool, Tool};
use context_core::{Json, Part, ToolCall, ToolResult};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

type Running = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// A tool that the library can run: its description for the model, and the function behind it.
///
/// The [`tools!`](crate::tools) macro makes tools of async functions. Each takes one argument, a
/// struct, whose JSON Schema is the schema of the tool. The documentation comment of the struct
/// describes the tool to the model, and those of its fields describe the arguments.
///
/// ```
/// use context_runtime::{ToolFunction, tools};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Finds trains between two cities.
/// #[derive(Deserialize, JsonSchema)]
/// struct FindTrains {
///     from: String,
///     to: String,
///     /// The day, such as `2026-03-06`.
///     day: String,
/// }
///
/// async fn find_trains(wanted: FindTrains) -> Result<String, std::io::Error> {
///     Ok(format!("{}: 10:05 from {} to {}", wanted.day, wanted.from, wanted.to))
/// }
///
/// let [trains] = tools![find_trains];
/// assert_eq!(trains.tool().name, "find_trains");
/// assert_eq!(trains.tool().description.as_deref(), Some("Finds trains between two cities."));
/// ```
#[derive(Clone)]
pub struct ToolFunction {
    tool: FunctionTool,
    run: Arc<dyn Fn(ToolCall, ToolContext) -> Running + Send + Sync>,
}

impl ToolFunction {
    /// Creates a tool from a function of one argument. The schema is that of the argument's type.
    pub fn new<A, F, R>(
        name: impl Into<String>,
        function: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: JsonSchema + DeserializeOwned,
        F: Future<Output = R> + Send + 'static,
        R: ToolReturn,
    {
        let mut schema = SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator()
            .into_root_schema_for::<A>();
        let description = take_text(&mut schema, "description");
        // The name of the Rust type and the dialect mean nothing to a model.
        schema.remove("title");
        schema.remove("$schema");
        let mut tool = FunctionTool::new(name, serde_json::Value::from(schema));
        tool.description = description;
        Self::with_schema(tool, move |call| -> Running {
            match call.input.parse::<A>() {
                Ok(arguments) => {
                    let running = function(arguments);
                    Box::pin(async move { running.await.into_result(&call) })
                }
                Err(error) => Box::pin(ready(not_understood(&call, &error))),
            }
        })
    }

    /// Creates a tool with a description and schema that were written by hand.
    ///
    /// ```
    /// use context_runtime::{FunctionTool, ToolCall, ToolFunction};
    /// use serde_json::json;
    ///
    /// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    /// let weather = FunctionTool::new("weather", schema).description("Returns the weather.");
    /// let weather = ToolFunction::with_schema(weather, |call: ToolCall| async move { call.result("18 °C") });
    /// ```
    pub fn with_schema<F>(
        tool: FunctionTool,
        run: impl Fn(ToolCall) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ToolResult> + Send + 'static,
    {
        Self::with_context(tool, move |call, _| run(call))
    }

    /// Creates a tool whose function also gets the turn that runs it, such as for a sub-agent. See
    /// [`ToolContext`].
    pub fn with_context<F>(
        tool: FunctionTool,
        run: impl Fn(ToolCall, ToolContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ToolResult> + Send + 'static,
    {
        Self { tool, run: Arc::new(move |call, context| Box::pin(run(call, context))) }
    }

    /// The description for the model.
    pub fn tool(&self) -> &FunctionTool {
        &self.tool
    }

    /// Runs the tool for a call. An error is a result too.
    pub async fn run(&self, call: ToolCall, context: ToolContext) -> ToolResult {
        (self.run)(call, context).await
    }
}

impl From<&ToolFunction> for Tool {
    fn from(function: &ToolFunction) -> Self {
        function.tool.clone().into()
    }
}

impl From<ToolFunction> for Tool {
    fn from(function: ToolFunction) -> Self {
        function.tool.into()
    }
}

impl fmt::Debug for ToolFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFunction").field("name", &self.tool.name).finish_non_exhaustive()
    }
}

fn take_text(schema: &mut Schema, key: &str) -> Option<String> {
    match schema.remove(key) {
        Some(serde_json::Value::String(text)) => Some(text),
        _ => None,
    }
}

fn not_understood(call: &ToolCall, error: &serde_json::Error) -> ToolResult {
    let text = error.to_string();
    let text = shorten::ends(&text, 300, 0).map_or(&*text, |(head, _)| head);
    call.error(format!("The arguments were not understood: {text}."))
}

/// The return value of a tool's function: text, JSON, content parts, or an error whose text the
/// model is shown.
pub trait ToolReturn {
    /// Converts the value to the result of a call.
    fn into_result(self, call: &ToolCall) -> ToolResult;
}

impl ToolReturn for String {
    fn into_result(self, call: &ToolCall) -> ToolResult {
        call.result(self)
    }
}

impl ToolReturn for &'static str {
    fn into_result(self, call: &ToolCall) -> ToolResult {
        call.result(self)
    }
}

impl ToolReturn for Json {
    fn into_result(self, call: &ToolCall) -> ToolResult {
        call.result(self.as_str())
    }
}

impl ToolReturn for serde_json::Value {
    fn into_result(self, call: &ToolCall) -> ToolResult {
        call.result(self.to_string())
    }
}

impl ToolReturn for Vec<Part> {
    fn into_result(self, call: &ToolCall) -> ToolResult {
        let mut result = call.result("");
        result.output = self;
        result
    }
}

impl ToolReturn for () {
    fn into_result(self, call: &ToolCall) -> ToolResult {
        call.result("done")
    }
}

impl<T: ToolReturn, E: fmt::Display> ToolReturn for Result<T, E> {
    fn into_result(self, call: &ToolCall) -> ToolResult {
        match self {
            Ok(value) => value.into_result(call),
            Err(error) => call.error(error.to_string()),
        }
    }
}

/// Makes tools of async functions, named as the functions. See
/// [`ToolFunction`](crate::ToolFunction).
#[macro_export]
macro_rules! tools {
    ($($function:ident),* $(,)?) => {
        [$($crate::ToolFunction::new(stringify!($function), $function)),*]
    };
}
