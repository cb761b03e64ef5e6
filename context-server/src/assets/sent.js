// What was sent: settings that plan anew at once, pieces that are fetched when they are opened.
import { fetchJson, main, one, say, sayTimes } from "./dom.js";
import { ask } from "./dialogs.js";

/** Fetches the content of a fold when it is opened first. */
export async function loadFold(details) {
  const url = details.dataset.load;
  if (!url || details.dataset.loaded) return;
  details.dataset.loaded = "yes";
  const holder = document.createElement("div");
  holder.className = "loaded";
  holder.textContent = "…";
  details.append(holder);
  try {
    const answer = await fetch(url);
    const text = await answer.text();
    if (!answer.ok) throw new Error(JSON.parse(text).detail ?? answer.statusText);
    holder.innerHTML = text;
    sayTimes(holder);
  } catch (error) {
    delete details.dataset.loaded;
    holder.remove();
    details.open = false;
    say(error.message, true);
  }
}

function settings(form) {
  const data = new FormData(form), query = new URLSearchParams();
  const boxes = [...form.querySelectorAll("[data-policy]")], on = boxes.filter((box) => box.checked);
  data.set("policies", on.length === boxes.length ? "" : on.map((box) => box.dataset.policy).join(",") || "none");
  for (const [name, value] of data) if (value !== "") query.append(name, value);
  return query;
}

/** Plans anew with the settings of the form, without leaving the page. */
export async function plan(form) {
  const url = `${form.getAttribute("action")}?${settings(form)}`;
  const number = (plan.number = (plan.number ?? 0) + 1);
  main().classList.add("waiting");
  try {
    const answer = await fetch(url);
    const text = await answer.text();
    if (number !== plan.number) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = one("#main", page);
    if (!fresh) throw new Error(answer.statusText);
    const focused = document.activeElement?.name, top = main().scrollTop;
    main().replaceWith(document.adoptNode(fresh));
    main().scrollTop = top;
    history.replaceState(null, "", url);
    sayTimes(main());
    if (focused) one(`.controls [name="${CSS.escape(focused)}"]`)?.focus();
  } catch (error) {
    say(error.message, true);
  } finally {
    main().classList.remove("waiting");
  }
}

async function actAndReload(action) {
  try {
    const done = await fetchJson(`${main().dataset.api}actions`, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(action),
    });
    sessionStorage.setItem("context-said", done.text);
    location.reload();
  } catch (error) { say(error.message, true); }
}

/** Stores a compaction with the settings of the form. */
export async function compact(button) {
  const form = button.closest("form"), branch = main().dataset.branch ?? null;
  const policies = [...form.querySelectorAll("[data-policy]")].filter((box) => box.checked).map((box) => box.dataset.policy);
  const model = form.elements.model.value || main().dataset.model || "claude-sonnet-4-5";
  const window = Number(form.elements.window.value) || null;
  const answer = await ask({ title: "Compact this branch", button: "Compact",
    text: [`Plans with ${policies.join(", ") || "no policy"} for ${model}, aims at half of the window and stores the cut with the branch.`,
      "Nothing is deleted: the whole history stays readable, and Undo takes the cut back."] });
  if (answer) await actAndReload({ action: "compact", branch, policies, model, window });
}

/** Takes the newest stored compaction back. */
export const undo = () => actAndReload({ action: "undo", branch: main().dataset.branch ?? null });

const ENDPOINTS = {
  anthropic: ["https://api.anthropic.com/v1/messages", ["x-api-key: $ANTHROPIC_API_KEY", "anthropic-version: 2023-06-01"]],
  openai: ["https://api.openai.com/v1/chat/completions", ["authorization: Bearer $OPENAI_API_KEY"]],
  "openai-responses": ["https://api.openai.com/v1/responses", ["authorization: Bearer $OPENAI_API_KEY"]],
  gemini: ["https://generativelanguage.googleapis.com/v1beta/models/MODEL:generateContent", ["x-goog-api-key: $GEMINI_API_KEY"]],
};

/** Copies the body, or a command that sends it. */
export async function copyBody(button) {
  try {
    const answer = await fetch(button.dataset.from);
    if (!answer.ok) throw new Error(answer.statusText);
    const body = await answer.text();
    let text = body;
    if (button.dataset.do === "copy-curl") {
      const [url, headers] = ENDPOINTS[button.dataset.provider] ?? ENDPOINTS.openai;
      const quoted = `'${body.replaceAll("'", `'\\''`)}'`;
      const lines = headers.map((header) => `-H "${header}"`);
      const address = url.replace("MODEL", encodeURIComponent(button.dataset.model ?? ""));
      text = [`curl ${address}`, `-H "content-type: application/json"`, ...lines, `--data-raw ${quoted}`].join(" \\\n  ");
    }
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch (error) { say(error.message, true); }
}

/** Follows the link to the neighbouring request. */
export function stepRequest(by) {
  one(by > 0 ? ".pages [rel=next]" : ".pages [rel=prev]")?.click();
}

/** Opens the piece that the address names. */
export function openNamed() {
  const named = location.hash.startsWith("#piece-") ? document.getElementById(location.hash.slice(1)) : null;
  if (!named) return;
  for (let fold = named; fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  named.scrollIntoView({ block: "center" });
}
