// Forgetting memories.
import { fetchJson, main, say } from "./dom.js";
import { ask } from "./dialogs.js";

/** Asks, forgets a memory, and says what else holds a copy. */
export async function forgetMemory(button) {
  const answer = await ask({
    title: "Forget this memory?", danger: true, button: "Forget",
    text: [
      "Its record is removed and is not added again when the same message is captured again.",
      "Not reached: the message it came from, requests that were sent, exports and backups.",
    ],
  });
  if (!answer) return;
  try {
    const done = await fetchJson(`${main().dataset.api}/forget`, {
      method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ scope: JSON.parse(button.dataset.scope), id: button.dataset.forget }),
    });
    button.closest("li").remove();
    await ask({ title: done.remaining ? "Some records remain" : "Forgotten", text: done.notes, button: "Close" });
  } catch (error) {
    say(error.message, true);
  }
}
