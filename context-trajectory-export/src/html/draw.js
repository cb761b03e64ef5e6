// Draws bands, links and nodes once; what changes later are classes.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const drawing = byId("drawing");
const COMPUTATIONS = ["Query", "State", "Action", "Response"];

function svg(name, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

const kindClass = (kind) => (COMPUTATIONS.includes(kind) ? kind.toLowerCase() : "other");

// How wide a character is, in halves: those of East Asia and pictures are twice as wide as letters.
const wide = (c) => (c.codePointAt(0) >= 0x1100 ? 2 : 1);

function cut(text, width) {
  let used = 0, kept = "";
  for (const c of text) {
    used += wide(c);
    if (used > width) return kept.trimEnd() + "…";
    kept += c;
  }
  return kept;
}

// A text on at most two lines, broken between words where there are any.
function twoLines(text, width) {
  const first = cut(text, width);
  if (first === text) return [text];
  const space = first.lastIndexOf(" ");
  const end = space > width / 2 ? space : first.length - 1;
  return [text.slice(0, end), cut(text.slice(end).trim(), width)];
}

function duration(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return "";
  if (milliseconds < 1000) return milliseconds + " ms";
  const seconds = milliseconds / 1000;
  if (seconds < 90) return seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  const minutes = Math.floor(seconds / 60);
  return minutes < 90 ? minutes + " min " + Math.round(seconds % 60) + " s" : Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
}

const count = (number) => (number < 1000 ? String(number) : number < 1e6 ? (number / 1000).toFixed(number < 1e4 ? 1 : 0) + "k" : (number / 1e6).toFixed(1) + "M");

function corner(node) {
  if (node.failed) return node.took?.error ? cut(node.took.error, 14) : "failed";
  const tokens = (node.took?.input_tokens ?? 0) + (node.took?.output_tokens ?? 0);
  return [duration(node.took?.milliseconds), tokens ? count(tokens) + " tok" : ""].filter(Boolean).join(" · ");
}

function drawNode(node, index) {
  const [x, y, width, height] = node.box;
  const classes = ["node", kindClass(node.kind)];
  if (node.chip) classes.push("chip");
  if (!node.active) classes.push("dead");
  if (node.endpoint) classes.push("end");
  if (node.failed) classes.push("failed");
  const name = node.kind + " " + node.label + (node.active ? "" : ", dead branch") + (node.line ? ": " + node.line : "");
  const group = svg("g", { class: classes.join(" "), transform: `translate(${x} ${y})`, role: "button", tabindex: -1, "aria-label": name, "data-node": index });
  svg("rect", { class: "card", width, height, rx: node.chip ? 13 : 8 }, group);
  if (node.chip) {
    svg("circle", { class: "dot", cx: 14, cy: height / 2, r: 4 }, group);
    const shown = node.line && node.kind !== "Column" ? node.line : node.label;
    const kind = svg("text", { class: "line", x: 25, y: 17 }, group);
    svg("tspan", { class: "kind" }, kind, node.kind + " ");
    kind.append(cut(shown, 26 - node.kind.length));
  } else {
    svg("path", { class: "bar", d: `M8 0H5.5A5.5 8 0 0 0 0 8V${height - 8}A5.5 8 0 0 0 5.5 ${height}H8Z`, transform: "scale(.7 1)" }, group);
    const head = svg("text", { class: "kind", x: 16, y: 20 }, group, node.kind);
    const right = corner(node);
    svg("tspan", { class: "label", dx: 7 }, head, cut(node.label, Math.floor((width - 50 - 6.7 * (node.kind.length + right.length)) / 6.7)));
    if (right) svg("text", { class: "took", x: width - 11, y: 20 }, group, right);
    twoLines(node.line || "—", 34).forEach((line, at) => svg("text", { class: "line", x: 16, y: 42 + at * 19 }, group, line));
  }
  return group;
}

// From the side of one box to that of another that is nearest.
function route(from, to) {
  const [ax, ay, aw, ah] = from.box, [bx, by, bw, bh] = to.box;
  if (to.chip && from.chip && bx > ax && by > ay) return `M${ax + 14} ${ay + ah}V${by + bh / 2}H${bx}`;
  if (bx >= ax + aw && (to.chip || Math.abs(by - ay) < 60)) return side(ax + aw, ay + ah / 2, bx, by + bh / 2);
  if (by >= ay + ah) return fall(ax + aw / 2, ay + ah, bx + bw / 2, by);
  if (bx >= ax + aw) return side(ax + aw, ay + ah / 2, bx, by + bh / 2);
  if (bx + bw <= ax) return side(ax, ay + ah / 2, bx + bw, by + bh / 2);
  if (by + bh <= ay) return fall(ax + aw / 2, ay, bx + bw / 2, by + bh);
  return `M${ax + aw} ${ay + ah / 2}C${ax + aw + 60} ${ay + ah / 2} ${bx + bw + 60} ${by + bh / 2} ${bx + bw} ${by + bh / 2}`;
}

function fall(x1, y1, x2, y2) {
  const bend = Math.max(-90, Math.min(90, (y2 - y1) / 2)) || 20;
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}

function side(x1, y1, x2, y2) {
  const bend = Math.max(-120, Math.min(120, (x2 - x1) / 2));
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

function drawLink(link, parent) {
  const from = data.nodes[link.from], to = data.nodes[link.to];
  const dead = from.active && to.active ? "" : " dead";
  // Each piece of data that nothing follows leads to the next round: true, and too much to look at.
  const faint = link.kind === "bridge" && from.data ? " faint" : "";
  const path = svg("path", { class: `link ${link.kind}${dead}${faint}`, d: route(from, to), "marker-end": "url(#arrow)" }, parent);
  const gap = link.missing ? ` (rounds missing between: ${link.missing})` : "";
  svg("title", {}, path, link.name + gap);
}

const links = data.nodes.map(() => ({ before: [], after: [] }));
for (const link of data.links) {
  links[link.from].after.push(link);
  links[link.to].before.push(link);
}

const captions = data.bands.map((band) => {
  const [x, y, width, height] = band.box;
  const group = svg("g", { class: "band", transform: `translate(${x} ${y})` }, byId("bands"));
  svg("rect", { width, height, rx: 12 }, group);
  const caption = svg("text", { class: "caption", x: 18, y: 26 }, group, band.caption[0].toUpperCase() + band.caption.slice(1));
  svg("tspan", { dx: 8 }, caption, band.agent + ", " + band.state);
  return { caption, x, width };
});
for (const link of data.links) drawLink(link, byId("links"));
const groups = data.nodes.map(drawNode);
byId("nodes").append(...groups);

const dead = data.nodes.filter((node) => !node.active).length;
const plural = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
const totals = data.nodes.reduce((sum, { took }) => [sum[0] + (took?.input_tokens ?? 0) + (took?.output_tokens ?? 0), sum[1] + (took?.cost_usd ?? 0)], [0, 0]);
byId("session").textContent = data.session;
byId("session").title = `Session ${data.session} of ${data.user}`;
document.title = `${data.session} – trajectory`;
byId("summary").textContent = [
  plural(data.bands.length, "round"), plural(data.nodes.length, "node"), dead ? `${dead} on dead branches` : "",
  totals[0] ? count(totals[0]) + " tokens" : "", totals[1] ? "$" + totals[1].toFixed(2) : "",
].filter(Boolean).join(" · ");
byId("hide").disabled = dead === 0;

const legend = byId("legend");
for (const kind of [...COMPUTATIONS, "Data"]) {
  const entry = document.createElement("span"), mark = document.createElement("i");
  entry.className = kindClass(kind);
  entry.append(mark, kind);
  legend.append(entry);
}
for (const [kind, text] of [["flow", "leads to"], ["bridge", "next round"], ["reference", "refers to"], ["call", "calls an agent"]]) {
  if (kind !== "flow" && !data.links.some((link) => link.kind === kind)) continue;
  const entry = document.createElement("span");
  svg("path", { class: "link " + kind, d: "M0 4H28" }, svg("svg", { viewBox: "0 0 28 8", "aria-hidden": "true" }, entry));
  entry.append(text);
  legend.append(entry);
}
