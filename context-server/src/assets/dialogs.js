// Questions, menus and help.
import { all, make, one } from "./dom.js";

const KEYS = [
  ["j k", "next or previous row"], ["h l", "fold or unfold the row"], ["o", "fold or unfold its arguments and thoughts"],
  [".", "actions for the row"], ["e E", "next or previous failure"], ["[ ]", "sibling on another branch"],
  ["g g, G", "first or last row"], ["s", "what was sent for this answer"], ["d", "difference to the request before"], ["r", "run"], ["b", "branches"],
  ["c", "messages of the chat"], ["p", "prompt"], ["/", "search"], ["g c", "all chats"], ["g m", "memories"],
  ["t", "light or dark"], ["?", "this list"], ["Esc", "close, or leave a field"],
];

function open(dialog) {
  const before = document.activeElement;
  document.body.append(dialog);
  dialog.addEventListener("close", () => { dialog.remove(); before?.focus?.({ preventScroll: true }); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(""); });
  dialog.showModal();
  return dialog;
}

/** Lists the keys. */
export function showHelp() {
  if (one("dialog.help")) return;
  open(make("dialog", { className: "help", ariaLabel: "Keys" },
    make("form", { method: "dialog" },
      make("h2", {}, "Keys"),
      make("dl", { className: "keys" }, ...KEYS.flatMap(([keys, what]) => [
        make("dt", {}, ...keys.split(/(, | )/).map((key) => (/^(, | )$/.test(key) ? key : make("kbd", {}, key)))),
        make("dd", {}, what)])),
      make("p", { className: "buttons" }, make("button", { autofocus: true }, "Close")))));
}

/** Asks a question, with fields if there are any. Resolves to the values, or to null. */
export function ask({ title, text = [], fields = [], button, danger = false }) {
  return new Promise((answer) => {
    const inputs = fields.map((field) => {
      const input = field.multiline
        ? make("textarea", { name: field.name, value: field.value ?? "", rows: 10, required: true })
        : make("input", { name: field.name, value: field.value ?? "", required: true, autocomplete: "off" });
      return make("label", {}, make("span", {}, field.label), input);
    });
    const form = make("form", { method: "dialog" },
      make("h2", {}, title), ...text.map((line) => make("p", {}, line)), ...inputs,
      make("p", { className: "buttons" },
        make("button", { type: "button", onclick: () => dialog.close("") }, "Cancel"),
        make("button", { value: "yes", className: danger ? "danger" : "primary" }, button)));
    const dialog = make("dialog", { className: "ask", ariaLabel: title }, form);
    dialog.addEventListener("close", () => {
      answer(dialog.returnValue === "yes" ? Object.fromEntries(new FormData(form)) : null);
    });
    open(dialog);
    // Nothing is removed by a key that was pressed too often.
    (one("input, textarea", form) ?? all("button", form).at(danger ? 0 : -1)).focus();
  });
}

/** Shows a menu beside an element. `items` are names with what they do. */
export function showMenu(beside, items) {
  one("[role=menu]")?.remove();
  const menu = make("div", { className: "menu", role: "menu", tabIndex: -1 });
  // To remove what has the focus is to move the focus, which closes the menu: once is enough.
  let isOpen = true;
  const close = (refocus) => {
    if (!isOpen) return;
    isOpen = false;
    menu.remove();
    if (refocus) beside.focus({ preventScroll: true });
  };
  for (const [name, run, className] of items) {
    menu.append(make("button", { type: "button", role: "menuitem", className: className ?? "",
      onclick: () => { close(true); run(); } }, name));
  }
  menu.addEventListener("keydown", (event) => {
    const buttons = all("button", menu), at = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); buttons.at(to % buttons.length).focus(); }
    if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); close(true); }
    event.stopPropagation();
  });
  menu.addEventListener("focusout", (event) => { if (!menu.contains(event.relatedTarget)) close(false); });
  document.body.append(menu);
  const box = beside.getBoundingClientRect();
  menu.style.top = `${Math.max(8, Math.min(box.bottom + 2, innerHeight - menu.offsetHeight - 8))}px`;
  menu.style.left = `${Math.max(8, Math.min(box.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`;
  one("button", menu)?.focus();
}
