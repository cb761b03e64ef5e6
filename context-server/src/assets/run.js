// The run of a chat: one selected step in four views.
import { all, fetchJson, go, main, navigation, one, say, sayTimes } from "./dom.js";
import { Steps } from "./steps.js";

// The smallest scale at which the boxes of a drawing can be read.
const READABLE = 0.5;

let askedStep = 0;

/** Puts the step into the address and into the links to the other views. */
function rememberStep(node) {
  const url = navigation.url();
  url.searchParams.set("node", node);
  url.searchParams.delete("message");
  navigation.replace(url);
  main().dataset.node = node;
  for (const link of all(".views a")) {
    url.searchParams.set("view", link.dataset.shows);
    link.href = url.pathname + url.search;
  }
}

/** Shows a step in the panel. The selection moves at once; the content follows. */
async function showStep(node, now, focus) {
  rememberStep(node);
  const panel = one("#detail"), number = askedStep += 1;
  if (!panel) return;
  // Keys that are held down ask for one step, the last.
  if (!now) await new Promise((done) => { setTimeout(done, 120); });
  if (number !== askedStep) return;
  const { steps, shown, branch } = main().dataset;
  const answer = await fetch(`${steps}/step?${new URLSearchParams({ node, view: shown, branch })}`).catch(() => null);
  if (number !== askedStep) return;
  if (!answer?.ok) { say(answer ? answer.statusText : "The program that shows this page does not answer.", true); return; }
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  if (number !== askedStep) return;
  panel.replaceChildren(holder.content);
  panel.scrollTop = 0;
  sayTimes(panel);
  if (focus) { panel.focus(); panel.scrollIntoView({ block: "nearest" }); }
}

function zoomDrawing() {
  const box = one(".drawing"), svg = box && one("svg", box);
  if (!svg) return;
  const [width, height] = [Number(svg.dataset.width), Number(svg.dataset.height)];
  let scale = 1;
  const zoom = (to) => {
    scale = Math.max(0.15, Math.min(3, to));
    svg.setAttribute("width", Math.round(width * scale));
    svg.setAttribute("height", Math.round(height * scale));
  };
  const run = {
    in: () => zoom(scale * 1.25), out: () => zoom(scale / 1.25),
    // A long round fits by its width alone: as a whole it would be a line that nobody can read.
    fit: () => zoom(Math.max(READABLE, Math.min((box.clientWidth - 4) / width, (box.clientHeight - 4) / height, 1))),
  };
  main().addEventListener("click", (event) => run[event.target.closest?.("[data-zoom]")?.dataset.zoom]?.());
  document.addEventListener("keydown", (event) => {
    if (!svg.isConnected || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select")) return;
    run[{ "+": "in", "=": "in", "-": "out", 0: "fit" }[event.key]]?.();
  });
  if (width > box.clientWidth) zoom(Math.max(0.6, (box.clientWidth - 4) / width));
  const current = one(".box.current", svg);
  current?.scrollIntoView({ block: "center", inline: "nearest" });
}

/** Follows a run while it grows. */
function followRun(steps) {
  const source = new EventSource(`${main().dataset.api}events`);
  let known = null;
  source.addEventListener("state", (event) => {
    if (known !== null && known !== event.data) steps.refresh();
    known = event.data;
  });
  addEventListener("pagehide", () => source.close());
}

/** Starts the page. Returns the rows for the keyboard, if the view has lines. */
export function startRun(view, commands) {
  zoomDrawing();
  view.addEventListener("click", (event) => {
    const link = event.target.closest?.(".drawing [data-step], .detail [data-step]");
    if (!link || link.dataset.leaves || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (steps) { event.preventDefault(); goTo(link.dataset.step); return; }
    if (!link.closest(".drawing")) return;
    event.preventDefault();
    for (const box of all(".drawing .current")) box.classList.remove("current");
    link.classList.add("current");
    showStep(link.dataset.step, true, event.detail === 0);
  });
  const steps = view.dataset.lines !== "0" && one(".stepbox") ? new Steps(view, showStep) : null;
  const goTo = async (node) => { if (!(await select(node))) go(`${view.dataset.steps}?node=${encodeURIComponent(node)}`); };
  const select = async (node) => {
    // The list may not have read the line of this step.
    const known = [...steps.elements.values()].find((element) => element.dataset.step === node);
    if (known) { steps.mark(Number(known.dataset.at)); steps.open(false); return true; }
    const step = await fetchJson(`${view.dataset.api}run/step?node=${encodeURIComponent(node)}`).catch(() => null);
    if (step) { steps.showLine(step.line); showStep(node, true); }
    return Boolean(step);
  };
  commands.stepFailure = steps && (async (by) => {
    const line = await steps.failure(by).catch(() => null);
    if (line === null) say(by > 0 ? "No failure after this step." : "No failure before this step.");
    else steps.showLine(line);
  });
  one("[data-do=failure]")?.addEventListener("click", () => commands.stepFailure(1));
  one("[data-do=foldall]")?.addEventListener("click", (event) => {
    event.target.textContent = steps.foldAll() ? "All steps" : "Questions only";
  });
  // A file has one page for all steps of a view, or of a round.
  const asked = navigation.url().searchParams.get("node");
  const isOther = asked && asked !== view.dataset.node;
  if (isOther && view.dataset.shown === "graph") {
    for (const box of all(".drawing .box")) box.classList.toggle("current", box.dataset.step === asked);
    showStep(asked, true);
  }
  if (!steps) return null;
  if (view.dataset.line !== undefined) {
    const row = steps.rowOf(Number(view.dataset.line));
    steps.box.scrollTop = Math.max(0, row * 28 - steps.box.clientHeight / 3) / steps.scale;
    steps.current = row;
    steps.wanted = row;
  }
  steps.schedule();
  if (isOther) select(asked).then((found) => { if (!found) say("This file does not have that step in full.", true); });
  followRun(steps);
  return steps;
}
