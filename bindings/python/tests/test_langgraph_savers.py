"""Savers that share a store: they see each other's writes, and deletions leave nothing behind."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from context_layer import Store

pytest.importorskip("langgraph", reason="LangGraph is not installed")

from context_layer.langgraph import ContextSaver  # noqa: E402
from langchain_core.messages import HumanMessage  # noqa: E402
from langgraph.checkpoint.base import empty_checkpoint  # noqa: E402


def config(thread: str = "t", **more: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


def put(
    saver: ContextSaver,
    parent: dict[str, Any],
    values: dict[str, Any],
    metadata: dict[str, Any] | None = None,
) -> dict[str, Any]:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    versions = {channel: saver.get_next_version(None) for channel in values}
    checkpoint["channel_versions"] = versions
    return saver.put(parent, checkpoint, metadata or {"source": "loop"}, versions)


def name(stored: dict[str, Any]) -> str:
    return stored["configurable"]["checkpoint_id"]


def test_two_savers_write_to_one_thread(store: Store, user: str) -> None:
    one, two = ContextSaver(store, user=user), ContextSaver(store, user=user)
    first = put(one, config(), {"n": 1})
    two.put_writes(first, [("n", 2)], "task-of-two")
    one.put_writes(first, [("n", 3)], "task-of-one")
    assert {write[0] for write in one.get_tuple(first).pending_writes} == {
        "task-of-one",
        "task-of-two",
    }
    second = put(two, first, {"n": 2})
    third = put(one, second, {"n": 3})
    for saver in (one, two):
        assert name(saver.get_tuple(config()).config) == name(third)
        assert [name(found.config) for found in saver.list(config())] == [
            name(third),
            name(second),
            name(first),
        ]


def test_the_newest_is_found_though_another_saver_deleted_it(store: Store, user: str) -> None:
    one, two = ContextSaver(store, user=user), ContextSaver(store, user=user)
    first = put(one, config(), {"n": 1}, {"run_id": "kept"})
    second = put(one, first, {"n": 2}, {"run_id": "gone"})
    two.delete_for_runs(["gone"])
    assert one.get_tuple(second) is None
    assert name(one.get_tuple(config()).config) == name(first)
    # The first saver does not know, and names the deleted one as the newest.
    one.put_writes(first, [("n", 3)], "task")
    for saver in (one, two):
        assert name(saver.get_tuple(config()).config) == name(first)
    # A checkpoint of the same name may be put again.
    checkpoint = empty_checkpoint() | {"id": name(second), "channel_values": {"n": 9}}
    one.put(first, checkpoint, {"source": "loop"}, {})
    one.put_writes(second, [("n", 4)], "task")
    found = two.get_tuple(config())
    assert (name(found.config), found.checkpoint["channel_values"]) == (name(second), {"n": 9})
    assert [write[2] for write in found.pending_writes] == [4]


def test_a_checkpoint_that_is_put_again_replaces_the_one_before(store: Store, user: str) -> None:
    saver = ContextSaver(store, user=user)
    first = put(saver, config(), {"n": 1})
    second = put(saver, first, {"n": 2})
    checkpoint = empty_checkpoint() | {"id": name(first), "channel_values": {"n": "again"}}
    saver.put(config(), checkpoint, {"source": "loop"}, {})
    assert saver.get_tuple(first).checkpoint["channel_values"] == {"n": "again"}
    assert name(saver.get_tuple(config()).config) == name(second)
    assert len(list(saver.list(config()))) == 2


def test_pruning_removes_blobs_that_nothing_names(store: Store, user: str) -> None:
    saver = ContextSaver(store, user=user)
    shared, old, new = b"s" * 1000, b"o" * 1000, b"n" * 1000
    first = put(saver, config(), {"shared": shared, "own": old})
    saver.put_writes(first, [("own", b"w" * 5000)], "task")
    second = put(saver, first, {"shared": shared, "own": new})
    (records,) = store.chats(user)["items"]
    chat = store.chat(user, records["chat"], existing=True)
    values = chat.lookup([f"c/{name(first)}"])[0]["parts"][0]["value"]["values"]
    saver.prune(["t"])
    found = saver.get_tuple(config())
    assert name(found.config) == name(second)
    assert found.checkpoint["channel_values"] == {"shared": shared, "own": new}
    assert chat.blob(values["own"]["blob"]) is None
    assert chat.blob(values["shared"]["blob"]) is not None


def test_pruning_keeps_what_delta_channels_are_rebuilt_from(store: Store, user: str) -> None:
    saver = ContextSaver(store, user=user)
    counters = {"counters_since_delta_snapshot": {"log": [1, 1]}}
    before = put(saver, config(), {"other": 0}, counters)
    snapshot = put(saver, before, {"log": ["a"], "other": 1}, counters)
    saver.put_writes(snapshot, [("log", ["b"])], "task-1")
    middle = put(saver, snapshot, {"other": 2}, counters)
    saver.put_writes(middle, [("log", ["c"])], "task-2")
    latest = put(saver, middle, {"other": 3}, counters)
    saver.prune(["t"])
    kept = [name(found.config) for found in saver.list(config())]
    assert kept == [name(latest), name(middle), name(snapshot)]
    history = saver.get_delta_channel_history(config=latest, channels=["log"])["log"]
    assert history["seed"] == ["a"]
    assert [write[2] for write in history["writes"]] == [["b"], ["c"]]
    with pytest.raises(ValueError):
        saver.prune(["t"], strategy="some")


def test_a_message_that_was_changed_in_place_is_noticed(store: Store, user: str) -> None:
    saver = ContextSaver(store, user=user)
    messages = [HumanMessage("one", id="1"), HumanMessage(["two", {"type": "x", "n": [1]}], id="2")]
    first = put(saver, config(), {"messages": messages})
    messages[1].content[1]["n"].append(2)
    second = put(saver, first, {"messages": [*messages, HumanMessage("three", id="3")]})
    assert saver.get_tuple(first).checkpoint["channel_values"]["messages"][1].content[1]["n"] == [1]
    found = saver.get_tuple(second).checkpoint["channel_values"]["messages"]
    assert found[1].content[1]["n"] == [1, 2] and len(found) == 3


def test_threads_of_a_program_share_a_saver(tmp_path: Path) -> None:
    saver = ContextSaver(Store.open(f"sqlite:{tmp_path / 'checkpoints.db'}"))
    first = put(saver, config(), {"n": 1})
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                saver.put_writes(first, [("n", turn)], f"task-{number}-{turn}")
        except BaseException as error:  # shown by the assertion below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failed == []
    assert len(saver.get_tuple(first).pending_writes) == 40
