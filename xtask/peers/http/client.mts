// The HTTP API through openapi-fetch, with types that openapi-typescript generated.
//
//     client.mjs URL TOKEN TOKEN_OF_ANOTHER_USER
//
// Each step builds on those before it. Prints a line for each, as Rust's tests do, and ends with 0
// if all of them ran, whatever they found.

import assert from "node:assert/strict";

import createClient from "openapi-fetch";

import type { components, paths } from "./api.d.ts";

type Schemas = components["schemas"];

const [url, tokenOfAda, tokenOfBob] = process.argv.slice(2);
const chat = "typescript";

function connect(token: string | undefined) {
  const headers = { authorization: `Bearer ${token}` };
  return createClient<paths>({ baseUrl: url ?? "", headers });
}

const ada = connect(tokenOfAda);
const bob = connect(tokenOfBob);

// Returns the body of an answer that must be one of success.
function ok<T>(answer: { data?: T; error?: Schemas["Problem"] }): T {
  assert.equal(answer.error, undefined, JSON.stringify(answer.error));
  assert.notEqual(answer.data, undefined);
  return answer.data as T;
}

function isProblem(answer: { error?: Schemas["Problem"]; response: Response }, status: number) {
  assert.equal(answer.response.status, status);
  assert.equal(answer.error?.status, status);
  assert.ok(answer.error?.title && answer.error.detail);
  return answer.error.detail;
}

function say(...texts: string[]): Schemas["AppendMessages"] {
  return { messages: texts.map((text) => ({ role: "user", text })) };
}

function append(body: Schemas["AppendMessages"], header?: Record<string, string>) {
  const params = { path: { chat }, ...(header && { header }) };
  return ada.POST("/v1/chats/{chat}/messages", { params, body });
}

type Asked = paths["/v1/chats/{chat}/messages"]["get"]["parameters"]["query"];

async function page(query?: Asked, of = chat) {
  const params = { path: { chat: of }, ...(query && { query }) };
  return ok(await ada.GET("/v1/chats/{chat}/messages", { params }));
}

function texts(messages: Schemas["StoredMessage"][]) {
  return messages.map((message) => {
    const { parts } = message.body as { parts: { text: string }[] };
    return parts[0]?.text;
  });
}

async function act(body: Schemas["Action"]) {
  const params = { path: { chat } };
  return ok(await ada.POST("/v1/chats/{chat}/actions", { params, body }));
}

// Stands for a provider: it asks for the weather, and then tells it.
function model(request: unknown): unknown {
  type Part = { type: string; content?: string };
  const { messages } = request as { messages: { content: Part[] }[] };
  const result = messages.at(-1)?.content.find((part) => part.type === "tool_result");
  const call = { type: "tool_use", id: "c1", name: "weather", input: { city: "Lisbon" } };
  const said = result ? { type: "text", text: `It is ${result.content}.` } : call;
  return {
    id: "m1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [said],
    stop_reason: result ? "end_turn" : "tool_use",
    usage: { input_tokens: 20, output_tokens: 10 },
  };
}

async function follow(header?: { "Last-Event-ID": string }) {
  const params = { path: { chat, stream: "s1" }, ...(header && { header }) };
  const path = "/v1/chats/{chat}/streams/{stream}/events";
  const text = ok(await ada.GET(path, { params, parseAs: "text" }));
  return text.trim().split("\n\n").map((block) => {
    const lines = block.split("\n").map((line) => line.split(": ") as [string, string]);
    const { event, id, data } = Object.fromEntries(lines);
    return { event, id, data: block.slice(block.indexOf("data: ") + 6).split("\n")[0] ?? data };
  });
}

