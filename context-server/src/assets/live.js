// Follows a chat while it grows. A page that is being read does not jump.
import { fetchJson, main, one, say, sayTimes } from "./dom.js";

export function follow(rows) {
  const view = main();
  const { api, branch } = view.dataset;
  let known = null, lost = false, generation = Number(view.dataset.generation);
  const source = new EventSource(`${api}events`);
  const newer = one("#newer");
  newer?.addEventListener("click", () => { newer.hidden = true; rows.end(); });
  source.addEventListener("open", () => {
    if (lost) say("Connected again.");
    lost = false;
  });
  source.addEventListener("error", () => {
    if (!lost) say("The program that shows this page does not answer. What you see stays.", true);
    lost = true;
  });
  source.addEventListener("state", async (event) => {
    const state = JSON.parse(event.data);
    const head = state.heads.find(([name]) => name === branch)?.[1] ?? null;
    const before = known;
    known = state;
    if (before === null && head === view.dataset.head) return;
    const now = await fetchJson(`${api.replace(/\/$/, "")}?branch=${encodeURIComponent(branch)}`).catch(() => null);
    if (!now || (now.rows === rows.total && now.generation === generation && now.head === view.dataset.head)) return;
    const changed = now.generation !== generation || now.rows < rows.total;
    generation = now.generation;
    view.dataset.head = now.head ?? "";
    const more = now.rows - rows.total;
    const atEnd = await rows.grow(now.rows, changed);
    if (more > 0 && !atEnd && newer) {
      newer.textContent = `${more} new ↓`;
      newer.hidden = false;
    }
    const outline = one(".outline");
    if (outline) { outline.dataset.total = now.turns; outline.dispatchEvent(new Event("grown")); }
    sayTimes(view);
  });
  addEventListener("pagehide", () => source.close());
}
