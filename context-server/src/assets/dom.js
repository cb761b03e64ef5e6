// Small helpers. Text of messages is only ever set as text.

export const one = (selector, within = document) => within.querySelector(selector);
export const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/** Creates an element with properties and children; texts become text nodes. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const SPANS = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [86400 * 7, "day", 86400]];

/** Says times as people do: relative for a week, then the date. The whole is in the tooltip. */
export function sayTimes(within = document) {
  for (const element of all("time[datetime]:not([title])", within)) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    element.title = at.toLocaleString();
    const age = (Date.now() - at.getTime()) / 1000;
    const span = age >= -5 && SPANS.find(([limit]) => age < limit);
    element.textContent = at.getTime() === 0 ? "no time"
      : span ? relative.format(-Math.max(0, Math.round(age / span[2])), span[1])
      : at.toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
  }
}

/** Shows a sentence for a while. */
export function say(text, isError = false) {
  const toast = one("#toast");
  toast.textContent = text;
  toast.className = isError ? "shown error" : "shown";
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { toast.className = ""; }, isError ? 12000 : 5000);
}

/** Fetches JSON. A refusal is an error with the server's own sentence. */
export async function fetchJson(url, options) {
  const answer = await fetch(url, options);
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(body?.detail ?? `${answer.status} ${answer.statusText}`);
  return body;
}

export const root = () => document.documentElement.dataset.root ?? "";
export const main = () => one("#main");
export const isTyping = (target) => target?.closest?.("input, textarea, select, [contenteditable]");

/** The address of the page. A page in a file has its pages within itself, and replaces all of these. */
export const navigation = {
  to: (url) => location.assign(url),
  url: () => new URL(location.href),
  replace: (url) => history.replaceState(null, "", url),
  mark: (id) => {
    const url = navigation.url();
    url.searchParams.set("at", id);
    url.searchParams.delete("turn");
    navigation.replace(url);
  },
};
export const go = (url) => navigation.to(url);
