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
  const placed = (...dropped) => {
    const short = new URLSearchParams([...kept].filter(([name]) => !dropped.includes(name)));
    return places[short.size ? `${path}?${short}` : path];
  };
  const known = placed() ?? placed("branch") ?? placed("branch", "before");
  if (known) return known;
  if (["graph", "provenance"].includes(kept.get("view")) && path.endsWith("/run") && (kept.has("node") || kept.has("message"))) {
    // A round has one drawing; another step's provenance would be a wrong answer.
    kept.set("node", kept.get("node")?.replace(/\.\d+$/, "") ?? "");
    return placed("branch") ?? null;
  }
  // The list of a run selects the step itself.
  return placed("branch", "before", "view") ?? placed("branch", "before", "node", "message")
    ?? placed("branch", "before", "view", "message", "node") ?? null;
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

/** The texts of the file in which words are looked for: rows of the chat, then steps of the run. */
async function* searched(words) {
  const start = document.body.dataset.start;
  const parsed = async (url) => new DOMParser().parseFromString(await bodyOf(url), "text/html");
  for (const url of Object.keys(places).filter((name) => start && name.startsWith(`${start}/rows?from=`))) {
    for (const row of (await parsed(url)).querySelectorAll(".row")) {
      row.querySelector(":scope > header")?.remove();
      yield { kind: row.dataset.kind, text: row.textContent, href: `${start}?at=${encodeURIComponent(row.dataset.id)}&words=${encodeURIComponent(words)}` };
    }
  }
  const lines = Object.keys(places).filter((name) => name.includes("/run/lines?from="));
  const from = (name) => Number(new URLSearchParams(name.split("?")[1]).get("from"));
  for (const url of lines.sort((one, other) => from(one) - from(other))) {
    const run = url.replace("/api/v1", "").split("/lines")[0];
    for (const line of JSON.parse(await bodyOf(url)).lines) {
      const node = encodeURIComponent(line.node), full = `${run}/step?node=${node}`;
      const text = full in places ? (await parsed(full)).body.textContent : [line.tool, line.text, line.error].filter(Boolean).join(" ");
      yield { kind: `step ${line.node}`, text, href: `${run}?node=${node}` };
    }
  }
}

/** Shows what has all words. */
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
  for await (const { kind, text: content, href } of searched(text)) {
    if (!list.open) return;
    const whole = content.replace(/\s+/g, " "), lower = whole.toLowerCase();
    if (!words.length || !words.every((word) => lower.includes(word))) continue;
    const at = Math.max(0, lower.indexOf(words[0]) - 60);
    const hit = document.createElement("a");
    hit.className = "hit";
    hit.href = href;
    hit.textContent = `${kind}: …${whole.slice(at, at + 200)}…`;
    hit.addEventListener("click", () => list.close());
    list.append(hit);
    hits += 1;
    if (hits >= 200) return;
  }
  if (!hits) list.append("Nothing was found.");
}

/** Returns the nearest line of a run with a failure: a file has the list of all. */
async function failureOf(url) {
  const [path, query] = url.split("?"), asked = new URLSearchParams(query);
  const lines = JSON.parse((await bodyOf(`${path}s`)) ?? "[]"), from = Number(asked.get("from"));
  const found = asked.get("back") === "true" ? lines.findLast((line) => line <= from) : lines.find((line) => line >= from);
  return JSON.stringify(found ?? null);
}

/** Makes a page in a file work by itself. `again` starts what a page needs. */
export function bePage(again) {
  if (document.documentElement.dataset.static === undefined) return;
  restart = again;
  here = document.body.dataset.first;
  window.fetch = async (url) => {
    const body = await (String(url).includes("/run/failure?") ? failureOf(String(url)) : bodyOf(String(url)));
    const detail = "This file does not have that. The inspector does: context ui";
    return body === null ? new Response(JSON.stringify({ detail }), { status: 404, statusText: detail }) : new Response(body);
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
