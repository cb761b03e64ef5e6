//! How attributes are called. Those of OpenTelemetry are checked in a test against the list that
//! the project publishes; they are still in the making there, so they are kept here and not taken
//! from it.

/// Attributes, by what they say.
pub mod attribute {
    /// The session.
    pub const CONVERSATION: &str = "gen_ai.conversation.id";
    /// Whose session.
    pub const USER: &str = "user.id";
    /// What is done; see [`operation`](super::operation).
    pub const OPERATION: &str = "gen_ai.operation.name";
    /// The number of the agent.
    pub const AGENT_ID: &str = "gen_ai.agent.id";
    /// What the agent is called.
    pub const AGENT_NAME: &str = "gen_ai.agent.name";
    /// The provider of the model.
    pub const PROVIDER: &str = "gen_ai.provider.name";
    /// The model.
    pub const MODEL: &str = "gen_ai.request.model";
    /// Tokens read.
    pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
    /// Tokens written.
    pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
    /// Tokens read from the cache.
    pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
    /// Tokens written to the cache.
    pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
    /// Tokens of thoughts.
    pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
    /// What an agent or a model was asked. Content.
    pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
    /// What an agent or a model said. Content.
    pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
    /// The tool.
    pub const TOOL_NAME: &str = "gen_ai.tool.name";
    /// The label of an action, which is the id of its call where there was one.
    pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
    /// What a tool was called with. Content.
    pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    /// What a tool returned. Content.
    pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
    /// What went wrong.
    pub const ERROR: &str = "error.type";
    /// The program that the traces are of.
    pub const SERVICE: &str = "service.name";
    /// What OpenInference calls the kind of a span.
    pub const SPAN_KIND: &str = "openinference.span.kind";
    /// In US dollars.
    pub const COST: &str = "context.cost_usd";
    /// The number of the round.
    pub const ROUND: &str = "context.round";
    /// Where the round is in its life.
    pub const ROUND_STATE: &str = "context.round.state";
    /// The node: agent, round, number.
    pub const NODE: &str = "context.node.id";
    /// The label of a node.
    pub const NODE_LABEL: &str = "context.node.label";
    /// The kind of a node.
    pub const NODE_KIND: &str = "context.node.kind";
    /// Whether a node is on an active branch.
    pub const ACTIVE: &str = "context.node.active";
    /// Where data is.
    pub const PATH: &str = "context.data.path";
    /// The name of an edge.
    pub const EDGE: &str = "context.edge.name";
    /// The node at the other end of an edge.
    pub const EDGE_NODE: &str = "context.edge.node";
    /// How many rounds between the two ends of an edge are not there.
    pub const EDGE_MISSING: &str = "context.edge.missing_rounds";

    /// Those that OpenTelemetry names.
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

/// What is done in a span.
pub mod operation {
    /// A round of an agent.
    pub const INVOKE_AGENT: &str = "invoke_agent";
    /// A conclusion: an answer of a model.
    pub const CHAT: &str = "chat";
    /// An action.
    pub const EXECUTE_TOOL: &str = "execute_tool";
}
