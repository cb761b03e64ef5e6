// Follows a chat while it grows. A page that is being read does not jump.
import { fetchJson, main, make, one, say, sayTimes } from "./dom.js";

const PAUSE = 3000;

/** Lists the branches as they are now. */
function listBranches({ heads, active }) {
  const select = one("#branch");
  if (!select) return;
  const names = heads.map(([name]) => (name === active ? `${name} ●` : name));
  if (names.join("\n") === [...select.options].map((option) => option.text).join("\n")) return;
  const chosen = select.value;
  select.replaceChildren(...heads.map(([name], at) => make("option", { value: name, selected: name === chosen }, names[at])));
}

/** Shows the answer that is being written, below the messages, which stay where they are. */
async function showAnswer(rows, answer, branch) {
  const place = one("#answering");
  if (!place || (!answer && place.hidden)) return;
  const end = rows.isAtEnd;
  if (!answer) { place.hidden = true; place.replaceChildren(); if (end) rows.end(); return; }
  const response = await fetch(`${place.dataset.from}?branch=${encodeURIComponent(branch)}`);
  if (!response.ok) return;
  const follows = place.scrollTop + place.clientHeight >= place.scrollHeight - 40;
  place.innerHTML = await response.text();
  place.prepend(make("p", { className: "who" }, "Assistant is answering …"));
  if (place.hidden) { place.hidden = false; if (end) rows.end(); }
  if (follows) place.scrollTop = place.scrollHeight;
}

export function follow(rows) {
  const view = main();
  const { api, branch } = view.dataset;
  let known = null, lost = false, generation = Number(view.dataset.generation), unseen = 0;
  let source = null, working = Promise.resolve();
  const newer = one("#newer");
  const seen = () => { unseen = 0; if (newer) newer.hidden = true; };
  newer?.addEventListener("click", () => { seen(); rows.end(); });
  view.addEventListener("scroll", () => { if (unseen && rows.isAtEnd) seen(); }, { passive: true });

  async function take(state) {
    const before = known;
    known = state;
    listBranches(state);
    await grow(state, before);
    // What was stored of the answer is a row by now.
    await showAnswer(rows, state.answer, branch);
  }

  async function grow(state, before) {
    const head = state.heads.find(([name]) => name === branch)?.[1] ?? null;
    if (before === null && head === view.dataset.head) return;
    const now = await fetchJson(`${api.replace(/\/$/, "")}?branch=${encodeURIComponent(branch)}`);
    if (now.rows === rows.total && now.generation === generation && now.head === view.dataset.head) return;
    // A compaction changes how the rows before it are shown.
    const boundary = now.boundary ?? undefined;
    const changed = now.generation !== generation || now.rows < rows.total || boundary !== view.dataset.boundary;
    const more = now.rows - rows.total;
    const atEnd = await rows.grow(now.rows, changed);
    generation = now.generation;
    if (boundary === undefined) delete view.dataset.boundary; else view.dataset.boundary = boundary;
    view.dataset.head = now.head ?? "";
    if (more > 0 && !atEnd && newer) {
      unseen += more;
      newer.textContent = `${unseen} new ↓`;
      newer.hidden = false;
    }
    const outline = one(".outline");
    if (outline) { outline.dataset.total = now.turns; outline.dispatchEvent(new Event("grown")); }
    sayTimes(view);
  }

  function connect() {
    source = new EventSource(`${api}events?branch=${encodeURIComponent(branch)}`);
    source.addEventListener("open", () => {
      if (lost) say("Connected again.");
      lost = false;
    });
    source.addEventListener("error", () => {
      if (!lost) say("The program that shows this page does not answer. What you see stays.", true);
      lost = true;
      // The browser tries again by itself, unless it was told no.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, PAUSE);
    });
    source.addEventListener("state", (event) => {
      const state = JSON.parse(event.data);
      // One after the other. What cannot be fetched now is fetched with the next state.
      working = working.then(() => take(state)).catch(() => {});
    });
  }
  connect();
  addEventListener("pagehide", () => source.close());
}
