// Choosing a node, and all that is known of it.
const details = byId("details");
let chosen = null;

function html(name, className, ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

// JSON with line breaks; what is in it stays as it was written.
function reindent(text) {
  let out = "", depth = 0, quoted = false;
  const line = () => "\n" + "  ".repeat(Math.min(depth, 40));
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (quoted) {
      out += c;
      if (c === "\\") out += text[++at] ?? "";
      else if (c === '"') quoted = false;
    } else if (c === '"') { out += c; quoted = true; }
    else if (c === "{" || c === "[") {
      const close = c === "{" ? "}" : "]";
      if (text[at + 1] === close) { out += c + close; at++; }
      else { depth++; out += c + line(); }
    } else if (c === "}" || c === "]") { depth--; out += line() + c; }
    else if (c === ",") out += c + line();
    else if (c === ":") out += ": ";
    else out += c;
  }
  return out;
}

// A text that is JSON is shown as text.
function shown({ text, json }) {
  if (!json) return text;
  if (text[0] === '"') return JSON.parse(text);
  return reindent(text);
}

const isEmpty = ({ text }) => ["", '""', "null", "{}", "[]"].includes(text);

function fields(values) {
  return values.filter((value) => !isEmpty(value)).flatMap((value) => [
    html("div", "name", value.name.replaceAll("_", " ")), html("pre", "", shown(value)),
  ]);
}

function table(rows) {
  const list = html("dl", "");
  for (const [name, value] of rows) {
    if (value !== undefined && value !== null && value !== "") list.append(html("dt", "", name), html("dd", "", String(value)));
  }
  return list.childElementCount ? [list] : [];
}

function part(title, content) {
  return content.length ? [html("h3", "", title), ...content] : [];
}

function neighbours(list, other) {
  if (!list.length) return [];
  const items = list.map((link) => {
    const index = other(link), node = data.nodes[index];
    const button = html("button", "", html("small", "", link.name), html("span", "", `${node.kind} ${node.label}`));
    button.type = "button";
    button.title = node.line;
    button.addEventListener("click", () => {
      if (!canBeSeen(index)) byId("hide").click();
      choose(index);
    });
    return html("li", "", button);
  });
  return [html("ul", "", ...items)];
}

const readable = (time) => (time ? time.replace("T", " ").replace("Z", " UTC") : time);

function describe(index) {
  const node = data.nodes[index], took = node.took ?? {};
  const close = html("button", "", "×");
  close.type = "button";
  close.setAttribute("aria-label", "Close");
  close.addEventListener("click", () => choose(null));
  const title = html("h2", kindClass(node.kind), html("b", "", node.kind), " " + node.label);
  const tags = html("div", "tags");
  const tag = (text, bad) => tags.append(html("span", bad ? "tag bad" : "tag", text));
  tag(node.id);
  tag(node.active ? "active" : "dead branch");
  if (node.endpoint) tag("active endpoint");
  if (node.failed) tag("failed", true);
  details.replaceChildren(
    html("div", "top", title, close), tags,
    ...(node.description ? [html("p", "", node.description)] : []),
    ...table([["Recorded", readable(node.created)], ["By", node.author]]),
    ...part("Content", fields(node.fields)),
    ...part("Measures", table([
      ["Began", readable(took.started)], ["Ended", readable(took.ended)], ["Took", duration(took.milliseconds)],
      ["Provider", took.provider], ["Model", took.model],
      ["Tokens read", took.input_tokens], ["of them from the cache", took.cache_read_tokens], ["Tokens to the cache", took.cache_write_tokens],
      ["Tokens written", took.output_tokens], ["of them thoughts", took.reasoning_tokens],
      ["Cost", took.cost_usd === undefined ? "" : "$" + took.cost_usd], ["Error", took.error],
    ])),
    ...part("Before", neighbours(links[index].before, (link) => link.from)),
    ...part("After", neighbours(links[index].after, (link) => link.to)),
    ...part("Messages", table((node.messages ?? []).map((message) => [message.chat, message.message]))),
    ...part("Earlier versions", (node.versions ?? []).map((version) => {
      const who = version.author ? ` by ${version.author}` : "";
      const head = html("summary", "", `${version.number}: until ${readable(version.at) ?? "?"}${who}`);
      return html("details", "", head, ...fields(version.was));
    }).reverse()),
  );
  details.scrollTop = 0;
}

function choose(index, focus = true) {
  if (chosen !== null) {
    groups[chosen].classList.remove("chosen");
    groups[chosen].setAttribute("aria-pressed", "false");
  }
  chosen = index;
  byId("chosen-links").replaceChildren();
  details.hidden = index === null;
  if (index === null) {
    if (focus) drawing.focus();
    return;
  }
  groups[index].classList.add("chosen");
  groups[index].setAttribute("aria-pressed", "true");
  for (const link of new Set([...links[index].before, ...links[index].after])) {
    if (canBeSeen(link.from) && canBeSeen(link.to)) drawLink(link, byId("chosen-links"));
  }
  describe(index);
  enter(index);
  bringIntoSight(data.nodes[index]);
  if (focus) groups[index].focus({ preventScroll: true });
}

// One node can be reached with Tab; from there arrow keys lead on.
let entered = null;
function enter(index) {
  if (entered !== null) groups[entered].setAttribute("tabindex", "-1");
  entered = index;
  if (index !== null) groups[index].setAttribute("tabindex", "0");
}

drawing.addEventListener("click", (event) => {
  const moved = drag?.moved;
  drag = null;
  if (moved) return;
  const group = event.target.closest(".node");
  if (group) choose(Number(group.dataset.node));
  else choose(null, false);
});

// The next node that way: along the links, or beside on the page.
function beside(index, direction) {
  const sees = (other) => other !== index && canBeSeen(other);
  // Computations before data, and references only where nothing else leads on.
  const along = (list, end) => {
    const rank = (link) => (link.kind === "reference" ? 2 : data.nodes[link[end]].data ? 1 : 0);
    return list.filter((link) => sees(link[end])).sort((a, b) => rank(a) - rank(b))[0]?.[end];
  };
  if (direction === "ArrowDown") return along(links[index].after, "to");
  if (direction === "ArrowUp") return along(links[index].before, "from");
  const [x, y, w, h] = data.nodes[index].box, forward = direction === "ArrowRight";
  let best, least = Infinity;
  data.nodes.forEach((node, other) => {
    const [ox, oy, ow, oh] = node.box;
    const away = forward ? ox - x - w : x - ox - ow;
    const off = Math.abs(oy + oh / 2 - y - h / 2);
    if (away >= 0 && off < 140 && sees(other) && away + 3 * off < least) [best, least] = [other, away + 3 * off];
  });
  return best;
}
