// What a person can do with a message or a branch.
import { fetchJson, go, main, root, say } from "./dom.js";
import { ask, showMenu } from "./dialogs.js";

const encode = encodeURIComponent;
const post = (action) => fetchJson(`${main().dataset.api}actions`, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(action),
});

function pageOf(done) {
  const branch = done.branch ? `branch=${encode(done.branch)}&` : "";
  const at = done.message ? `at=${encode(done.message)}` : "";
  return `${root()}/chats/${encode(done.chat)}?${branch}${at}`;
}

async function act(action, { leave = false } = {}) {
  try {
    const done = await post(action);
    if (done.notes.length) {
      await ask({ title: done.text, text: done.notes, button: "Close" });
    }
    if (leave) {
      sessionStorage.setItem("context-said", done.text);
      go(pageOf(done));
    } else say(done.text);
    return done;
  } catch (error) {
    say(error.message, true);
    return null;
  }
}

async function copy(text, name) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${name}.`);
  } catch {
    say("The browser does not allow copying here.", true);
  }
}

async function edit(message, branch) {
  const stored = await fetchJson(`${main().dataset.api}messages/${encode(message)}`);
  const value = (stored.body.parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n\n");
  const answer = await ask({
    title: "Edit onto a new branch",
    text: ["The message stays where it is. The new text is written on a branch of its own, which ends with it. Nothing is run."],
    fields: [{ name: "text", label: "Text", value, multiline: true }], button: "Write the branch",
  });
  if (answer) await act({ action: "edit", message, text: answer.text, branch }, { leave: true });
}

async function redact(message) {
  const answer = await ask({
    title: "Redact this message everywhere?", danger: true, button: "Remove its content",
    text: [
      "Its content is removed for good: from the message and its revisions, search, recorded rounds, memories, blobs and streams. Its place in the conversation stays.",
      "Not reached: files it was imported from, exports and backups that you made, and what providers keep.",
    ],
  });
  if (answer) { await act({ action: "redact", message }); }
}

/** The actions for a row. */
export function rowMenu(row, beside) {
  const message = row.dataset.id, { chat, branch, readonly } = main().dataset;
  const isMessage = row.dataset.kind === "user" || row.dataset.kind === "assistant";
  const items = [];
  if (row.dataset.kind === "assistant") {
    items.push(["What was sent", () => go(`${root()}/chats/${encode(chat)}/sent?message=${encode(message)}&branch=${encode(branch)}`)]);
    items.push(["Where its data came from", () => go(`${root()}/chats/${encode(chat)}/run?view=provenance&message=${encode(message)}&branch=${encode(branch)}`)]);
  }
  items.push(["Copy link", () => copy(`${location.origin}${root()}/chats/${encode(chat)}?branch=${encode(branch)}&at=${encode(message)}`, "the link")]);
  items.push(["Copy as JSON", async () => copy(JSON.stringify(await fetchJson(`${main().dataset.api}messages/${encode(message)}`), null, 2), "the message")]);
  if (readonly !== "yes") {
    items.push(["Rewind here", () => act({ action: "rewind", message }, { leave: true })]);
    items.push(["Fork to a new chat…", async () => {
      const answer = await ask({ title: "Fork to a new chat", button: "Fork",
        text: ["Copies the messages up to this one. Nothing is run, and what tools did elsewhere remains."],
        fields: [{ name: "to", label: "Name of the chat", value: `${chat}-fork` }] });
      if (answer) await act({ action: "fork", message, to: answer.to }, { leave: true });
    }]);
    items.push(["Checkpoint…", async () => {
      const answer = await ask({ title: "Checkpoint", button: "Set", fields: [{ name: "name", label: "Name" }] });
      if (answer) await act({ action: "checkpoint", message, name: answer.name });
    }]);
    if (isMessage) items.push(["Edit onto a branch…", () => edit(message, branch).catch((error) => say(error.message, true))]);
    items.push(["Copy to a branch…", async () => {
      const answer = await ask({ title: "Copy to the end of a branch", button: "Copy", fields: [{ name: "branch", label: "Branch", value: branch }] });
      if (answer) await act({ action: "cherry_pick", messages: [message], branch: answer.branch });
    }]);
    items.push(["Pin: no compaction takes it", () => act({ action: "pin", message, pinned: true })]);
    items.push(["Unpin", () => act({ action: "pin", message, pinned: false })]);
    items.push(["Redact everywhere…", () => redact(message), "danger"]);
  }
  showMenu(beside, items);
}

/** Buttons with `data-act` on branches. */
export async function branchAction(button) {
  const { act: action, branch } = button.dataset;
  if (action === "delete_branch") {
    const answer = await ask({ title: `Delete the branch ${branch}?`, danger: true, button: "Delete",
      text: ["Messages that no other branch and no checkpoint reaches are deleted with it. Copies in recorded rounds and memories remain; redact messages to reach those."] });
    if (!answer) return;
  }
  if (await act({ action, branch })) setTimeout(() => location.reload(), 400);
}
