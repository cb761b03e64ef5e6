// A list of any length: rows are made when they come into sight.
//
// The height of a row is known only when it was drawn, and browsers limit the height of a page. So
// the list keeps one anchor, a row and its distance from the top of the view, and draws around it.
// Small movements of the scroll bar move the anchor by pixels; large ones jump to a share of the rows.
import { all, make, one, sayTimes } from "./dom.js";

const TALLEST = 4_000_000;
const WHOLE = 150;
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
    this.anchor = { row: 0, top: 0 };
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
    const parts = await Promise.all(wanted);
    const made = parse(parts.flat());
    this.elements = new Map(made.map((row) => [Number(row.dataset.row), row]));
    this.window.replaceChildren(...made);
    this.finish(made);
    if (at !== undefined) this.mark(at);
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

  get spacer() { return Math.min(TALLEST, Math.max(this.total * this.estimate, this.view.clientHeight)); }

  scrolled() {
    if (this.isWhole) return;
    const top = this.view.scrollTop;
    const moved = top - this.last;
    if (moved === 0) return;
    this.last = top;
    if (Math.abs(moved) < this.view.clientHeight * 3) this.anchor.top -= moved;
    else this.anchor = { row: this.rowAt(top), top: 0 };
    this.schedule();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), 120);
  }

  rowAt(top) {
    const room = Math.max(1, this.spacer - this.view.clientHeight);
    return Math.min(this.total - 1, Math.max(0, Math.round((top / room) * (this.total - 1))));
  }

  /** Puts the scroll bar where the anchor is; nothing moves on the page. */
  settle() {
    const room = this.spacer - this.view.clientHeight;
    const row = this.anchor.row - this.anchor.top / Math.max(1, this.height(this.anchor.row));
    const share = Math.min(1, Math.max(0, row / Math.max(1, this.total - 1)));
    const wanted = this.atEnd ? room : Math.round(share * room);
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
    if (anchor.row === 0 && anchor.top > 0) anchor.top = 0;
  }

  draw() {
    if (!this.total) return;
    this.measure();
    this.normalize();
    const view = this.view.clientHeight, over = view;
    let first = this.anchor.row, top = this.anchor.top;
    while (first > 0 && top > -over) { first -= 1; top -= this.height(first); }
    let last = this.anchor.row, bottom = this.anchor.top + this.height(last);
    while (last < this.total - 1 && bottom < view + over) { last += 1; bottom += this.height(last); }
    this.fill(first, last);
    this.measure();
    // The anchor stays; what is above it may have other heights than was thought.
    top = this.anchor.top;
    for (let row = first; row < this.anchor.row; row += 1) top -= this.height(row);
    bottom = this.anchor.top;
    for (let row = this.anchor.row; row <= last; row += 1) bottom += this.height(row);
    this.atEnd = last === this.total - 1 && bottom <= view + 1;
    if (last === this.total - 1 && bottom < view) {
      const up = Math.min(view - bottom, Math.max(0, -top));
      this.anchor.top += up;
      top += up;
    }
    if (first === 0 && top > 0) { this.anchor.top -= top; top = 0; }
    this.list.style.height = `${this.spacer}px`;
    this.window.style.transform = `translateY(${Math.round(this.view.scrollTop + top)}px)`;
  }

  measure() {
    let sum = 0, count = 0;
    for (const [row, element] of this.elements) {
      const height = element.offsetHeight;
      if (element.classList.contains("ghost")) continue;
      this.heights.set(row, height);
      sum += height;
      count += 1;
    }
    if (count > 5) this.estimate = Math.max(40, this.estimate * 0.8 + (sum / count) * 0.2);
    if (this.heights.size > 20_000) this.heights.clear();
  }

  fill(first, last) {
    for (const [row, element] of this.elements) {
      if (row >= first && row <= last) continue;
      if (element.contains(document.activeElement)) this.view.focus({ preventScroll: true });
      element.remove();
      this.elements.delete(row);
    }
    const made = [];
    let before = null;
    for (let row = first; row <= last; row += 1) {
      const number = Math.floor(row / this.chunk);
      const html = this.chunks.get(number)?.[row - number * this.chunk];
      let element = this.elements.get(row);
      if (!element || (element.classList.contains("ghost") && html)) {
        const fresh = html ? parse([html])[0] : make("div", { className: "row ghost", ariaHidden: "true" });
        if (!html) {
          fresh.style.height = `${Math.round(this.height(row))}px`;
          this.fetch(number).then(() => this.schedule(), () => {});
        } else made.push(fresh);
        element?.remove();
        element = fresh;
        this.elements.set(row, element);
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
      this.anchor = { row, top: how === "top" ? 0 : 12 };
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
        this.anchor = { row, top: view.height - box.height - 12 };
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

  /** Takes a new number of rows, and shows the end if that was in sight. Drops what may have changed. */
  async grow(total, changed) {
    const end = this.isWhole
      ? this.view.scrollTop + this.view.clientHeight >= this.view.scrollHeight - 40 : this.atEnd;
    const from = changed ? 0 : Math.max(0, Math.floor((this.total - 1) / this.chunk));
    for (const number of [...this.chunks.keys()]) if (number >= from) this.chunks.delete(number);
    const stale = changed ? 0 : Math.max(0, this.total - 1);
    this.total = total;
    if (this.isWhole && total > WHOLE) {
      this.isWhole = false;
      this.list.classList.add("virtual");
      this.anchor = { row: this.firstInSight(), top: 0 };
    }
    if (this.isWhole) {
      const top = this.view.scrollTop;
      await this.drawWhole();
      this.view.scrollTop = end ? this.view.scrollHeight : top;
    } else {
      for (const [row, element] of this.elements) {
        if (row < stale) continue;
        element.remove();
        this.elements.delete(row);
      }
      if (end) await this.show(total - 1, "top");
      this.schedule();
    }
    return end;
  }

  end() { return this.isWhole ? this.view.scrollTo({ top: this.view.scrollHeight }) : this.show(this.total - 1, "top"); }
}

function template(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return [...holder.content.children];
}
function parse(rows) { return template(rows.join("")); }
function split(html) { return template(html).map((row) => row.outerHTML); }
