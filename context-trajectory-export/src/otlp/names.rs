//! Names of attributes. A test compares the OpenTelemetry names with the published list. They are
//! not stable there yet, so they are defined here instead of taken from a crate of that project.

/// The attributes.
pub mod attribute {
    /// The session.
    pub const CONVERSATION: &str = "gen_ai.conversation.id";
    /// The user of the session.
    pub const USER: &str = "user.id";
    /// The operation of a span; see [`operation`](super::operation).
    pub const OPERATION: &str = "gen_ai.operation.name";
    /// The number of the agent.
    pub const AGENT_ID: &str = "gen_ai.agent.id";
    /// The name of the agent.
    pub const AGENT_NAME: &str = "gen_ai.agent.name";
    /// The provider of the model.
    pub const PROVIDER: &str = "gen_ai.provider.name";
    /// The model.
    pub const MODEL: &str = "gen_ai.request.model";
    /// Input tokens.
    pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    /// Output tokens.
    pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    /// Input tokens read from the cache.
    pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
    /// Input tokens written to the cache.
    pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
    /// Output tokens used for reasoning.
    pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
    /// The input of an agent or a model. Content.
    pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
    /// The output of an agent or a model. Content.
    pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
    /// The tool.
    pub const TOOL_NAME: &str = "gen_ai.tool.name";
    /// The label of an action, which is the id of its call if the call had one.
    pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
    /// The arguments of a tool call. Content.
    pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    /// The result of a tool call. Content.
    pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
    /// The type of an error.
    pub const ERROR: &str = "error.type";
    /// The service name of the traces.
    pub const SERVICE: &str = "service.name";
    /// The span kind of OpenInference.
    pub const SPAN_KIND: &str = "openinference.span.kind";
    /// The cost in US dollars.
    pub const COST: &str = "context.cost_usd";
    /// The number of the round.
    pub const ROUND: &str = "context.round";
    /// The lifecycle state of the round.
    pub const ROUND_STATE: &str = "context.round.state";
    /// The node: agent, round, number.
    pub const NODE: &str = "context.node.id";
    /// The label of a node.
    pub const NODE_LABEL: &str = "context.node.label";
    /// The kind of a node.
    pub const NODE_KIND: &str = "context.node.kind";
    /// Whether a node is on an active branch.
    pub const ACTIVE: &str = "context.node.active";
    /// The path of a data node.
    pub const PATH: &str = "context.data.path";
    /// The name of an edge.
    pub const EDGE: &str = "context.edge.name";
    /// The node at the other end of an edge.
    pub const EDGE_NODE: &str = "context.edge.node";
    /// The number of missing rounds between the two ends of an edge.
    pub const EDGE_MISSING: &str = "context.edge.missing_rounds";

    /// The attributes that OpenTelemetry defines.
    pub const OF_OPENTELEMETRY: [&str; 20] = [
        CONVERSATION,
        USER,
        OPERATION,
        AGENT_ID,
        AGENT_NAME,
        PROVIDER,
        MODEL,
        INPUT_TOKENS,
        OUTPUT_TOKENS,
        CACHE_READ_TOKENS,
        CACHE_WRITE_TOKENS,
        REASONING_TOKENS,
        INPUT_MESSAGES,
        OUTPUT_MESSAGES,
        TOOL_NAME,
        TOOL_CALL_ID,
        TOOL_ARGUMENTS,
        TOOL_RESULT,
        ERROR,
        SERVICE,
    ];
}

/// The operations of spans.
pub mod operation {
    /// A round of an agent.
    pub const INVOKE_AGENT: &str = "invoke_agent";
    /// A conclusion: an answer of a model.
    pub const CHAT: &str = "chat";
    /// An action.
    pub const EXECUTE_TOOL: &str = "execute_tool";
}
