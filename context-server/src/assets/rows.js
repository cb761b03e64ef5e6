// A list of any length: rows are made when they come into sight.
//
// The height of a row is known only when it was drawn, and browsers limit the height of a page. So
// the list keeps one anchor, a row and its distance from the top of the view, and draws around it.
// Small movements of the scroll bar move the anchor by pixels; large ones jump to a share of the rows.
import { all, make, one, sayTimes } from "./dom.js";

const TALLEST = 4_000_000;
const WHOLE = 150;
// The space between two rows, as the styles have it.
const GAP = 6;
// The space below the last row.
const FOOT = 24;
const KEPT_CHUNKS = 80;

export class Rows {
  /** `load(from, count)` returns the HTML of rows. `view` is the element that scrolls. */
  constructor({ view, list, total, chunk, load, drawn }) {
    Object.assign(this, { view, list, total, chunk, load, drawn });
    this.window = one(".window", list);
    this.chunks = new Map();
    this.heights = new Map();
    this.estimate = 160;
    this.elements = new Map();
    this.sources = new Map();
    this.anchor = { row: 0, top: 0 };
    // Whether the end is shown however the list changes.
    this.sticks = false;
    this.last = 0;
    this.frame = 0;
  }

  /** Takes over the rows that came with the page and shows a row. */
  start(first, at) {
    const rows = all(":scope > .row", this.window);
    if (rows.length) this.chunks.set(Math.floor(first / this.chunk), rows.map((row) => row.outerHTML));
    this.window.replaceChildren();
    this.isWhole = this.total <= WHOLE;
    this.list.classList.toggle("virtual", !this.isWhole);
    this.view.addEventListener("scroll", () => this.scrolled(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(this.view);
    if (!this.isWhole) new ResizeObserver(() => this.schedule()).observe(this.window);
    return this.isWhole ? this.drawWhole(at) : this.show(at ?? 0, at === undefined ? "top" : "mark");
  }

  async drawWhole(at) {
    const wanted = [];
    for (let number = 0; number * this.chunk < this.total; number += 1) wanted.push(this.fetch(number));
    const rows = (await Promise.all(wanted)).flat();
    const made = [];
    rows.forEach((html, row) => {
      const old = this.elements.get(row);
      if (old && this.sources.get(row) === html) return;
      const fresh = parse([html])[0];
      this.put(row, fresh, html);
      if (old) swap(old, fresh); else this.window.append(fresh);
      made.push(fresh);
    });
    for (const [row, element] of this.elements) if (row >= rows.length) this.drop(row, element);
    this.finish(made);
    if (at !== undefined) this.mark(at);
  }

  put(row, element, html) {
    this.elements.set(row, element);
    this.sources.set(row, html);
  }

  drop(row, element) {
    if (element.contains(document.activeElement)) this.view.focus({ preventScroll: true });
    element.remove();
    this.elements.delete(row);
    this.sources.delete(row);
  }

  async fetch(number) {
    const known = this.chunks.get(number);
    if (known) {
      this.chunks.delete(number);
      this.chunks.set(number, known);
      return known;
    }
    this.pending ??= new Map();
    if (!this.pending.has(number)) {
      const from = number * this.chunk;
      const work = this.load(from, Math.min(this.chunk, this.total - from)).then((html) => {
        const rows = split(html);
        this.chunks.set(number, rows);
        while (this.chunks.size > KEPT_CHUNKS) this.chunks.delete(this.chunks.keys().next().value);
        return rows;
      }).finally(() => this.pending.delete(number));
      this.pending.set(number, work);
    }
    return this.pending.get(number);
  }

  height(row) { return this.heights.get(row) ?? this.estimate; }

  /** What is above the list in the same view. */
  get head() { return this.list.offsetTop - this.view.offsetTop; }

  /** The farthest position of the scroll bar. */
  get room() { return Math.max(1, this.head + this.tall - this.view.clientHeight); }

  get isAtEnd() {
    return this.isWhole ? this.view.scrollTop + this.view.clientHeight >= this.view.scrollHeight - 40 : this.atEnd;
  }

  /** Takes the height of the list from the rows that were drawn. Not while somebody scrolls: the bar would move. */
  resize() {
    const tall = Math.round(Math.min(TALLEST, Math.max(this.total * this.estimate, this.view.clientHeight - this.head)));
    if (tall === this.tall) return;
    const before = this.view.scrollTop;
    this.tall = tall;
    this.list.style.height = `${tall}px`;
    // A lower list may move the bar, which nobody did.
    this.last += this.view.scrollTop - before;
  }

  scrolled() {
    if (this.isWhole) return;
    const top = this.view.scrollTop;
    const moved = top - this.last;
    if (moved === 0) return;
    this.last = top;
    if (moved < 0) this.sticks = false;
    this.flies = Math.abs(moved) > this.view.clientHeight;
    if (Math.abs(moved) < this.view.clientHeight * 3) this.anchor.top -= moved;
    else this.anchor = this.placeAt(top);
    this.schedule();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), 120);
  }

