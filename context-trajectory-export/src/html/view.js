// Panning, zooming, the switch for dead branches.
const world = byId("world");
const view = { x: 0, y: 0, zoom: 1 };
const FAR = 0.42, NEAREST = 3;

const extent = data.bands.reduce(
  (all, { box: [x, y, width, height] }) => [Math.min(all[0], x), Math.min(all[1], y), Math.max(all[2], x + width), Math.max(all[3], y + height)],
  [Infinity, Infinity, -Infinity, -Infinity],
);
const empty = data.bands.length === 0;
const size = () => [drawing.clientWidth || 1, drawing.clientHeight || 1];
const farthest = () => (empty ? 1 : Math.min(0.2, Math.min(...size().map((side, at) => side / (extent[at + 2] - extent[at] + 80)))));

function show() {
  world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.zoom})`);
  drawing.classList.toggle("far", view.zoom < FAR);
  // What a wide round is called stays in sight.
  const left = -view.x / view.zoom;
  for (const { caption, x, width } of captions) caption.setAttribute("x", Math.max(18, Math.min(left - x + 18, width - 300)));
}

function zoomAt(x, y, factor) {
  const zoom = Math.min(NEAREST, Math.max(farthest(), view.zoom * factor));
  view.x = x - ((x - view.x) * zoom) / view.zoom;
  view.y = y - ((y - view.y) * zoom) / view.zoom;
  view.zoom = zoom;
  show();
}

const zoomBy = (factor) => zoomAt(...size().map((side) => side / 2), factor);

// Everything, or as much from the first question on as can be read.
function fit(least) {
  if (empty) return;
  const [width, height] = size();
  const across = width / (extent[2] - extent[0] + 60), down = height / (extent[3] - extent[1] + 60);
  view.zoom = Math.max(Math.min(across, down, 1.2), least);
  const first = data.nodes[0]?.box ?? data.bands[0].box;
  const middle = across >= view.zoom ? (extent[0] + extent[2]) / 2 : first[0] + first[2] / 2;
  view.x = width / 2 - middle * view.zoom;
  view.y = down >= view.zoom ? (height - (extent[1] + extent[3]) * view.zoom) / 2 : 24 - extent[1] * view.zoom;
  show();
}

// Brings a node into sight, and no more than that.
function bringIntoSight(node) {
  const [width, height] = size();
  const [x, y, w, h] = node.box;
  if (view.zoom < FAR) view.zoom = 0.8;
  const left = x * view.zoom + view.x, top = y * view.zoom + view.y;
  if (left < 30 || left + w * view.zoom > width - 30 || top < 30 || top + h * view.zoom > height - 30) {
    view.x = width / 2 - (x + w / 2) * view.zoom;
    view.y = height / 2 - (y + h / 2) * view.zoom;
  }
  show();
}

let drag = null;
drawing.addEventListener("pointerdown", (event) => {
  if (event.button === 0) drag = { x: event.clientX, y: event.clientY, moved: false };
});
drawing.addEventListener("pointermove", (event) => {
  if (!drag || !(event.buttons & 1)) return;
  const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  if (!drag.moved) drawing.setPointerCapture(event.pointerId);
  Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
  drawing.classList.add("moving");
  view.x += dx;
  view.y += dy;
  show();
});
for (const end of ["pointerup", "pointercancel"]) {
  drawing.addEventListener(end, () => drawing.classList.remove("moving"));
}
drawing.addEventListener("wheel", (event) => {
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 16 : 1;
  if (event.ctrlKey || event.metaKey || !event.shiftKey) {
    const { left, top } = drawing.getBoundingClientRect();
    zoomAt(event.clientX - left, event.clientY - top, Math.exp((-event.deltaY * unit) / (event.ctrlKey ? 120 : 500)));
  } else {
    view.x -= (event.deltaX || event.deltaY) * unit;
    show();
  }
}, { passive: false });

byId("in").addEventListener("click", () => zoomBy(1.3));
byId("out").addEventListener("click", () => zoomBy(1 / 1.3));
byId("fit").addEventListener("click", () => fit(0));

const hidden = () => byId("hide").checked;
const canBeSeen = (index) => !hidden() || data.nodes[index].active;
byId("hide").addEventListener("change", () => {
  drawing.classList.toggle("hide", hidden());
  if (chosen !== null && !canBeSeen(chosen)) choose(null);
  search();
});