const STEPS = {
  async creates_a_chat() {
    const body = { title: "A trip", metadata: { topic: "travel" } };
    const made = ok(await ada.PUT("/v1/chats/{chat}", { params: { path: { chat } }, body }));
    assert.deepEqual([made.title, made.active], ["A trip", "main"]);
    assert.deepEqual(made.metadata, { topic: "travel" });
    const { chats } = ok(await ada.GET("/v1/chats"));
    assert.deepEqual(chats.map((head) => head.chat), [chat]);
  },
  async appends_once() {
    const first = ok(await append(say("One."), { "Idempotency-Key": "k1" }));
    const again = ok(await append(say("One."), { "Idempotency-Key": "k1" }));
    assert.deepEqual([first.replayed, again.replayed], [false, true]);
    assert.deepEqual([first.ids, again.ids], [["k1-1"], ["k1-1"]]);
  },
  async appends_parts() {
    const parts = [{ type: "text", text: "Two." }];
    ok(await append({ messages: [{ id: "two", role: "assistant", parts }] }));
    const params = { path: { chat, message: "two" } };
    const stored = ok(await ada.GET("/v1/chats/{chat}/messages/{message}", { params }));
    assert.deepEqual([stored.kind, texts([stored])], ["assistant", ["Two."]]);
  },
  async pages_back_and_forth() {
    ok(await append(say("Three.", "Four.", "Five.")));
    const newest = await page({ limit: 2 });
    assert.deepEqual([texts(newest.messages), newest.more], [["Four.", "Five."], false]);
    const earlier = await page({ limit: 2, before: newest.earlier ?? "" });
    assert.deepEqual([texts(earlier.messages), earlier.more], [["Two.", "Three."], true]);
    const first = await page({ limit: 2, before: earlier.earlier ?? "" });
    assert.deepEqual([texts(first.messages), first.earlier], [["One."], null]);
    const later = await page({ after: first.head ?? "", generation: first.generation });
    assert.deepEqual(texts(later.messages), ["Two.", "Three.", "Four.", "Five."]);
  },
  async refuses_an_append_to_another_head() {
    const params = { path: { chat } };
    const { response } = await ada.GET("/v1/chats/{chat}/messages", { params });
    const tag = { "If-Match": response.headers.get("etag") ?? "" };
    ok(await append(say("Six."), tag));
    assert.match(isProblem(await append(say("Six."), tag), 409), /newest/);
    isProblem(await append(say("x"), { "If-Match": "no tag" }), 422);
  },
  async forks_and_rewinds() {
    const forked = await act({ action: "fork", message: "two", to: "typescript-fork" });
    assert.equal(forked.chat, "typescript-fork");
    assert.equal((await page({}, "typescript-fork")).messages.length, 2);
    const moved = await act({ action: "rewind", message: "two" });
    assert.equal(moved.message, "two");
    const shown = ok(await ada.GET("/v1/chats/{chat}", { params: { path: { chat } } }));
    assert.deepEqual([shown.active, shown.branches.length], [moved.branch, 2]);
    assert.notEqual(shown.active, "main");
  },
  async makes_a_whole_turn() {
    const weather: Schemas["ToolDefinition"] = {
      name: "weather",
      description: "Returns the weather of a city.",
      input_schema: { type: "object", properties: { city: { type: "string" } } },
    };
    const settings: Schemas["TurnSettings"] = { model: "claude-sonnet-4-5", tools: [weather] };
    const path = { chat: "typescript-turn" };
    const begin = { settings, question: "How is the weather in Lisbon?", id: "q1" };
    let step = ok(await ada.POST("/v1/chats/{chat}/turns", { params: { path }, body: begin }));
    const states: Schemas["TurnState"][] = [];
    while (step.state !== "answered") {
      states.push(step.state);
      const body: Schemas["ContinueTurn"] = { settings };
      if (step.state === "call") {
        assert.equal(step.request?.provider, "anthropic");
        body.replies = [{ status: 200, body: model(step.request.body) }];
      } else {
        body.results = step.calls.map(({ id, arguments: given }) => {
          const { city } = JSON.parse(given) as { city: string };
          return { call_id: id, text: `18 °C in ${city}` };
        });
      }
      const params = { path: { ...path, turn: step.turn } };
      step = ok(await ada.POST("/v1/chats/{chat}/turns/{turn}", { params, body }));
    }
    assert.deepEqual(states, ["call", "tools", "call"]);
    assert.equal(step.answer?.text, "It is 18 °C in Lisbon.");
    assert.equal(step.usage.output_tokens, 10);
    const body = { settings };
    const prepared = ok(await ada.POST("/v1/chats/{chat}/prepare", { params: { path }, body }));
    assert.ok(prepared.tokens.history > 0);
  },
  async writes_and_follows_a_stream() {
    const params = { path: { chat, stream: "s1" } };
    const path = "/v1/chats/{chat}/streams/{stream}";
    const body: Schemas["WriteStream"] = { writer: "w", offset: 0, chunks: ["Lis", "bon"] };
    assert.equal(ok(await ada.POST(path, { params, body })).state, "running");
    const end: Schemas["WriteStream"] = { writer: "w", offset: 2, end: "completed" };
    assert.equal(ok(await ada.POST(path, { params, body: end })).chunks, 2);
    assert.equal(ok(await ada.GET(path, { params })).state, "completed");
    const events = await follow();
    assert.deepEqual(events.map(({ event, id }) => [event, id]), [
      ["chunk", "0"],
      ["chunk", "1"],
      ["end", undefined],
    ]);
    assert.deepEqual(JSON.parse(events[1]?.data ?? ""), { offset: 1, chunk: "bon" });
    const rest = await follow({ "Last-Event-ID": "0" });
    assert.deepEqual(rest.map(({ event }) => event), ["chunk", "end"]);
  },
  async follows_a_chat() {
    // This stream goes on until the client ends it.
    const params = { path: { chat } };
    const parseAs = "stream";
    const body = ok(await ada.GET("/v1/chats/{chat}/events", { params, parseAs }));
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    assert.match(new TextDecoder().decode(value), /event: state/);
    await reader.cancel();
  },
  async searches() {
    const query = { q: "weather lisbon", chat: "typescript-turn" };
    const [hit] = ok(await ada.GET("/v1/search", { params: { query } })).hits;
    assert.deepEqual([hit?.message, hit?.role], ["q1", "user"]);
    const marked = hit?.snippet.filter(([, isHit]) => isHit).map(([piece]) => piece);
    assert.deepEqual(marked, ["weather", "Lisbon"]);
  },
  async remembers_and_forgets() {
    const text = "The train leaves at nine.";
    ok(await ada.POST("/v1/memory", { body: { text } }));
    const query = { q: "When does the train leave?" };
    const { memories } = ok(await ada.GET("/v1/memory/recall", { params: { query } }));
    const memory = memories.find((found) => found.text === text);
    assert.ok(memory?.id && memory.scope && memory.tokens > 0);
    const { id, scope } = memory;
    const gone = ok(await ada.POST("/v1/memory/forget", { body: { id, scope } }));
    assert.deepEqual([gone.removed, gone.remaining], [1, 0]);
    assert.deepEqual(ok(await ada.GET("/v1/memory")).memories, []);
  },
  async lists_rounds() {
    const path = { chat: "typescript-turn" };
    const listed = ok(await ada.GET("/v1/chats/{chat}/rounds", { params: { path } }));
    assert.deepEqual(listed.rounds.map((round) => round.state), ["closed"]);
    const params = { path, query: { format: "mermaid" as const } };
    const parseAs = "text";
    const drawn = ok(await ada.GET("/v1/chats/{chat}/trajectory", { params, parseAs }));
    assert.match(drawn, /^flowchart/);
  },
  async keeps_users_apart() {
    isProblem(await bob.GET("/v1/chats/{chat}", { params: { path: { chat } } }), 404);
    assert.deepEqual(ok(await bob.GET("/v1/chats")).chats, []);
    isProblem(await connect("unknown").GET("/v1/chats"), 401);
    isProblem(await ada.GET("/metrics", { parseAs: "text" }), 403);
  },
  async erases() {
    const params = { path: { chat: "kept" } };
    ok(await bob.POST("/v1/chats/{chat}/messages", { params, body: say("Mine.") }));
    const erased = ok(await ada.DELETE("/v1/user"));
    assert.deepEqual([erased.chats, erased.remaining], [3, 0]);
    assert.deepEqual(ok(await ada.GET("/v1/chats")).chats, []);
    const { chats } = ok(await bob.GET("/v1/chats"));
    assert.deepEqual(chats.map((head) => head.chat), ["kept"]);
  },
};

for (const [name, step] of Object.entries(STEPS)) {
  let end = "ok";
  try {
    await step();
  } catch (error) {
    console.error(error);
    end = "FAILED";
  }
  console.log(`test typescript_client::${name} ... ${end}`);
}