  /** The anchor that a position of the scroll bar means. */
  placeAt(top) {
    if (top < this.head + this.height(0)) return { row: 0, top: this.head - top };
    const share = Math.min(1, top / this.room) * (this.total - 1), row = Math.floor(share);
    return { row, top: -(share - row) * this.height(row) };
  }

  /** Puts the scroll bar where the anchor is; nothing moves on the page. */
  settle() {
    this.flies = false;
    this.resize();
    const { room, anchor } = this;
    const row = anchor.row - anchor.top / Math.max(1, this.height(anchor.row));
    const share = Math.min(1, Math.max(0, row / Math.max(1, this.total - 1)));
    // Beside the first row there is what is above the list, which has its place by the pixel.
    const wanted = this.atEnd ? room : anchor.row === 0 ? Math.max(0, this.head - anchor.top) : Math.round(share * room);
    if (Math.abs(this.view.scrollTop - wanted) > 2) this.move(wanted);
    this.schedule();
  }

  move(top) {
    this.view.scrollTop = top;
    this.last = this.view.scrollTop;
  }

  schedule() {
    if (this.isWhole || this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  /** Moves the anchor to the first row that is in sight. */
  normalize() {
    const anchor = this.anchor;
    while (anchor.top > 0 && anchor.row > 0) { anchor.row -= 1; anchor.top -= this.height(anchor.row); }
    while (anchor.row < this.total - 1 && anchor.top + this.height(anchor.row) <= 0) {
      anchor.top += this.height(anchor.row);
      anchor.row += 1;
    }
    if (anchor.row === 0 && anchor.top > this.head) anchor.top = this.head;
  }

  draw() {
    if (!this.total) return;
    if (this.tall === undefined) this.resize();
    this.measure();
    // What is beside the view is drawn ahead, unless the view is elsewhere in the next frame.
    const view = this.view.clientHeight, over = this.flies ? 0 : view / 2, end = this.total - 1;
    const stick = () => { if (this.sticks) this.anchor = { row: end, top: view - FOOT - this.height(end) }; };
    stick();
    this.normalize();
    let first = this.anchor.row, top = this.anchor.top;
    while (first > 0 && top > -over) { first -= 1; top -= this.height(first); }
    let last = this.anchor.row, bottom = this.anchor.top + this.height(last);
    while (last < end && bottom < view + over) { last += 1; bottom += this.height(last); }
    this.fill(first, last);
    this.measure();
    stick();
    // The anchor stays; what is above it may have other heights than was thought.
    top = this.anchor.top;
    for (let row = first; row < this.anchor.row; row += 1) top -= this.height(row);
    bottom = this.anchor.top;
    for (let row = this.anchor.row; row <= last; row += 1) bottom += this.height(row);
    // Rows that were lower than was thought leave room for more.
    if (bottom < view && last < end) this.schedule();
    let shift = 0;
    if (last === end && bottom + FOOT < view) shift = view - FOOT - bottom;
    if (first === 0 && top + shift > this.head) shift = this.head - top;
    this.anchor.top += shift;
    this.atEnd = last === end && bottom + shift + FOOT <= view + 1;
    this.window.style.transform = `translateY(${this.view.scrollTop - this.head + top + shift}px)`;
  }

  measure() {
    let sum = 0, count = 0;
    for (const [row, element] of this.elements) {
      if (element.classList.contains("ghost")) continue;
      const height = element.getBoundingClientRect().height + GAP;
      this.heights.set(row, height);
      sum += height;
      count += 1;
    }
    if (count > 5) this.estimate = Math.max(40, this.estimate * 0.8 + (sum / count) * 0.2);
    if (this.heights.size > 20_000) this.heights.clear();
  }

  fill(first, last) {
    for (const [row, element] of this.elements) if (row < first || row > last) this.drop(row, element);
    const made = [];
    let before = null;
    for (let row = first; row <= last; row += 1) {
      const number = Math.floor(row / this.chunk);
      const html = this.chunks.get(number)?.[row - number * this.chunk];
      let element = this.elements.get(row);
      // A row that may have changed stays until it is known how.
      // While the list flies by, one chunk at a time is enough: most are gone before they come.
      const waits = this.flies && this.pending?.size;
      if (!html && !this.chunks.has(number) && !waits) this.fetch(number).then(() => this.schedule(), () => {});
      if (html ? this.sources.get(row) !== html : !element) {
        const fresh = html ? parse([html])[0] : make("div", { className: "row ghost", ariaHidden: "true" });
        if (html) made.push(fresh);
        else fresh.style.height = `${Math.round(this.height(row) - GAP)}px`;
        if (element) swap(element, fresh);
        element = fresh;
        this.put(row, element, html);
      }
      const next = before ? before.nextSibling : this.window.firstChild;
      if (element !== next) this.window.insertBefore(element, next);
      before = element;
    }
    if (made.length) this.finish(made);
  }

  finish(made) {
    for (const row of made) {
      sayTimes(row);
      if (Number(row.dataset.row) === this.current) row.classList.add("current");
    }
    this.drawn?.(made);
  }

  /** Shows a row at the top of the view, and marks it if it was asked for. */
  async show(row, how = "mark") {
    row = Math.max(0, Math.min(this.total - 1, row));
    if (this.total === 0) return;
    if (!this.isWhole) {
      await this.fetch(Math.floor(row / this.chunk)).catch(() => {});
      this.sticks = false;
      this.anchor = { row, top: row === 0 ? this.head : how === "top" ? 0 : 12 };
      this.draw();
      this.settle();
      this.draw();
    }
    if (how !== "top") this.mark(row);
  }

  /** Marks the current row, and brings it into sight if it is not. */
  mark(row, scroll = true) {
    for (const marked of all(".row.current", this.window)) marked.classList.remove("current");
    this.current = row;
    const element = this.elements.get(row);
    if (!element) return;
    element.classList.add("current");
    if (scroll && this.isWhole) element.scrollIntoView({ block: "nearest" });
    element.focus({ preventScroll: true });
  }

  /** Moves the mark by one row. */
  async step(by) {
    const from = this.current ?? (this.isWhole ? this.firstInSight() - by : this.anchor.row - by);
    const row = Math.max(0, Math.min(this.total - 1, from + by));
    const element = this.elements.get(row);
    if (element && !element.classList.contains("ghost")) {
      this.mark(row);
      const [box, view] = [element.getBoundingClientRect(), this.view.getBoundingClientRect()];
      if (box.top >= view.top && box.bottom <= view.bottom) return;
      if (this.isWhole) { element.scrollIntoView({ block: box.height > view.height ? "start" : "nearest" }); return; }
      if (by > 0 && box.height < view.height) {
        this.sticks = false;
        this.anchor = { row, top: view.height - box.height - GAP - 12 };
        this.draw(); this.settle();
        return;
      }
    }
    await this.show(row);
  }

  firstInSight() {
    const edge = this.view.getBoundingClientRect().top;
    for (const [row, element] of this.elements) if (element.getBoundingClientRect().bottom > edge + 8) return row;
    return 0;
  }

  /** Takes a new number of rows, and shows the end if that was in sight. Fetches again what may have changed. */
  async grow(total, changed) {
    const end = this.isAtEnd;
    const from = changed ? 0 : Math.max(0, Math.floor((this.total - 1) / this.chunk));
    for (const number of [...this.chunks.keys()]) if (number >= from) this.chunks.delete(number);
    this.total = total;
    if (this.isWhole && total > WHOLE) {
      this.last = this.view.scrollTop;
      const row = this.firstInSight(), box = this.elements.get(row)?.getBoundingClientRect();
      this.isWhole = false;
      this.list.classList.add("virtual");
      this.anchor = { row, top: (box?.top ?? 0) - GAP - this.view.getBoundingClientRect().top };
    }
    if (this.isWhole) {
      const top = this.view.scrollTop;
      await this.drawWhole();
      this.view.scrollTop = end ? this.view.scrollHeight : top;
      return end;
    }
    const shown = new Set([...this.elements.keys()].map((row) => Math.floor(row / this.chunk)));
    if (end) shown.add(Math.floor((total - 1) / this.chunk));
    await Promise.all([...shown].filter((number) => number * this.chunk < total).map((number) => this.fetch(number)));
    if (end) await this.end();
    else this.schedule();
    return end;
  }

  /** Shows the end, and marks the last row if it was asked for. */
  async end(mark = false) {
    if (!this.total) return;
    if (this.isWhole) this.view.scrollTo({ top: this.view.scrollHeight });
    else {
      await this.fetch(Math.floor((this.total - 1) / this.chunk)).catch(() => {});
      this.sticks = true;
      this.draw();
      this.settle();
      this.draw();
    }
    if (mark) this.mark(this.total - 1, false);
  }
}

/** Puts a row in the place of its older form, with the focus and what was unfolded. */
function swap(old, fresh) {
  const focused = old.contains(document.activeElement);
  const open = all("details", old).map((details) => details.open);
  all("details", fresh).forEach((details, at) => { details.open = open[at] ?? details.open; });
  old.replaceWith(fresh);
  if (focused) fresh.focus({ preventScroll: true });
}

function template(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return [...holder.content.children];
}
function parse(rows) { return template(rows.join("")); }
function split(html) { return template(html).map((row) => row.outerHTML); }
