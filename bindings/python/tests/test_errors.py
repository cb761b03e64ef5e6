"""Errors are exceptions by kind, with facts and without secrets."""

from __future__ import annotations

from pathlib import Path

import context_layer as context
import pytest
from context_layer import Store


def test_each_kind_is_a_class_of_one_family() -> None:
    store = Store.open("mem:")
    with pytest.raises(context.NotFound) as raised:
        store.chat("ada", "nowhere", existing=True)
    error = raised.value
    assert isinstance(error, context.ContextError)
    assert (error.kind, error.retry) == ("not_found", "never")
    assert error.operation == "open_chat" and error.facts == {"chat": "nowhere"}


def test_input_that_is_refused_writes_nothing() -> None:
    store = Store.open("mem:")
    chat = store.chat("ada", "lisbon")
    for given in ([{"role": "nobody", "parts": []}], {"role": "user"}, [{"role": "user"}], 7):
        with pytest.raises(context.Invalid):
            chat.append(given)
    with pytest.raises(ValueError):
        chat.append([context.user("x", metadata={"n": float("nan")})])
    with pytest.raises(TypeError):
        chat.append([context.user("x", metadata={"n": object()})])
    with pytest.raises(UnicodeEncodeError):
        chat.append([context.user("\ud800")])
    with pytest.raises(context.Invalid):
        store.chats("ada", limit=0)
    with pytest.raises(context.Invalid):
        chat.page(limit=0)
    assert chat.messages() == []
    # What was refused is not pending either.
    chat.append([context.user("Hello.")])
    assert len(chat.messages()) == 1


def test_unknown_names_say_which_are_known() -> None:
    store = Store.open("mem:")
    chat = store.chat("ada", "lisbon")
    chat.append([context.user("Hello.")])
    with pytest.raises(context.Unsupported, match="openai-responses"):
        chat.prepare("nobody", "m")
    with pytest.raises(context.Unsupported, match="microcompact"):
        chat.prepare("anthropic", "claude-sonnet-4-5", policies=["squash"])
    with pytest.raises(context.Unsupported):
        store.trajectory("ada", "lisbon", format="poem")
    with pytest.raises(context.Unsupported):
        chat.graph("poem")


def test_no_error_repeats_a_password() -> None:
    for url in ("postgres://ada:hunter2@127.0.0.1:1/x", "redis://:hunter2@127.0.0.1:1/0"):
        with pytest.raises(context.ContextError) as raised:
            Store.open(url)
        assert "hunter2" not in f"{raised.value!r} {raised.value.facts}"


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:{tmp_path / 'chats.db'}")
    chat = store.chat("ada", "lisbon")
    store.close()
    with pytest.raises(context.ContextError):
        chat.append([context.user("Too late.")])
