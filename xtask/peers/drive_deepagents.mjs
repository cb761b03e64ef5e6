// The TypeScript engine of fragments and message graphs, driven for `cargo xtask bench peers`. protocol.py says how a driver is spoken to.

import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import * as deepagents from "@deepagents/context";

const { ContextEngine, SqliteContextStore, XmlRenderer, assistantText, guardrail, hint, role, term, user, workflow } = deepagents;

const PEER = "@deepagents/context";
const MANIFEST = new URL("./node_modules/@deepagents/context/package.json", import.meta.url);
const VERSION = JSON.parse(readFileSync(MANIFEST, "utf8")).version;
const USER = "user";
const FILLER = 'the train to Lisbon leaves at nine, "ask" before you pay, keep the receipt. ';

const folder = process.argv[2];
const path = `${folder}/chats.db`;
const database = new DatabaseSync(path);
const store = new SqliteContextStore(database);
const pragma = (name) => Object.values(database.prepare(`PRAGMA ${name}`).get())[0];
const about = {
  peer: PEER,
  version: VERSION,
  sqlite: database.prepare("SELECT sqlite_version() AS version").get().version,
  journal_mode: pragma("journal_mode"),
  synchronous: pragma("synchronous"),
};

/** 400 bytes, the same in the drivers of all languages. */
const text = (i) => (`Message ${i}: ` + FILLER.repeat(6)).slice(0, 400);
const say = (answer) => process.stdout.write(JSON.stringify({ ...about, ...answer }) + "\n");
const engineOf = (chatId) => new ContextEngine({ store, chatId, userId: USER });
const idOf = (chatId, i) => `${chatId}-${String(i).padStart(12, "0")}`;
const message = (i) => (i % 2 ? assistantText(text(i)) : user(text(i)));

/** CPU time of all threads of this process, and time that passes. */
async function measure(name, n, times, work) {
  const cpu = process.cpuUsage();
  const wall = process.hrtime.bigint();
  for (let i = 0; i < times; i += 1) await work(i);
  const spent = process.cpuUsage(cpu);
  const passed = Number(process.hrtime.bigint() - wall) / 1e3;
  say({ case: name, n, cpu_us: (spent.user + spent.system) / times, wall_us: passed / times });
}

const filled = new Map();

/** The chat of a case, filled when it is asked for first, in one transaction. */
async function fill(name, n) {
  const chatId = `${name}-${n}`;
  if (filled.has(chatId)) return filled.get(chatId);
  await store.upsertChat({ id: chatId, userId: USER });
  database.exec("PRAGMA foreign_keys = OFF; BEGIN");
  const insert = database.prepare(
    "INSERT INTO messages (id, chatId, parentId, name, type, data, createdAt) VALUES (?, ?, ?, ?, 'message', ?, ?)",
  );
  for (let i = 0; i < n; i += 1) {
    const role = i % 2 ? "assistant" : "user";
    const data = { id: idOf(chatId, i), role, parts: [{ type: "text", text: text(i) }] };
    insert.run(data.id, chatId, i ? idOf(chatId, i - 1) : null, role, JSON.stringify(data), i);
  }
  const branch = await store.getActiveBranch(chatId);
  database.exec("COMMIT; PRAGMA foreign_keys = ON");
  await store.updateBranchHead(branch.id, idOf(chatId, n - 1));
  const chat = { chatId, engine: engineOf(chatId), head: idOf(chatId, n - 1), middle: idOf(chatId, n / 2 - 1) };
  filled.set(chatId, chat);
  return chat;
}

/** Twenty fragments, as our driver has them. */
function fragments() {
  const rule = (i) =>
    `Rule ${String(i).padStart(4, "0")}: answer in short sentences, cite what you used, and never guess a price.`;
  const range = (n) => [...Array(n).keys()];
  const action = "Ask the user first.";
  return [
    role("You book trips. Ask before you pay."),
    ...range(10).map((i) => hint(rule(i))),
    ...range(4).map((i) => term(`term ${i}`, rule(i))),
    ...range(3).map((i) => guardrail({ rule: rule(i), reason: rule(i), action })),
    ...range(2).map((i) =>
      workflow({ task: `Task ${i}`, steps: range(4).map((s) => `Step ${s} of task ${i}: look, think, then act.`) }),
    ),
  ];
}

const renderer = new XmlRenderer();

async function run(name, n, times) {
  const chat = await fill(name, n);
  if (name === "append") {
    await measure(name, n, times, async (i) => {
      chat.engine.set(message(i));
      await chat.engine.save();
    });
  } else if (name === "load") {
    const other = new DatabaseSync(path);
    const fresh = new SqliteContextStore(other);
    await measure(name, n, times, async () => assert.equal((await fresh.getMessageChain(chat.head)).length, n));
    other.close();
  } else if (name === "fork") {
    await measure(name, n, times, async () => {
      await chat.engine.rewind(chat.middle);
      assert.equal((await chat.engine.resolve({ renderer })).messages.length, n / 2);
    });
  } else if (name === "resolve") {
    await measure(name, n, times, async () => {
      const resolved = await engineOf(chat.chatId).set(...fragments()).resolve({ renderer });
      assert.ok(resolved.systemPrompt.length > 1000);
      assert.equal(resolved.messages.length, n);
    });
  } else if (name === "turn") {
    await measure(name, n, times, async (i) => {
      chat.engine.set(message(2 * i));
      await chat.engine.save();
      assert.ok((await chat.engine.resolve({ renderer })).messages.length > n);
      chat.engine.set(message(2 * i + 1));
      await chat.engine.save();
    });
  } else {
    say({ case: name, n, skipped: "there is no such case" });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [name, n, times] = line.split(" ");
  await run(name, Number(n), Number(times));
}
