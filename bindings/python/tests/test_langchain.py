"""LangChain's messages, there and back; a chat as its history."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import context_layer as context
import pytest
from context_layer import Store

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from context_layer.langchain import (  # noqa: E402
    ContextChatHistory,
    Unrepresentable,
    from_message,
    to_message,
)
from langchain_core.messages import (  # noqa: E402
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

MESSAGES: list[BaseMessage] = [
    HumanMessage(""),
    HumanMessage("Two tickets.", id="q", name="ada", additional_kwargs={"a": [1, {"b": None}]}),
    HumanMessage(
        [
            "plain",
            {"type": "text", "text": "marked", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "https://e.com/a.png", "detail": "low"}},
            {"type": "image_url", "image_url": "https://e.com/b.png"},
            {"type": "file", "file": {"id": "f"}},
        ]
    ),
    HumanMessage([]),
    SystemMessage("You book trips."),
    AIMessage(
        "I look.",
        id="a",
        tool_calls=[
            {"name": "trains", "args": {"to": "Lisbon"}, "id": "c1", "type": "tool_call"},
            {"name": "hotels", "args": {}, "id": None, "type": "tool_call"},
        ],
        invalid_tool_calls=[
            {"name": "x", "args": "{", "id": "c2", "error": "e", "type": "invalid_tool_call"}
        ],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m", "logprobs": None},
    ),
    AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "A"}]
    ),
    AIMessageChunk("part"),
    ToolMessage("10:05", tool_call_id="c1", name="trains", artifact={"raw": [1]}),
    ToolMessage([{"type": "text", "text": "no"}], tool_call_id="c2", status="error"),
    FunctionMessage("old", name="f"),
    ChatMessage("said", role="critic"),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_equal(message: BaseMessage) -> None:
    form = json.loads(json.dumps(to_message(message)))
    back = from_message(form)
    assert type(back) is type(message) and back == message


def test_a_message_without_a_form_says_so() -> None:
    with pytest.raises(Unrepresentable):
        to_message(RemoveMessage(id="q"))


def test_a_chat_is_a_history(store: Store, user: str) -> None:
    history = ContextChatHistory(store.chat(user, "trip"))
    history.add_messages(MESSAGES)
    assert history.messages == MESSAGES
    history.add_user_message("And back?")
    assert history.messages[-1] == HumanMessage("And back?")
    history.clear()
    assert history.messages == []
    history.add_ai_message("Anew.")
    assert [message.content for message in history.messages] == ["Anew."]
    assert len(store.chat(user, "trip").messages(branch="main")) == len(MESSAGES) + 1


def test_a_history_has_a_face_for_asyncio() -> None:
    async def main() -> None:
        store = Store.open("mem:").to_async()
        history = ContextChatHistory(await store.chat("ada", "trip"))
        await history.aadd_messages(MESSAGES)
        assert await history.aget_messages() == MESSAGES
        await history.aclear()
        assert await history.aget_messages() == []

    asyncio.run(main())


def test_messages_of_other_programs_are_given_the_nearest_class(store: Store, user: str) -> None:
    chat = store.chat(user, "trip")
    chat.append(
        [
            context.system("Be brief."),
            context.user("Trains?"),
            context.assistant("I look.", context.tool_call("c1", "trains", {"to": "Lisbon"})),
            context.tool_result("c1", "10:05", is_error=True),
        ]
    )
    found = ContextChatHistory(chat).messages
    kinds = [SystemMessage, HumanMessage, AIMessage, ToolMessage]
    assert [type(message) for message in found] == kinds
    assert found[2].tool_calls[0]["args"] == {"to": "Lisbon"}
    assert found[3].status == "error"


def recorded(data: Path) -> list[list[dict[str, Any]]]:
    """Conversations in the form of Chat Completions."""
    found = []
    for file in sorted((data / "tau-bench").rglob("*.json"))[:4]:
        runs = json.loads(file.read_text())
        found += [run["traj"] for run in runs if isinstance(run, dict) and "traj" in run][:50]
    return found


def test_recorded_conversations_come_back_equal(data: Path) -> None:
    conversations = recorded(data)
    if not conversations:
        pytest.skip(f"no conversations of tau-bench in {data}")
    store = Store.open("mem:")
    for number, conversation in enumerate(conversations):
        messages = convert_to_messages(conversation)
        history = ContextChatHistory(store.chat("ada", f"chat-{number}"))
        history.add_messages(messages)
        assert history.messages == messages
