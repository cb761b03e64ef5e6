// The MCP SDK for TypeScript as a client of ours, over both transports.
//
//     client.mjs URL PROGRAM ARGUMENT…
//
// The service at URL and the server that PROGRAM starts have the conversation `notes-agent`. Prints
// a line for each test, as Rust's tests do. Ends with 0 if all tests ran, whatever they found.

import assert from "node:assert/strict";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const TOOLS = [
  "compact",
  "context_status",
  "forget",
  "fork",
  "list_chats",
  "read_messages",
  "recall",
  "remember",
  "search_history",
];

async function textOf(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result));
  return result.content.map((block) => block.text).join("\n");
}

const TESTS = {
  async lists_tools(client) {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name).sort(), TOOLS);
    for (const tool of tools) assert.ok(tool.description && tool.inputSchema.type === "object");
  },
  async lists_chats(client) {
    assert.match(await textOf(client, "list_chats", {}), /^notes-agent · .* · 17 messages/);
  },
  async searches(client) {
    const text = await textOf(client, "search_history", { query: "deposit venue" });
    assert.match(text, /chat "notes-agent" · message "m\d+"/);
    assert.match(text, /20 March/);
  },
  async reads_messages(client) {
    const asked = { chat: "notes-agent", first: 1, last: 2 };
    const text = await textOf(client, "read_messages", asked);
    assert.match(text, /^\[messages 1 to 2 of 17; later ones: /);
    assert.match(text, /What did we decide about the venue/);
  },
  async an_error_is_an_answer(client) {
    const asked = { name: "read_messages", arguments: { chat: "no-such-chat" } };
    const result = await client.callTool(asked);
    assert.ok(result.isError);
    assert.match(result.content[0].text, /no-such-chat/);
  },
  async reads_a_resource(client) {
    const uri = "context://chats/notes-agent";
    const { resources } = await client.listResources();
    assert.deepEqual(resources.map((resource) => resource.uri), [uri]);
    const read = await client.readResource({ uri });
    assert.match(read.contents[0].text, /What did we decide about the venue/);
  },
  async completes_the_name_of_a_chat(client) {
    const { resourceTemplates } = await client.listResourceTemplates();
    const ref = { type: "ref/resource", uri: resourceTemplates[0].uriTemplate };
    const argument = { name: "chat", value: "not" };
    const { completion } = await client.complete({ ref, argument });
    assert.deepEqual(completion.values, ["notes-agent"]);
  },
};

async function over(name, transport) {
  const client = new Client({ name: "context-suite", version: "1" });
  await client.connect(transport);
  for (const [test, run] of Object.entries(TESTS)) {
    let end = "ok";
    try {
      await run(client);
    } catch (error) {
      console.error(error);
      end = "FAILED";
    }
    console.log(`test typescript_sdk::${name}::${test} ... ${end}`);
  }
  await client.close();
}

const [url, command, ...args] = process.argv.slice(2);
await over("http", new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
await over("stdio", new StdioClientTransport({ command, args }));
