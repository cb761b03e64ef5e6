// The list of chats, and the outline of turns.
import { all, fetchJson, make, one } from "./dom.js";

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

const money = (usd) => (usd >= 100 ? `$${usd.toFixed(0)}` : usd >= 0.1 ? `$${usd.toFixed(2)}` : `$${usd.toFixed(4)}`);

function tokens(facts) {
  return facts.input_tokens === null && facts.output_tokens === null ? "" : (facts.tokens_at_least ? "≥ " : "") + short.format((facts.input_tokens ?? 0) + (facts.output_tokens ?? 0));
}

function cost(facts) {
  return facts.cost_usd === null ? "" : (facts.cost_at_least ? "≥ " : "") + money(facts.cost_usd);
}

/** Loads the facts of each chat when its row comes into sight. */
export function watchFacts() {
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      fetchJson(target.dataset.facts).then((facts) => {
        if (target.tagName !== "TR") { target.textContent = sentence(facts); return; }
        const set = (name, text, title) => { const cell = one(`.${name}`, target); cell.textContent = text; if (title) cell.title = title; };
        set("model", facts.model ?? "");
        set("tokens", tokens(facts), facts.input_tokens === null ? "No usage was recorded" : `${facts.tokens_at_least ? "At least " : ""}${facts.input_tokens} in, ${facts.output_tokens ?? 0} out`);
        set("cost", cost(facts), facts.cost_at_least ? "At least: not every call has a price" : "");
        set("failures", facts.failures ? String(facts.failures) : "", `${facts.failures} of ${facts.calls} tool calls failed`);
        one(".failures", target).classList.toggle("bad", facts.failures > 0);
      }, () => {});
    }
  }, { rootMargin: "200px" });
  for (const row of all("[data-facts]")) seen.observe(row);
}

function sentence(facts) {
  const parts = [];
  if (facts.model) parts.push(facts.model);
  if (tokens(facts)) parts.push(`${tokens(facts)} tokens`);
  if (cost(facts)) parts.push(cost(facts));
  if (facts.calls) parts.push(`${facts.calls} tool call${facts.calls === 1 ? "" : "s"}`);
  if (facts.failures) parts.push(`${facts.failures} failed`);
  return parts.length ? ` · ${parts.join(" · ")}` : "";
}

/** Filters the chats as somebody types. */
export function filterChats() {
  const field = one("#filter");
  field?.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    const rows = all("table.chats tbody tr");
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown += 1;
    }
    one("#shown").textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
}

const LINE = 30;
const PAGE = 200;

/** Draws the turns of a chat of any length: lines of one height, those in sight. */
export function drawOutline(go) {
  const outline = one(".outline");
  if (!outline) return null;
  const space = one(".space", outline), pages = new Map();
  let current = 0, frame = 0;
  const load = (page) => {
    const query = outline.dataset.query ? `${outline.dataset.query}&` : "?";
    pages.set(page, null);
    return fetchJson(`${outline.dataset.outline}${query}from=${page * PAGE}&count=${PAGE}`)
      .then((turns) => { pages.set(page, turns); schedule(); }, () => pages.delete(page));
  };
  const draw = () => {
    const total = Number(outline.dataset.total);
    space.style.height = `${total * LINE}px`;
    const first = Math.max(0, Math.floor(outline.scrollTop / LINE) - 10);
    const last = Math.min(total, first + Math.ceil(outline.clientHeight / LINE) + 20);
    const lines = [];
    for (let at = first; at < last; at += 1) {
      const page = Math.floor(at / PAGE), turn = pages.get(page)?.[at - page * PAGE];
      if (!pages.has(page)) load(page);
      if (!turn) continue;
      const line = make("a", { href: `?at=${encodeURIComponent(turn.message)}`, className: turn.turn === current ? "line current" : "line",
        title: turn.preview, onclick: (event) => { if (event.metaKey || event.ctrlKey) return; event.preventDefault(); go(turn.row); } },
        make("span", { className: "n" }, String(turn.turn)), make("bdi", {}, turn.preview));
      line.style.top = `${at * LINE}px`;
      lines.push(line);
    }
    space.replaceChildren(...lines);
  };
  const schedule = () => { frame ||= requestAnimationFrame(() => { frame = 0; draw(); }); };
  outline.addEventListener("scroll", schedule, { passive: true });
  outline.addEventListener("grown", () => { pages.clear(); schedule(); });
  new ResizeObserver(schedule).observe(outline);
  return (turn) => {
    if (turn === current) return;
    current = turn;
    const top = (turn - 1) * LINE;
    if (top < outline.scrollTop || top > outline.scrollTop + outline.clientHeight - LINE) outline.scrollTop = top - outline.clientHeight / 3;
    schedule();
  };
}
