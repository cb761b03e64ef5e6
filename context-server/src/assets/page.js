// Starts what a page needs.
import { all, fetchJson, go, main, navigation, one, root, say, sayTimes } from "./dom.js";
import { bePage, showNamed } from "./static.js";
import { Rows } from "./rows.js";
import { showHelp } from "./dialogs.js";
import { branchAction, rowMenu } from "./actions.js";
import { compact, copyBody, loadFold, openNamed, plan, stepRequest, undo } from "./sent.js";
import { forgetMemory } from "./memory.js";
import { changeTheme, listen } from "./keys.js";
import { follow } from "./live.js";
import { drawOutline, filterChats, watchFacts } from "./lists.js";
import { startRun } from "./run.js";

let rows = null;

/** Opens the folds that hide what the address names: a message that is folded as a whole, and words that were searched. */
function unfold(row, text) {
  if (!row) return;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const inSight = (word) => row.innerText.toLowerCase().includes(word);
  for (const fold of all("details", row)) {
    if (row.dataset.kind === "system" && fold.parentElement === row) fold.open = true;
    const hidden = fold.textContent.toLowerCase();
    if (words.some((word) => hidden.includes(word) && !inSight(word))) fold.open = true;
  }
}

async function startChat(view) {
  const data = view.dataset;
  const query = data.query ? `${data.query}&` : "?";
  const load = async (from, count) => {
    const answer = await fetch(`${data.rows}${query}from=${from}&count=${count}`);
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.text();
  };
  rows = new Rows({ view, list: one(".list", view), total: Number(data.total), chunk: Number(data.chunk), load });
  const mark = drawOutline((row) => rows.show(row));
  const seen = () => {
    const row = rows.elements.get(rows.isWhole ? rows.firstInSight() : rows.anchor.row);
    if (row?.dataset.turn) mark?.(Number(row.dataset.turn));
  };
  view.addEventListener("scroll", () => requestAnimationFrame(seen), { passive: true });
  view.addEventListener("focusin", (event) => {
    const row = event.target.closest?.(".row");
    if (!row?.dataset.id) return;
    if (Number(row.dataset.row) !== rows.current) rows.mark(Number(row.dataset.row), false);
    navigation.mark(row.dataset.id);
  });
  view.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row?.dataset.id && !event.target.closest("a, button, summary")) { rows.mark(Number(row.dataset.row), false); navigation.mark(row.dataset.id); }
  });
  await rows.start(Number(data.first), data.at === undefined ? undefined : Number(data.at));
  if (data.at !== undefined) unfold(rows.elements.get(Number(data.at)), navigation.url().searchParams.get("words") ?? "");
  seen();
  follow(rows);
}

const commands = {
  async failure(by) {
    if (commands.stepFailure) { await commands.stepFailure(by); return; }
    const { api, query } = main().dataset, from = rows.current ?? -1;
    const failed = await fetchJson(`${api}failures${query}`).catch((error) => { say(error.message, true); return []; });
    const next = by > 0 ? failed.find((row) => row > from) : failed.findLast((row) => row < from);
    if (next === undefined) say(by > 0 ? "No failure after this row." : "No failure before this row.");
    else rows.show(next);
  },
  async sibling(by) {
    const row = rows.elements.get(rows.current);
    if (!row) return;
    commands.tree ??= fetchJson(`${main().dataset.api}tree`);
    const { siblings } = await commands.tree;
    const group = siblings[row.dataset.id];
    if (!group) { say("This message has no sibling on another branch."); return; }
    const next = group[(group.indexOf(row.dataset.id) + by + group.length) % group.length];
    go(`?at=${encodeURIComponent(next)}`);
  },
  sent(row) {
    const chat = main()?.dataset.chat;
    if (!chat) { if (main()?.dataset.view === "run") say(one(".tabs span").title); return; }
    const message = row?.dataset.id ? `?message=${encodeURIComponent(row.dataset.id)}` : "";
    go(`${root()}/chats/${encodeURIComponent(chat)}/sent${message}`);
  },
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do], [data-act], [data-forget]");
  if (!button) return;
  if (button.dataset.act) branchAction(button);
  else if (button.dataset.forget !== undefined) forgetMemory(button);
  else if (button.dataset.do === "theme") changeTheme();
  else if (button.dataset.do === "help") showHelp();
  else if (button.dataset.do === "compact") compact(button);
  else if (button.dataset.do === "undo") undo();
  else if (button.dataset.do?.startsWith("copy-")) copyBody(button);
  else if (button.dataset.do === "menu") rowMenu(button.closest(".row"), button);
});
document.addEventListener("toggle", (event) => { if (event.target.open) loadFold(event.target); }, true);
document.addEventListener("submit", (event) => {
  if (event.target.dataset.do === "what-if") { event.preventDefault(); plan(event.target); }
});
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-do=what-if]");
  if (form) plan(form);
  if (event.target.dataset.do === "branch") go(`?branch=${encodeURIComponent(event.target.value)}`);
});

/** Starts what the page needs that is there now. */
async function start() {
  delete document.documentElement.dataset.ready;
  rows = null;
  sayTimes();
  watchFacts();
  filterChats();
  const view = main();
  commands.request = ["sent", "compare"].includes(view?.dataset.view) ? stepRequest : null;
  delete commands.tree;
  openNamed();
  commands.stepFailure = null;
  if (view?.dataset.view === "chat") await startChat(view);
  if (view?.dataset.view === "run") rows = startRun(view, commands);
  document.documentElement.dataset.ready = "yes";
}

const said = sessionStorage.getItem("context-said");
if (said) { sessionStorage.removeItem("context-said"); say(said); }
bePage(start);
listen(() => rows, commands);
start().then(showNamed);
