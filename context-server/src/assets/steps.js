// The steps of a run: lines of one height, those in sight. Blocks of lines fold to their question.
import { fetchJson, make, one, say } from "./dom.js";

const STEP_LINE = 28;
const STEP_PAGE = 200;
const STEP_PAGES = 150;
const TALLEST_LIST = 8_000_000;
const DEEPEST = 4;

const stepNumber = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Says a time in microseconds as people do. */
function stepDuration(micros) {
  const seconds = micros / 1e6;
  if (seconds < 0.001) return "0 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} m`;
}

const stepPrice = (usd) => (usd >= 0.1 ? `$${usd.toFixed(2)}` : `$${usd.toFixed(4)}`);

/** A cell with a number. A number that should be there and was not recorded is a dash. */
function stepCell(name, text, isExpected, title) {
  const known = text !== null;
  return make("span", { className: `n ${name}${known ? "" : " unknown"}`, title: known ? title : isExpected ? "not recorded" : null },
    known ? text : isExpected ? "–" : "");
}

/** The rows of the keyboard, drawn from `/run/lines`. */
export class Steps {
  constructor(view, chosen) {
    const data = view.dataset;
    Object.assign(this, { view, chosen, api: `${data.api}run`, kind: data.shown, version: data.version });
    this.box = one(".steps", view);
    this.space = one(".space", this.box);
    this.elements = new Map();
    this.pages = new Map();
    this.folded = new Set();
    this.isWhole = false;
    this.frame = 0;
    this.layOut(data.blocks ? data.blocks.split(" ").map(Number) : []);
    this.box.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(this.box);
    this.space.addEventListener("click", (event) => {
      const line = event.target.closest("[data-step]");
      if (!line || event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      if (event.target.closest(".fold")) { this.current = Number(line.dataset.at); this.foldStep(); return; }
      this.mark(Number(line.dataset.at));
      this.open(event.detail === 0);
    });
  }

  layOut(blocks) {
    this.blocks = blocks;
    this.firsts = [];
    let line = 0;
    for (const lines of blocks) { this.firsts.push(line); line += lines; }
    this.lines = line;
    this.fold();
  }

  /** Counts the rows that are shown: all lines, but of folded blocks the first. */
  fold() {
    this.tops = [];
    let row = 0;
    this.blocks.forEach((lines, at) => { this.tops.push(row); row += this.folded.has(at) ? Math.min(1, lines) : lines; });
    this.total = row;
    const tall = this.total * STEP_LINE;
    this.scale = Math.max(1, tall / TALLEST_LIST);
    this.space.style.height = `${Math.min(tall, TALLEST_LIST)}px`;
  }

  last(sorted, value) {
    let [low, high] = [0, sorted.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (sorted[middle] <= value) low = middle; else high = middle - 1;
    }
    return low;
  }

  lineOf(row) { const block = this.last(this.tops, row); return this.firsts[block] + row - this.tops[block]; }

  rowOf(line) {
    const block = this.last(this.firsts, line);
    return this.folded.has(block) ? this.tops[block] : this.tops[block] + line - this.firsts[block];
  }

  page(number) {
    if (!this.pages.has(number)) {
      this.pages.set(number, null);
      if (this.pages.size > STEP_PAGES) this.pages.delete(this.pages.keys().next().value);
      const query = new URLSearchParams({ version: this.version, from: number * STEP_PAGE, count: STEP_PAGE });
      fetchJson(`${this.api}/lines?${query}`).then((answer) => {
        if (answer.version !== this.version) { this.refresh(); return; }
        this.pages.set(number, answer.lines);
        this.schedule();
      }, (error) => { this.pages.delete(number); say(error.message, true); });
    }
    return this.pages.get(number);
  }

  /** Reads the layout again, because the run has grown. */
  async refresh() {
    const now = await fetchJson(this.api).catch(() => null);
    if (!now || now.version === this.version) return;
    const end = this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 60;
    const line = this.current === undefined ? undefined : this.lineOf(this.current);
    this.version = now.version;
    this.pages.clear();
    this.elements.forEach((element) => element.remove());
    this.elements.clear();
    this.layOut(now.blocks);
    if (line !== undefined && line < this.lines) this.current = this.rowOf(line);
    if (end) this.box.scrollTop = this.box.scrollHeight;
    this.schedule();
  }

  schedule() { this.frame ||= requestAnimationFrame(() => { this.frame = 0; this.draw(); }); }

  draw() {
    const top = this.box.scrollTop, view = this.box.clientHeight;
    const room = Math.max(1, Math.min(this.total * STEP_LINE, TALLEST_LIST) - view);
    const far = this.scale > 1 ? (top / room) * Math.max(0, this.total * STEP_LINE - view) : top;
    const first = Math.max(0, Math.floor(far / STEP_LINE) - 12);
    const last = Math.min(this.total, Math.ceil((far + view) / STEP_LINE) + 12);
    for (const [row, element] of this.elements) {
      if (row >= first && row < last) continue;
      if (element.contains(document.activeElement)) this.box.focus({ preventScroll: true });
      element.remove();
      this.elements.delete(row);
    }
    let before = null;
    for (let row = first; row < last; row += 1) {
      const line = this.lineOf(row), number = Math.floor(line / STEP_PAGE);
      const step = this.page(number)?.[line - number * STEP_PAGE];
      let element = this.elements.get(row);
      if (!element && step) {
        element = this.make(row, step);
        this.elements.set(row, element);
        this.space.insertBefore(element, before ? before.nextSibling : this.space.firstChild);
        if (this.wanted === row) { this.wanted = undefined; element.focus({ preventScroll: true }); }
      }
      if (!element) continue;
      element.style.top = `${Math.round(row * STEP_LINE - far + top)}px`;
      before = element;
    }
  }

  make(row, step) {
    const block = this.last(this.tops, row), isFirst = this.tops[block] === row;
    const isCall = ["state", "response"].includes(step.kind);
    const deep = Math.min(step.depth, DEEPEST);
    // A step is named by its agent, its round and its number.
    const agent = Number.parseInt(step.node, 10);
    const name = step.tool ?? (step.kind === "query" && agent > 0 ? "agent" : step.kind);
    const what = make("span", { className: "what" });
    what.style.paddingLeft = `${deep * 16}px`;
    what.append(...[
      isFirst && this.blocks[block] > 1
        ? make("span", { className: "fold", title: "Fold or unfold (h l)" }, this.folded.has(block) ? "▸" : "▾") : make("span", { className: "fold" }),
      make("span", { className: "dot", title: step.error ?? step.state }, make("span", { className: "hid" }, step.state)),
      step.depth > DEEPEST ? make("span", { className: "depth", title: "depth" }, String(step.depth)) : null,
      make("span", { className: "kind" }, name),
      make("span", { className: step.thought ? "text thought" : "text", dir: "auto" }, step.text || (isCall ? "(no text)" : "")),
      step.error ? make("span", { className: "error" }, step.error) : null,
      agent > 0 ? make("span", { className: "agent", title: step.author ?? `agent ${agent}` }, `agent ${agent}`) : null,
    ].filter(Boolean));
    const element = make("a", { href: this.address(step.node), className: `step ${step.kind} ${step.state}${row === this.current ? " current" : ""} as-${this.kind}`,
      "data-step": step.node, "data-at": row, "data-kind": isCall ? "assistant" : step.kind, "data-id": step.message }, what);
    if (this.kind === "waterfall") element.append(this.track(step));
    else element.append(
      stepCell("in", step.input_tokens === null ? null : stepNumber.format(step.input_tokens), isCall, `${step.input_tokens} tokens`),
      stepCell("out", step.output_tokens === null ? null : stepNumber.format(step.output_tokens), isCall, `${step.output_tokens} tokens`),
      stepCell("cached", step.cached_tokens === null ? null : stepNumber.format(step.cached_tokens), isCall, `${step.cached_tokens} tokens`),
      stepCell("cost", step.cost_usd === null ? null : stepPrice(step.cost_usd), isCall, `$${step.cost_usd}`));
    element.append(stepCell("took", step.duration === null ? null : stepDuration(step.duration), isCall || step.kind === "action", step.model));
    return element;
  }

  track(step) {
    const track = make("span", { className: "track" });
    const beam = make("span", { className: step.bar ? "beam" : "tick", title: step.bar ? null : "No times were recorded: placed by its order" });
    beam.style.left = `${(step.bar?.[0] ?? step.order) * 100}%`;
    if (step.bar) beam.style.width = `${Math.min(1 - step.bar[0], step.bar[1]) * 100}%`;
    track.append(beam);
    return track;
  }

  address(node) {
    const url = new URL(location.href);
    url.searchParams.set("node", node);
    url.searchParams.delete("message");
    return url.pathname + url.search;
  }

  /** Marks a row, brings it into sight and tells who listens. */
  mark(row, focus = true) {
    this.elements.get(this.current)?.classList.remove("current");
    this.current = row;
    const view = this.box.clientHeight, at = row * STEP_LINE;
    if (this.scale > 1) {
      const room = Math.max(1, TALLEST_LIST - view), whole = Math.max(1, this.total * STEP_LINE - view);
      const far = (this.box.scrollTop / room) * whole;
      if (at < far || at > far + view - STEP_LINE) this.box.scrollTop = ((at - view / 3) / whole) * room;
    } else if (at < this.box.scrollTop) this.box.scrollTop = at;
    else if (at > this.box.scrollTop + view - STEP_LINE) this.box.scrollTop = at - view + STEP_LINE;
    this.draw();
    const element = this.elements.get(row);
    if (focus) { if (element) element.focus({ preventScroll: true }); else this.wanted = row; }
    element?.classList.add("current");
    if (element) this.chosen(element.dataset.step, false);
    else this.late(row);
  }

  /** Selects a row that is still on its way. */
  late(row) {
    setTimeout(() => {
      if (this.current !== row) return;
      const element = this.elements.get(row);
      if (element) { element.classList.add("current"); this.chosen(element.dataset.step, false); } else this.late(row);
    }, 60);
  }

  open(focus) { const element = this.elements.get(this.current); if (element) this.chosen(element.dataset.step, true, focus); }
  step(by) { if (this.total) this.mark(Math.max(0, Math.min(this.total - 1, (this.current ?? (by > 0 ? -1 : 1)) + by))); }
  show(row) { if (this.total) this.mark(Math.max(0, Math.min(this.total - 1, row))); }
  end() { this.show(this.total - 1); }

  showLine(line) {
    const block = this.last(this.firsts, line);
    if (line !== this.firsts[block] && this.folded.delete(block)) this.redraw();
    this.show(this.rowOf(line));
  }

  redraw() {
    this.elements.forEach((element) => element.remove());
    this.elements.clear();
    this.fold();
    this.schedule();
  }

  /** Folds or unfolds the block of the current row. Without a wish, changes it. */
  foldStep(open) {
    if (this.current === undefined) return;
    const line = this.lineOf(this.current), block = this.last(this.firsts, line);
    const fold = open === undefined ? !this.folded.has(block) : !open;
    if (fold) this.folded.add(block); else this.folded.delete(block);
    this.redraw();
    this.mark(this.rowOf(fold ? this.firsts[block] : line));
  }

  /** Shows the first line of each block only, or all lines. Returns whether they are folded. */
  foldAll() {
    const line = this.current === undefined ? undefined : this.lineOf(this.current);
    const fold = this.folded.size < this.blocks.length;
    this.folded = new Set(fold ? this.blocks.keys() : []);
    this.redraw();
    if (line !== undefined) this.mark(this.rowOf(line));
    return fold;
  }

  async failure(by) {
    const from = this.current === undefined ? 0 : this.lineOf(this.current) + by;
    if (from < 0) return null;
    return fetchJson(`${this.api}/failure?${new URLSearchParams({ version: this.version, from, back: by < 0 })}`);
  }
}
