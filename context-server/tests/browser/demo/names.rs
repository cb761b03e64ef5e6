//! Chats with names that are hard to show.

use context_runtime::{assistant, user};
use serde_json::json;

use super::{ARABIC, Demo, EMPTY, say, step};

pub(super) async fn write(demo: &Demo) {
    let _empty = demo.chat(EMPTY, "Not begun yet").await;
    let long = "offsite-planning-".repeat(6) + "with-everybody-of-the-three-offices-and-two-guests";
    let mut engine = demo.chat(&long, &"Everything that has to be booked, asked, paid and remembered before all three offices meet in spring ".repeat(2)).await;
    let word = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";
    let [call, result] = step(
        "",
        "n1",
        &"look_up_the_opening_hours_of_".repeat(4),
        json!({"query": word.repeat(3)}),
        &word.repeat(20),
    );
    say(
        &mut engine,
        [user(word.repeat(3)), call, result, assistant(format!("`{}`", word.repeat(2)))],
    )
    .await;
    let mut engine = demo.chat("里斯本", "去里斯本的两个座位").await;
    say(
        &mut engine,
        [
            user("星期五去里斯本的两个座位，我们都有行李箱。"),
            assistant("星期五早上有一班 **TP 531**，七点零五分起飞，九点四十五分到达。要我保留两个座位吗？"),
        ],
    )
    .await;
    let mut engine = demo.chat(ARABIC, "مقعدان إلى لشبونة يوم الجمعة").await;
    let [call, result] = step(
        "أبحث عن مقاعد يوم الجمعة.",
        "r1",
        "search_flights",
        json!({"إلى": "لشبونة", "date": "2026-03-06"}),
        "TP 531 · 07:05 · مقعدان · €118",
    );
    say(
        &mut engine,
        [
            user("مقعدان إلى لشبونة يوم الجمعة من فضلك، ومع كل منا حقيبة (رقم 2)."),
            call,
            result,
            assistant("رحلة الصباح **TP 531** تناسبكما:\n\n1. تغادر الساعة 07:05.\n2. يمكن تغييرها حتى اليوم السابق.\n\nهل أحجز المقعدين؟"),
        ],
    )
    .await;
}
