"""Sessions of the OpenAI Agents SDK: items come back as they were, and are messages of a chat."""

from __future__ import annotations

import asyncio
from pathlib import Path

import context_layer as context
import pytest
from context_layer import AsyncStore, Store

pytest.importorskip("agents", reason="the OpenAI Agents SDK is not installed")

from agents import Agent, Runner  # noqa: E402
from agents.memory import Session, SessionSettings  # noqa: E402
from agents.testing import ScriptedModel, assistant_message  # noqa: E402
from context_layer.openai_agents import ContextSession  # noqa: E402

ITEMS = [
    {"role": "user", "content": "Hi"},
    {"role": "user", "content": ""},
    {"role": "user", "content": []},
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "a", "extra": {"k": None, "n": 1.0, "z": 12345678901234567890}},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look."},
            {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
        ],
    },
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []},
            {"type": "refusal", "refusal": "No."},
        ],
    },
    {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "c1",
        "name": "trains",
        "arguments": '{"to":  "Lisbon", "n": 1.10}',
        "status": "completed",
    },
    {"type": "function_call", "call_id": "c2", "name": "trains", "arguments": "{broken"},
    {"type": "function_call_output", "call_id": "c1", "output": "10:05"},
    {
        "type": "function_call_output",
        "call_id": "c2",
        "output": [{"type": "input_text", "text": "none"}],
    },
    {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "It is warm."}],
        "encrypted_content": "gAAAA",
    },
    {
        "id": "cu_1",
        "type": "computer_call",
        "call_id": "c3",
        "action": {"type": "click", "x": 1, "y": 2, "button": "left"},
        "pending_safety_checks": [],
        "status": "completed",
    },
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "zz"},
    {"nobody": "knows this"},
]


def test_items_come_back_as_they_were_given(store: Store, user: str) -> None:
    async def main() -> None:
        session = ContextSession("s", store, user=user)
        assert isinstance(session, Session)
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS
        assert await session.get_items(3) == ITEMS[-3:]
        assert await session.get_items(0) == []
        for item in reversed(ITEMS):
            assert await session.pop_item() == item
        assert await session.pop_item() is None
        await session.add_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]

    asyncio.run(main())


def test_items_are_messages_of_a_chat(store: Store, user: str) -> None:
    async def main() -> None:
        session = ContextSession("s", store, user=user)
        await session.add_items(ITEMS)

    asyncio.run(main())
    chat = store.chat(user, "s", existing=True)
    roles = [message["role"] for message in chat.messages()]
    assert roles.count("tool") == 2 and "assistant" in roles
    called = next(m for m in chat.messages() if m["parts"][0]["type"] == "tool_call")
    assert called["parts"][0]["name"] == "trains"
    prepared = chat.prepare("anthropic", "claude-sonnet-4-5")
    assert "10:05" in str(prepared["body"])
    if store.info["name"] != "redis":
        assert len(chat.search("warm")["items"]) <= 1
        assert [hit["text"] for hit in chat.search("hello")["items"]] != []


def test_messages_of_another_program_are_items_too(store: Store, user: str) -> None:
    chat = store.chat(user, "s")
    chat.append(
        [
            context.user("Trains to Lisbon?"),
            context.assistant("I look.", context.tool_call("c1", "trains", {"to": "Lisbon"})),
        ]
    )

    async def main() -> None:
        session = ContextSession("s", store, user=user)
        types = [item.get("type", "message") for item in await session.get_items()]
        assert types == ["message", "message", "function_call"]
        assert (await session.pop_item())["type"] == "function_call"
        left = await session.get_items()
        assert [item["content"] for item in left] == ["Trains to Lisbon?", "I look."]

    asyncio.run(main())


def test_branches_keep_what_was_left() -> None:
    async def main() -> None:
        session = ContextSession("s", Store.open("mem:"))
        first = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        await session.add_items([*first, {"role": "user", "content": "c"}])
        turns = await session.get_conversation_turns()
        assert [turn["content"] for turn in turns] == ["a", "c"]

        assert await session.create_branch_from_turn(2, "other") == "other"
        await session.add_items([{"role": "user", "content": "d"}])
        assert [item["content"] for item in await session.get_items()] == ["a", "b", "d"]
        with pytest.raises(ValueError, match="there is a branch"):
            await session.create_branch_from_turn(1, "other")
        with pytest.raises(ValueError, match="there is no turn 3"):
            await session.create_branch_from_turn(3)

        await session.switch_to_branch("main")
        assert [item["content"] for item in await session.get_items()] == ["a", "b", "c"]
        await session.delete_branch("other")
        assert [branch["branch_id"] for branch in await session.list_branches()] == ["main"]

    asyncio.run(main())


def test_a_cancelled_write_is_known_to_be_done(tmp_path: Path) -> None:
    async def main() -> None:
        session = ContextSession("s", f"sqlite:{tmp_path / 'agents.db'}")
        await session.add_items([{"role": "user", "content": "first"}])
        task = asyncio.create_task(session.add_items([{"role": "user", "content": "second"}]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [item["content"] for item in await session.get_items()] == ["first", "second"]
        await session.close()
        with pytest.raises(RuntimeError, match="ContextSession is closed"):
            await session.get_items()

    asyncio.run(main())


def test_a_store_that_was_not_awaited_is_refused_with_what_to_do() -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match="must be awaited first"):
            ContextSession("s", AsyncStore.open("mem:"))  # type: ignore[arg-type]

    asyncio.run(main())


def test_two_sessions_of_one_chat_see_each_other_and_a_clear(tmp_path: Path) -> None:
    async def main() -> None:
        url = f"sqlite:{tmp_path / 'agents.db'}"
        one, two = ContextSession("s", url), ContextSession("s", url)
        await one.add_items([{"role": "user", "content": "a"}])
        await two.add_items([{"role": "user", "content": "b"}])
        assert await one.pop_item() == {"role": "user", "content": "b"}
        await two.add_items([{"role": "user", "content": "c"}])
        assert [item["content"] for item in await one.get_items()] == ["a", "c"]
        await one.clear_session()
        assert await two.get_items() == []
        await two.add_items([{"role": "user", "content": "d"}])
        assert [item["content"] for item in await one.get_items()] == ["d"]
        one.close()
        two.close()

    asyncio.run(main())


def test_a_runner_goes_on_with_what_was_said(store: Store, user: str) -> None:
    async def main() -> None:
        model = ScriptedModel([[assistant_message("Yes.")], [assistant_message("Friday.")]])
        agent = Agent(name="booker", model=model)
        settings = SessionSettings(limit=10)
        session = ContextSession("s", store, user=user, session_settings=settings)
        for question, answer in (("To Lisbon?", "Yes."), ("When?", "Friday.")):
            result = await Runner.run(agent, question, session=session)
            assert result.final_output == answer
        roles = [item.get("role") for item in await session.get_items()]
        assert roles == ["user", "assistant", "user", "assistant"]
        assert len(model.last_call.input) == 3

    asyncio.run(main())
