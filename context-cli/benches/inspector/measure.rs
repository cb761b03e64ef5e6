//! The measurements of a page.

use serde_json::{Value, json};

use crate::data;
use crate::driver::{Browser, Page, View};
use crate::server::Server;
use crate::table::Table;

/// The targets: of the first paint, of a frame and of a search, in milliseconds.
const PAINT: f64 = 1_000.0;
const FRAME: f64 = 50.0;
const SEARCH: f64 = 200.0;
/// The targets of the page's memory: megabytes of scripts, and nodes.
const HEAP: f64 = 32.0;
const NODES: f64 = 20_000.0;

/// The steps of the wheel, and of the scroll bar from end to end.
const WHEEL: usize = 150;
const DRAG: usize = 120;

/// Notes the time between frames from now on, and the tasks that kept the page from drawing.
const WATCH_FRAMES: &str = "window.frames_ = []; window.tasks_ = []; window.watching_ = true;
(window.observer_ ??= new PerformanceObserver((list) => { for (const it of list.getEntries()) window.tasks_.push(it.duration); }))
  .observe({ type: 'longtask' });
{ let before = performance.now(); const look = (now) => { window.frames_.push(now - before); before = now; if (window.watching_) requestAnimationFrame(look); };
  requestAnimationFrame((now) => { before = now; requestAnimationFrame(look); }); } null";

async fn open(browser: &Browser, server: &Server) -> Page {
    let page = browser.page(&server.origin, View::WIDE).await;
    page.go(&server.url).await;
    page
}

/// Returns whether the inspector has a page.
pub(crate) async fn exists(browser: &Browser, server: &Server, address: &str) -> bool {
    let page = open(browser, server).await;
    let status = page.eval(&format!("fetch('{address}').then((it) => it.status)")).await;
    status != 404
}

pub(crate) async fn chat(table: &mut Table, browser: &Browser, server: &Server, n: usize) {
    let page = open(browser, server).await;
    let address = format!("/chats/{}", data::CHAT);
    for (open, address) in [
        ("first", address.clone()),
        ("again", address.clone()),
        ("middle", format!("{address}?at=m{}", n / 2)),
    ] {
        page.go(&address).await;
        paint(table, &page, "chat", open, n).await;
    }
    page.go(&address).await;
    scroll(table, &page, "chat", n).await;
    for (name, words) in [("rare word", data::RARE), ("common word", data::COMMON)] {
        let script = format!(
            "(async () => {{ const times = []; for (let n = 0; n < 5; n += 1) {{ const begin = performance.now();
            const found = await (await fetch('/api/v1/search?q={words}&chat={}')).json();
            if (!found.hits.length) throw new Error('no hits'); times.push(performance.now() - begin); }}
            return times.sort((a, b) => a - b)[2]; }})()",
            data::CHAT
        );
        let time = page.eval(&script).await.as_f64().unwrap();
        table.add(&format!("search of a {name}, median of 5"), n, (time, "ms"), Some(SEARCH));
    }
    memory(table, &page, server, "chat", n).await;
}

pub(crate) async fn run(
    table: &mut Table,
    browser: &Browser,
    server: &Server,
    address: &str,
    n: usize,
) {
    let page = open(browser, server).await;
    for open in ["first", "again"] {
        page.go(address).await;
        paint(table, &page, "run", open, n).await;
    }
    scroll(table, &page, "run", n).await;
    memory(table, &page, server, "run", n).await;
}

async fn paint(table: &mut Table, page: &Page, view: &str, open: &str, n: usize) {
    page.wait("performance.getEntriesByName('first-contentful-paint').length").await;
    let times = page
        .eval("(() => { const it = performance.getEntriesByType('navigation')[0];
            return [it.responseStart - it.requestStart, performance.getEntriesByName('first-contentful-paint')[0].startTime]; })()")
        .await;
    let of = |at: usize| times[at].as_f64().unwrap();
    table.add(&format!("{view}, {open}: time to first byte"), n, (of(0), "ms"), None);
    table.add(&format!("{view}, {open}: first paint"), n, (of(1), "ms"), Some(PAINT));
}

/// Scrolls by the wheel for a while, then by the scroll bar from end to end.
async fn scroll(table: &mut Table, page: &Page, view: &str, n: usize) {
    page.eval(WATCH_FRAMES).await;
    for _ in 0..WHEEL {
        let wheel = json!({"type": "mouseWheel", "x": 700, "y": 400, "deltaX": 0, "deltaY": 240});
        page.ask("Input.dispatchMouseEvent", wheel).await;
    }
    frames(table, page, &format!("{view}, wheel"), n).await;
    page.eval(WATCH_FRAMES).await;
    page.eval(&format!(
        "new Promise((done) => {{ const view = document.querySelector('#main'); let step = 0;
        const move = () => {{ step += 1; view.scrollTop = (view.scrollHeight - view.clientHeight) * step / {DRAG};
          if (step < {DRAG}) requestAnimationFrame(move); else done(0); }}; move(); }})"
    ))
    .await;
    frames(table, page, &format!("{view}, scroll bar from end to end"), n).await;
    page.wait("!document.querySelector('.row.ghost')").await;
}

async fn frames(table: &mut Table, page: &Page, case: &str, n: usize) {
    let seen = page
        .eval("new Promise((done) => requestAnimationFrame(() => { window.watching_ = false;
            const frames = window.frames_.sort((a, b) => a - b);
            done([frames.at(-1) ?? 0, frames[Math.floor(frames.length * 0.99)] ?? 0, Math.max(0, ...window.tasks_), frames.length]); }))")
        .await;
    let of = |at: usize| seen[at].as_f64().unwrap();
    table.add(&format!("{case}: longest frame"), n, (of(0), "ms"), Some(FRAME));
    table.add(&format!("{case}: 99 of 100 frames"), n, (of(1), "ms"), Some(FRAME));
    table.add(&format!("{case}: longest task over 50 ms"), n, (of(2), "ms"), Some(FRAME));
}

async fn memory(table: &mut Table, page: &Page, server: &Server, view: &str, n: usize) {
    const MEGABYTE: f64 = 1e6;
    page.ask("HeapProfiler.collectGarbage", json!({})).await;
    page.ask("Performance.enable", json!({})).await;
    let metrics = page.ask("Performance.getMetrics", json!({})).await;
    let of = |name: &str| {
        let metrics = metrics["metrics"].as_array().into_iter().flatten();
        metrics.filter(|it| it["name"] == name).find_map(|it| Value::as_f64(&it["value"]))
    };
    let heap = of("JSHeapUsedSize").unwrap() / MEGABYTE;
    table.add(&format!("{view}: memory of scripts after that"), n, (heap, "MB"), Some(HEAP));
    table.add(&format!("{view}: nodes of the page"), n, (of("Nodes").unwrap(), ""), Some(NODES));
    if let Some(memory) = server.memory() {
        table.add(&format!("{view}: memory of the server"), n, (memory / MEGABYTE, "MB"), None);
    }
}
