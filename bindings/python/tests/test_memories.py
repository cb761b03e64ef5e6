"""Memories: remembered, recalled in their scope, forgotten."""

from __future__ import annotations

import context_layer as context
from context_layer import Store


def test_a_memory_is_recalled_in_a_later_session_of_the_same_user(store: Store, user: str) -> None:
    store.remember(user, "I fly from Lisbon only.", speaker="Ada")
    found = store.recall(user, "Where do I fly from?")["memories"]
    assert [memory["text"] for memory in found] == ["I fly from Lisbon only."]
    assert found[0]["speaker"] == "Ada"
    assert store.recall(f"not-{user}", "Where do I fly from?")["memories"] == []

    forgotten = store.forget(user, ids=[found[0]["id"]])
    assert forgotten["removed"] == 1
    assert store.recall(user, "Where do I fly from?")["memories"] == []


def test_the_messages_of_a_chat_are_captured(store: Store, user: str) -> None:
    chat = store.chat(user, "lisbon")
    chat.append([context.user("My cat is called Marquês."), context.assistant("A fine name.")])
    assert store.capture(user, "lisbon") == 2
    found = store.recall(user, "What is my cat called?")["memories"]
    assert "Marquês" in found[0]["text"]
    assert found[0]["source"]["session"] == "lisbon"
