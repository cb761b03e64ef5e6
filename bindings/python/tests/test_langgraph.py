"""LangGraph's checkpoints: a graph that stops, goes on, goes back and forks."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any

import context_layer as context
import pytest
from context_layer import Store, text_of

pytest.importorskip("langgraph", reason="LangGraph is not installed")

from context_layer.langgraph import ContextSaver  # noqa: E402
from langchain_core.messages import (  # noqa: E402
    AIMessage,
    AnyMessage,
    HumanMessage,
    ToolMessage,
)
from langgraph.graph import END, START, StateGraph, add_messages  # noqa: E402
from langgraph.types import Command, interrupt  # noqa: E402
from typing_extensions import TypedDict  # noqa: E402


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: Annotated[list[str], operator.add]
    report: bytes


def look(state: State) -> State:
    call = {"name": "trains", "args": {"to": "Lisbon"}, "id": "c1", "type": "tool_call"}
    return {
        "messages": [AIMessage("I look.", id="ai-1", tool_calls=[call])],
        "steps": ["look"],
        "report": b"\x00" * 10_000,
    }


def ask(state: State) -> State:
    allowed = interrupt({"allow": "trains"})
    answer = "10:05" if allowed else "not allowed"
    return {"messages": [ToolMessage(answer, tool_call_id="c1", id="tool-1")], "steps": ["ask"]}


def answer(state: State) -> State:
    said = state["messages"][-1].content
    return {"messages": [AIMessage(f"The answer is {said}.", id="ai-2")], "steps": ["answer"]}


def graph(saver: ContextSaver) -> Any:
    builder = StateGraph(State)
    for node in (look, ask, answer):
        builder.add_node(node)
    builder.add_edge(START, "look")
    builder.add_edge("look", "ask")
    builder.add_edge("ask", "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


QUESTION = {"messages": [HumanMessage("A train to Lisbon?", id="q")], "steps": []}


def said(values: dict[str, Any]) -> list[str]:
    return [message.content for message in values["messages"]]


def test_a_graph_stops_and_goes_on_in_another_process(store: Store, user: str) -> None:
    config = {"configurable": {"thread_id": "trip"}}
    first = graph(ContextSaver(store, user=user)).invoke(QUESTION, config)
    assert first["__interrupt__"][0].value == {"allow": "trains"}

    # Nothing of the first saver is left.
    app = graph(ContextSaver(store, user=user))
    assert app.get_state(config).next == ("ask",)
    done = app.invoke(Command(resume=True), config)
    assert said(done) == ["A train to Lisbon?", "I look.", "10:05", "The answer is 10:05."]
    assert done["steps"] == ["look", "ask", "answer"]
    assert app.get_state(config).values["report"] == b"\x00" * 10_000
    assert app.get_state(config).values["messages"] == done["messages"]


def test_a_graph_runs_in_asyncio(store: Store, user: str) -> None:
    async def main() -> None:
        config = {"configurable": {"thread_id": "trip"}}
        app = graph(ContextSaver(store.to_async(), user=user))
        await app.ainvoke(QUESTION, config)
        done = await app.ainvoke(Command(resume=False), config)
        assert said(done)[-1] == "The answer is not allowed."
        history = [state async for state in app.aget_state_history(config)]
        assert [state.next for state in history][-1] == ("__start__",)
        assert len(history) == 5

    asyncio.run(main())


def test_a_thread_goes_back_and_forks(store: Store, user: str) -> None:
    config = {"configurable": {"thread_id": "trip"}}
    app = graph(ContextSaver(store, user=user))
    app.invoke(QUESTION, config)
    app.invoke(Command(resume=True), config)

    history = list(app.get_state_history(config))
    assert [len(state.values.get("messages", [])) for state in history] == [4, 3, 2, 1, 0]
    before = next(state for state in history if state.next == ("ask",))

    # Replayed from there: the same path, once more.
    app.invoke(None, before.config)
    app.invoke(Command(resume=True), config)
    assert said(app.get_state(config).values)[-1] == "The answer is 10:05."

    # Changed there: another path.
    changed = HumanMessage("A plane to Lisbon?", id="q")
    fork = app.update_state(before.config, {"messages": [changed]}, as_node="look")
    app.invoke(None, fork)
    done = app.invoke(Command(resume=False), config)
    assert said(done)[0] == "A plane to Lisbon?" and "not allowed" in said(done)[-1]

    # The old path is still there.
    assert said(app.get_state(history[0].config).values) == [
        "A train to Lisbon?",
        "I look.",
        "10:05",
        "The answer is 10:05.",
    ]


def test_messages_are_a_conversation(store: Store, user: str) -> None:
    config = {"configurable": {"thread_id": "trip"}}
    app = graph(ContextSaver(store, user=user))
    app.invoke(QUESTION, config)
    app.invoke(Command(resume=True), config)

    chat = store.chat(user, "trip", existing=True)
    assert [branch["name"] for branch in chat.branches()] == ["main"]
    roles = [message["role"] for message in chat.messages()]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert text_of(chat.messages()[-1]) == "The answer is 10:05."
    body = chat.prepare("anthropic", "claude-sonnet-4-5")["body"]
    sent = [message["role"] for message in body["messages"]]
    assert sent[:4] == ["user", "assistant", "user", "assistant"]
    if store.info["name"] != "redis":
        assert [hit["chat"] for hit in store.search(user, "train lisbon")["items"]] == ["trip"]


def test_a_fork_of_the_thread_is_a_branch_of_the_conversation(store: Store, user: str) -> None:
    config = {"configurable": {"thread_id": "trip"}}
    app = graph(ContextSaver(store, user=user))
    app.invoke(QUESTION, config)
    before = app.get_state(config)
    app.invoke(Command(resume=True), config)
    app.invoke(None, before.config)
    app.invoke(Command(resume=False), config)

    chat = store.chat(user, "trip", existing=True)
    assert [branch["name"] for branch in chat.branches()] == ["main", "main-v2"]
    assert "not allowed" in text_of(chat.messages()[-1])


def test_what_others_append_stays_and_the_thread_goes_on(store: Store, user: str) -> None:
    config = {"configurable": {"thread_id": "trip"}}
    app = graph(ContextSaver(store, user=user))
    app.invoke(QUESTION, config)
    store.chat(user, "trip").append([context.user("A note of another program.")])
    done = app.invoke(Command(resume=True), config)
    assert said(done)[-1] == "The answer is 10:05."
    chat = store.chat(user, "trip", existing=True)
    assert "another program" in text_of(chat.messages(branch="main")[-1])
    assert text_of(chat.messages()[-1]) == "The answer is 10:05."


def test_a_thread_goes_on_behind_a_compaction_of_its_conversation(store: Store, user: str) -> None:
    config = {"configurable": {"thread_id": "trip"}}
    app = graph(ContextSaver(store, user=user))
    long = [HumanMessage(f"{n} " + "word " * 200, id=f"long-{n}") for n in range(40)]
    app.invoke({"messages": [*long, *QUESTION["messages"]], "steps": []}, config)
    assert store.chat(user, "trip").compact("claude-sonnet-4-5", window=8000)["boundary"]

    done = app.invoke(Command(resume=True), config)
    assert len(done["messages"]) == 44
    assert len(app.get_state(config).values["messages"]) == 44
    chat = store.chat(user, "trip", existing=True)
    assert [branch["name"] for branch in chat.branches()] == ["main"]
    body = chat.prepare("anthropic", "claude-sonnet-4-5", policies=[])["body"]
    assert len(body["messages"]) < 40


def test_a_value_is_stored_once(store: Store, user: str) -> None:
    saver = ContextSaver(store, user=user)
    app = graph(saver)
    config = {"configurable": {"thread_id": "trip"}}
    app.invoke(QUESTION, config)
    app.invoke(Command(resume=True), config)
    records = [chat for chat in store.chats(user)["items"] if chat["chat"] != "trip"]
    assert len(records) == 1
    chat = store.chat(user, records[0]["chat"], existing=True)
    named = set()
    for message in chat.messages():
        values = message["parts"][0]["value"].get("values", {})
        named.add(values.get("report", {}).get("blob"))
        assert values.get("messages", {}).keys() <= {"messages"}
    assert len(named - {None}) == 1


def test_a_deleted_thread_leaves_nothing(store: Store, user: str) -> None:
    saver = ContextSaver(store, user=user)
    app = graph(saver)
    for thread in ("trip", "other"):
        app.invoke(QUESTION, {"configurable": {"thread_id": thread}})
    saver.delete_thread("trip")
    assert saver.get_tuple({"configurable": {"thread_id": "trip"}}) is None
    assert {chat["chat"] for chat in store.chats(user)["items"]} >= {"other"}
    assert len(store.chats(user)["items"]) == 2
    # A thread of the same name begins anew.
    app.invoke(QUESTION, {"configurable": {"thread_id": "trip"}})
    assert len(said(app.get_state({"configurable": {"thread_id": "trip"}}).values)) == 2


def test_a_copied_and_a_pruned_thread_go_on(store: Store, user: str) -> None:
    saver = ContextSaver(store, user=user)
    app = graph(saver)
    app.invoke(QUESTION, {"configurable": {"thread_id": "trip"}})
    saver.copy_thread("trip", "copy")
    copy = {"configurable": {"thread_id": "copy"}}
    saver.prune(["copy"])
    assert len(list(saver.list(copy))) == 1
    done = app.invoke(Command(resume=True), copy)
    assert said(done)[-1] == "The answer is 10:05."
    assert len(list(saver.list({"configurable": {"thread_id": "trip"}}))) == 3
    assert len(store.chat(user, "copy", existing=True).messages()) == 4


def test_tasks_that_run_at_once_write_at_once(store: Store, user: str) -> None:
    class Many(TypedDict, total=False):
        done: Annotated[list[int], operator.add]

    builder = StateGraph(Many)
    for number in range(8):
        builder.add_node(f"n{number}", lambda _, number=number: {"done": [number]})
        builder.add_edge(START, f"n{number}")
    app = builder.compile(checkpointer=ContextSaver(store, user=user))
    config = {"configurable": {"thread_id": "many"}}
    assert sorted(app.invoke({"done": []}, config)["done"]) == list(range(8))
    start = list(app.get_state_history(config))[1]
    assert len(start.tasks) == 8


@pytest.mark.parametrize(
    "value", [[1, "two"], ["a", HumanMessage("b", id="b")], None, {"a": {1, 2}}, []]
)
def test_other_values_in_the_channel_of_messages_are_values(value: Any) -> None:
    saver = ContextSaver(Store.open("mem:"))
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    from langgraph.checkpoint.base import empty_checkpoint

    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"messages": value}
    checkpoint["channel_versions"] = {"messages": "1"}
    stored = saver.put(config, checkpoint, {"source": "loop"}, {"messages": "1"})
    found = saver.get_tuple(stored)
    assert found is not None and found.checkpoint["channel_values"]["messages"] == value


def test_no_two_namespaces_share_a_chat() -> None:
    from context_layer._threads import chat_id

    names = [
        ("a", ""),
        ("a", "b"),
        ('["a", "b", "messages"]', ""),
        ('["a", "", "checkpoints"]', ""),
        ("langgraph-x", ""),
        ("x" * 600, ""),
        ("x" * 601, ""),
    ]
    ids = [chat_id(*name, kind) for name in names for kind in ("messages", "checkpoints")]
    assert len(set(ids)) == len(ids) and all(len(each.encode()) <= 512 for each in ids)
