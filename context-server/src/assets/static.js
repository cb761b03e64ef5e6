// A page in a file: its pages and data are within it, packed in chunks, and nothing is fetched.
// Does nothing on a page that a server sent.
import { navigation, one, say } from "./dom.js";

const unpacked = new Map();
let places = null, here = "", restart = null;

function placeOf(url) {
  places ??= JSON.parse(one("#places").textContent);
  const [path, query = ""] = url.split("#")[0].split("?");
  if (url in places) return places[url];
  // Links name settings that the file has only one of.
  const all = new URLSearchParams(query), kept = new URLSearchParams();
  for (const name of ["branch", "message", "number", "after", "before", "piece", "view", "node", "from", "count"]) {
    if (all.get(name)) kept.set(name, all.get(name));
  }
  for (const drop of [[], ["branch"], ["before"], ["view"], ["message"], ["node"]]) {
    for (const name of drop) kept.delete(name);
    const short = kept.size ? `${path}?${kept}` : path;
    if (short in places) return places[short];
  }
  return null;
}

async function unpack(number) {
  if (!unpacked.has(number)) {
    const packed = Uint8Array.from(atob(one(`#pack-${number}`).textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(number, new Response(stream).json());
    if (unpacked.size > 12) unpacked.delete(unpacked.keys().next().value);
  }
  return unpacked.get(number);
}

async function bodyOf(url) {
  const place = placeOf(url);
  return place ? (await unpack(place[0]))[place[1]] : null;
}

function resolve(url) {
  if (url.startsWith("?")) return here.split("?")[0] + url;
  return url.startsWith("/") ? url : null;
}

async function showPage(url) {
  const [path, query = ""] = url.split("?");
  const at = new URLSearchParams(query).get("at");
  const branch = new URLSearchParams(query).get("branch");
  const wanted = at === null ? url : branch ? `${path}?branch=${encodeURIComponent(branch)}` : path;
  if (path.endsWith("/search")) { await showHits(new URLSearchParams(query).get("q") ?? ""); return; }
  const html = await bodyOf(wanted);
  if (html === null) { say("This file does not have that page. The inspector does: context ui", true); return; }
  const page = new DOMParser().parseFromString(html, "text/html");
  const fresh = [...page.body.children].filter((element) => element.id !== "toast");
  for (const element of [...document.body.children]) {
    if (element.tagName !== "SCRIPT" && element.id !== "toast") element.remove();
  }
  document.body.prepend(...fresh.map((element) => document.adoptNode(element)));
  here = url;
  if (location.hash !== `#!${url}`) history.pushState(null, "", `#!${url}`);
  if (at !== null) {
    const ids = JSON.parse((await bodyOf(branch ? `ids?branch=${encodeURIComponent(branch)}` : "ids")) ?? "[]");
    const row = ids.indexOf(at);
    if (row >= 0) one("#main").dataset.at = String(row);
  }
  await restart();
}

/** Searches the rows of the file: those that have all words. */
async function showHits(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const list = one("#hits") ?? document.createElement("dialog");
  list.id = "hits";
  list.replaceChildren();
  const title = document.createElement("h2");
  title.textContent = `“${text}”`;
  list.append(title);
  document.body.append(list);
  if (!list.open) list.showModal();
  list.onclick = (event) => { if (event.target === list) list.close(); };
  let hits = 0;
  places ??= JSON.parse(one("#places").textContent);
  const start = document.body.dataset.start;
  for (const url of Object.keys(places).filter((name) => name.startsWith(`${start}/rows?from=`))) {
    const rows = new DOMParser().parseFromString(await bodyOf(url), "text/html").querySelectorAll(".row");
    for (const row of rows) {
      const whole = row.textContent.replace(/\s+/g, " "), lower = whole.toLowerCase();
      if (!words.length || !words.every((word) => lower.includes(word))) continue;
      const at = Math.max(0, lower.indexOf(words[0]) - 60);
      const hit = document.createElement("a");
      hit.className = "hit";
      hit.href = `${start}?at=${encodeURIComponent(row.dataset.id)}&words=${encodeURIComponent(text)}`;
      hit.textContent = `${row.dataset.kind}: …${whole.slice(at, at + 200)}…`;
      hit.addEventListener("click", () => list.close());
      list.append(hit);
      hits += 1;
      if (hits >= 200) return;
    }
  }
  if (!hits) list.append("Nothing was found.");
}

/** Makes a page in a file work by itself. `again` starts what a page needs. */
export function bePage(again) {
  if (document.documentElement.dataset.static === undefined) return;
  restart = again;
  here = document.body.dataset.start;
  window.fetch = async (url) => {
    const body = await bodyOf(String(url));
    return body === null ? new Response(JSON.stringify({ detail: "This file does not have that." }), { status: 404 }) : new Response(body);
  };
  window.EventSource = class { addEventListener() {} close() {} };
  navigation.to = (url) => { const to = resolve(url); if (to) showPage(to); };
  navigation.url = () => new URL(here, "http://file");
  navigation.replace = (url) => {
    here = url.pathname + url.search;
    history.replaceState(null, "", `#!${here}`);
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const to = link && !event.defaultPrevented && resolve(link.getAttribute("href"));
    if (!to) return;
    event.preventDefault();
    showPage(to);
  });
  addEventListener("popstate", () => showNamed());
  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".find")) return;
    event.preventDefault();
    showHits(new FormData(event.target).get("q"));
  });
}

/** Shows the page that the address of a file names, if it names one. */
export async function showNamed() {
  if (document.documentElement.dataset.static === undefined || !location.hash.startsWith("#!")) return;
  const url = decodeURI(location.hash.slice(2));
  if (url !== here) await showPage(url);
}
