"""A turn: the program's client and tools, the library's history, window, recovery and record."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import context_layer as context
import pytest
from context_layer import Store, text_of

TOOL = {"name": "weather", "description": "The weather.", "input_schema": {"type": "object"}}


def said(*blocks: dict[str, Any], stop: str = "end_turn") -> tuple[int, str]:
    """A reply of Anthropic's API."""
    body = {"role": "assistant", "content": list(blocks), "stop_reason": stop}
    return 200, json.dumps(body)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


CALL = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"at": "Lisbon"}}


def test_a_turn_is_stored_and_recorded(store: Store, user: str) -> None:
    agents = store.agents("claude-sonnet-4-5")
    turn = agents.turn(user, "trip", "How is the weather?", system="Be brief.", tools=[TOOL])
    # The question is stored before anything is sent.
    assert [text_of(m) for m in store.chat(user, "trip").messages()] == ["How is the weather?"]

    request = turn.next()
    assert request["number"] == 1 and "Be brief." in json.dumps(request["body"]["system"])
    assert [tool["name"] for tool in request["body"]["tools"]][0] == "weather"
    (call,) = turn.received(*said(text("I look."), CALL, stop="tool_use"))
    assert call == {"id": "c1", "name": "weather", "input": {"at": "Lisbon"}}
    turn.result("c1", "18 °C")
    assert turn.tool_calls() == []

    request = turn.next()
    assert "18 °C" in json.dumps(request["body"], ensure_ascii=False)
    assert turn.received(*said(text("It is warm."))) == []
    assert turn.next() is None
    answer = turn.finish()
    assert (answer["text"], answer["turn"], answer["incomplete"]) == ("It is warm.", turn.id, False)
    assert (answer["report"]["calls"], answer["report"]["tool_results"]) == (2, 1)

    roles = [message["role"] for message in store.chat(user, "trip").messages()]
    assert roles == ["user", "assistant", "tool", "assistant"]
    rounds = store.rounds(user, session="trip")["items"]
    assert [each["state"] for each in rounds] == ["closed"]
    assert len(store.trajectory(user, "trip")) == 1
    for form in ("mermaid", "dot"):
        assert "weather" in store.trajectory(user, "trip", format=form)
    for form in ("prov", "atif", "chrome"):
        assert store.trajectory(user, "trip", format=form)


def test_a_busy_provider_is_asked_again(store: Store, user: str) -> None:
    turn = store.agents("claude-sonnet-4-5").turn(user, "trip", "Hello?")
    first = turn.next()
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    turn.received(529, json.dumps(error))
    assert turn.next()["body"] == first["body"]
    turn.received(*said(text("Hello!")))
    assert turn.next() is None
    report = turn.finish()["report"]
    assert (report["calls"], report["retries"]) == (2, 1)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
def test_a_signal_ends_a_call_that_waits() -> None:
    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    turn = Store.open("mem:").agents("claude-sonnet-4-5").turn("ada", "trip", "Hello?")
    turn.next()
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    turn.received(529, json.dumps(error))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Stopped):
            turn.next()  # waits before it asks the busy provider again
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert turn.next()["number"] == 2


def test_a_lost_connection_is_a_matter_of_the_turn(store: Store, user: str) -> None:
    turn = store.agents("claude-sonnet-4-5").turn(user, "trip", "Hello?")
    first = turn.next()
    assert turn.next() == first  # nothing was handed over, so nothing has changed
    turn.failed("connection reset")
    assert turn.next()["number"] == 2
    turn.received(*said(text("Hello!")))
    assert turn.next() is None
    assert turn.finish()["report"]["retries"] == 1


def test_a_refusal_that_nothing_helps_ends_the_turn_in_order(store: Store, user: str) -> None:
    turn = store.agents("claude-sonnet-4-5").turn(user, "trip", "Hello?")
    turn.next()
    error = {"type": "error", "error": {"type": "authentication_error", "message": "no key"}}
    turn.received(401, json.dumps(error))
    with pytest.raises(context.ContextError):
        turn.next()
    # The question stays, and the chat goes on.
    turn = store.agents("claude-sonnet-4-5").turn(user, "trip", "Hello again?")
    assert len(turn.next()["body"]["messages"]) >= 1
    turn.received(*said(text("Hello!")))
    assert turn.next() is None
    assert turn.finish()["text"] == "Hello!"


def test_a_streamed_answer_arrives_in_pieces(store: Store, user: str) -> None:
    turn = store.agents("claude-sonnet-4-5").turn(user, "trip", "Hello?")
    turn.next()
    events = [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": text("")},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "He"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "y"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    pieces = [delta for event in events for delta in turn.event(json.dumps(event))]
    assert pieces == [{"type": "text", "text": "He"}, {"type": "text", "text": "y"}]
    assert turn.next() is None
    assert turn.finish()["text"] == "Hey"


def test_a_cancelled_turn_says_what_was_not_done(store: Store, user: str) -> None:
    turn = store.agents("claude-sonnet-4-5").turn(user, "trip", "How is it?", tools=[TOOL])
    turn.next()
    turn.received(*said(CALL, stop="tool_use"))
    assert turn.cancel()["not_run"] == ["weather"]
    with pytest.raises(context.Invalid, match="ended"):
        turn.next()
    # What was left is valid for the next turn.
    turn = store.agents("claude-sonnet-4-5").turn(user, "trip", "And now?")
    assert "tool_result" in json.dumps(turn.next()["body"])


def test_a_turn_that_was_dropped_is_continued(store: Store, user: str) -> None:
    agents = store.agents("claude-sonnet-4-5")
    turn = agents.turn(user, "trip", "Hello?")
    turn.next()
    del turn
    resumed = agents.turn(user, "trip")
    assert "Hello?" in json.dumps(resumed.next()["body"])
    resumed.received(*said(text("Hello!")))
    assert resumed.next() is None and resumed.finish()["text"] == "Hello!"
    with pytest.raises(context.Invalid):
        store.agents("claude-sonnet-4-5").turn(user, "empty")


def test_tasks_may_stop_waiting_for_a_turn() -> None:
    async def main() -> None:
        store = await context.AsyncStore.open("mem:")
        agents = await store.agents("claude-sonnet-4-5")
        turn = await agents.turn("ada", "trip", context.user("Hello?"))
        waiting = asyncio.ensure_future(turn.next())
        await asyncio.sleep(0)
        waiting.cancel()
        request = await turn.next()
        assert request["number"] == 1
        assert await turn.received(*said(text("Hello!"))) == []
        assert await turn.next() is None
        assert (await turn.finish())["text"] == "Hello!"

    asyncio.run(main())
