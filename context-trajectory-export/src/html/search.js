// Search, keys, and the first look.
const box = byId("search");
let texts = null, hits = [], hit = -1;

function haystack(node) {
  return [node.kind, node.label, node.id, node.description ?? "", ...node.fields.map((field) => (field.json ? shown(field) : field.text))].join("\n").toLowerCase();
}

function search() {
  const wanted = box.value.trim().toLowerCase();
  texts ??= data.nodes.map(haystack);
  hits = wanted ? texts.flatMap((text, index) => (canBeSeen(index) && text.includes(wanted) ? [index] : [])) : [];
  hit = -1;
  const found = new Set(hits);
  groups.forEach((group, index) => group.classList.toggle("hit", found.has(index)));
  drawing.classList.toggle("searching", wanted !== "");
  tell(wanted !== "");
}

function tell(searching) {
  byId("hits").textContent = !searching ? "" : hit < 0 ? `${hits.length} found` : `${hit + 1} of ${hits.length}`;
  byId("earlier").disabled = byId("later").disabled = hits.length === 0;
}

function goTo(step) {
  if (!hits.length) return;
  hit = hit < 0 && step < 0 ? hits.length - 1 : (hit + step + hits.length) % hits.length;
  choose(hits[hit], false);
  tell(true);
}

let later = 0;
box.addEventListener("input", () => {
  clearTimeout(later);
  later = setTimeout(search, data.nodes.length > 500 ? 120 : 0);
});
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  clearTimeout(later);
  if (!hits.length || hit < 0) search();
  goTo(event.shiftKey ? -1 : 1);
});
byId("later").addEventListener("click", () => goTo(1));
byId("earlier").addEventListener("click", () => goTo(-1));

function leave() {
  if (box.value) {
    box.value = "";
    search();
  } else if (chosen !== null) {
    choose(null);
  }
  if (document.activeElement === box) box.blur();
}

const KEYS = {
  "/": () => { box.focus(); box.select(); },
  "+": () => zoomBy(1.3), "=": () => zoomBy(1.3), "-": () => zoomBy(1 / 1.3), 0: () => fit(0),
  h: () => byId("hide").click(),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") return leave();
  if (event.ctrlKey || event.metaKey || event.altKey || event.target === box || details.contains(event.target)) return;
  const group = document.activeElement?.closest?.(".node");
  const at = group ? Number(group.dataset.node) : chosen ?? entered;
  if (event.key.startsWith("Arrow")) {
    event.preventDefault();
    const next = at === null ? data.nodes.findIndex((_, index) => canBeSeen(index)) : beside(at, event.key);
    if (next !== undefined && next >= 0) choose(next);
  } else if ((event.key === "Enter" || event.key === " ") && group) {
    event.preventDefault();
    choose(at);
  } else if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

if (data.nodes.length) enter(0);
fit(0.62);
window.addEventListener("resize", show);
