// The keyboard. Keys do nothing while somebody types.
import { all, go, isTyping, one, root, say } from "./dom.js";
import { showHelp } from "./dialogs.js";
import { rowMenu } from "./actions.js";

let pending = "";

/** Follows the tab of a view. */
function view(name) {
  const tab = all(".tabs > *").find((one) => one.textContent === name);
  if (tab?.href) tab.click(); else if (tab) say(tab.title);
}

function fold(row, open) {
  for (const details of all("details", row)) if (!details.parentElement.closest("details")) details.open = open;
}

/** Changes between light and dark. */
export function changeTheme() {
  const html = document.documentElement;
  html.dataset.theme = html.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("context-theme", html.dataset.theme); } catch { /* storage is off */ }
}

/** Moves through the rows of a table or a list of links. */
function stepLinks(by) {
  const links = all("table.chats tbody tr:not([hidden]) td.name a, .hits a, .tree .branch a, .steps [data-step], .part > summary, .memories li a");
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
}

export function listen(rows, commands) {
  const step = (by) => (rows() ? rows().step(by) : commands.request ? commands.request(by) : stepLinks(by));
  const run = {
    j: () => step(1), k: () => step(-1),
    h: () => (rows()?.foldStep ? rows().foldStep(false) : current() && fold(current(), false)),
    l: () => (rows()?.foldStep ? rows().foldStep(true) : current() && fold(current(), true)),
    o: () => (rows()?.foldStep ? rows().open(true) : current() && fold(current(), !all("details", current()).some((one) => one.open))),
    ".": () => current() && one("[data-do=menu]", current()) && rowMenu(current(), one("[data-do=menu]", current())),
    e: () => commands.failure?.(1), E: () => commands.failure?.(-1),
    "[": () => commands.sibling?.(-1), "]": () => commands.sibling?.(1),
    G: () => rows()?.end(true), "g g": () => rows()?.show(0),
    s: () => commands.sent?.(current()), b: () => view("Branches"), c: () => view("Chat"), d: () => view("Difference"), r: () => view("Run"), p: () => view("Prompt"),
    "/": () => { const field = one(".find input[type=search]"); field.focus(); field.select(); },
    "g c": () => go(`${root()}/`), "g m": () => go(`${root()}/memory`),
    t: changeTheme, "?": showHelp,
  };
  const current = () => (rows()?.current === undefined ? null : rows().elements.get(rows().current));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyping(event.target)) { event.target.blur(); return; }
    if ((event.ctrlKey || event.metaKey) && event.key === "f" && rows() && !rows().isWhole && !isTyping(event.target)) {
      // The browser would search what is drawn only. Pressed again within the field, it does.
      event.preventDefault();
      run["/"]();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || one("dialog[open]")) return;
    const key = pending === "g" && run[`g ${event.key}`] ? `g ${event.key}` : event.key;
    pending = event.key === "g" && pending !== "g" ? "g" : "";
    if (!run[key]) return;
    event.preventDefault();
    run[key]();
  });
}
