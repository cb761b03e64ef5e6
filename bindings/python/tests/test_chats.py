"""A chat: messages, branches, checkpoints, search, and the request of a model call."""

from __future__ import annotations

import context_layer as context
import pytest
from context_layer import Store, text_of


def texts(messages: list[dict]) -> list[str]:
    return [text_of(message) for message in messages]


def test_a_chat_keeps_what_was_said(store: Store, user: str) -> None:
    chat = store.chat(user, "lisbon")
    saved = chat.append([context.user("Two tickets."), context.assistant("Window or aisle?")])
    assert saved["branch"] == "main" and saved["outcome"] == "saved"

    read = store.chat(user, "lisbon", existing=True).messages()
    assert texts(read) == ["Two tickets.", "Window or aisle?"]
    assert [message["role"] for message in read] == ["user", "assistant"]
    assert read[1]["id"] == saved["head"]
    assert chat.message(read[0]["id"]) == read[0]


def test_parts_and_metadata_come_back_as_they_were_given(store: Store, user: str) -> None:
    given = [
        context.user("Grüße 🦀", metadata={"big": 12345678901234567890, "float": 1.0}, id="q"),
        context.assistant("", context.tool_call("c1", "trains", {"to": "Lisbon", "n": None})),
        context.tool_result("c1", "10:05", is_error=True),
        {"role": "user", "parts": [{"type": "data", "name": "note", "value": [1, {"a": []}]}]},
    ]
    chat = store.chat(user, "parts")
    chat.append(given)
    read = chat.messages()
    assert read[0]["id"] == "q"
    for message, stored in zip(given, read, strict=True):
        kept = {key: stored[key] for key in ("role", "parts", "metadata") if key in stored}
        assert kept == {key: value for key, value in message.items() if key != "id"}


def test_appending_the_same_messages_again_changes_nothing(store: Store, user: str) -> None:
    chat = store.chat(user, "again")
    question = context.user("Once.", id="q")
    chat.append([question])
    assert chat.append([question])["outcome"] == "unchanged"
    assert len(chat.messages()) == 1


def test_a_rewind_makes_a_branch_and_loses_nothing(store: Store, user: str) -> None:
    chat = store.chat(user, "branches")
    chat.append([context.user("To Lisbon.", id="a"), context.user("By train.", id="b")])
    assert chat.rewind("a") == {"branch": "main-v2", "head": "a"}
    chat.append([context.user("By plane.")])
    assert texts(chat.messages()) == ["To Lisbon.", "By plane."]
    assert texts(chat.messages(branch="main")) == ["To Lisbon.", "By train."]
    assert [branch["name"] for branch in chat.branches()] == ["main", "main-v2"]

    assert chat.switch("main")["head"] == "b"
    assert chat.branch() == "main"
    assert chat.delete_branch("main-v2") == 1
    assert "By train." in chat.graph()


def test_a_checkpoint_names_a_place_to_return_to(store: Store, user: str) -> None:
    chat = store.chat(user, "checkpoints")
    chat.append([context.user("One.", id="one")])
    assert chat.checkpoint("before")["message"] == "one"
    chat.append([context.user("Two.")])
    chat.restore("before")
    assert texts(chat.messages()) == ["One."]
    assert [checkpoint["name"] for checkpoint in chat.checkpoints()] == ["before"]


def test_a_fork_is_a_chat_of_its_own(store: Store, user: str) -> None:
    chat = store.chat(user, "source")
    chat.append([context.user("One.", id="one"), context.user("Two.")])
    copy = chat.fork("copy", at="one")
    copy.append([context.user("Three.")])
    assert texts(copy.messages()) == ["One.", "Three."]
    assert texts(chat.messages()) == ["One.", "Two."]
    assert chat.fork()["branch"] == "main-v2"


def test_pages_go_back_from_the_newest_message(store: Store, user: str) -> None:
    chat = store.chat(user, "pages")
    chat.append([context.user(f"{n}", id=f"m{n}") for n in range(5)])
    pages, before = [], None
    while True:
        page = chat.page(limit=2, before=before)
        pages.append(texts(page["messages"]))
        before = page["next"]
        if before is None:
            break
    assert pages == [["3", "4"], ["1", "2"], ["0"]]
    assert texts(chat.messages(last=2)) == ["3", "4"]


def test_chats_are_listed_changed_and_deleted(store: Store, user: str) -> None:
    for name in ("first", "second"):
        store.chat(user, name)
    chat = store.chat(user, "first")
    chat.update(title="To Lisbon", set={"kind": "trip"})
    assert chat.about()["title"] == "To Lisbon"
    listed = store.chats(user, metadata={"kind": "trip"})
    assert [found["chat"] for found in listed["items"]] == ["first"]

    page = store.chats(user, limit=1)
    rest = store.chats(user, limit=1, after=page["next"])
    assert {page["items"][0]["chat"], rest["items"][0]["chat"]} == {"first", "second"}

    assert store.delete_chat(user, "first") is True
    assert store.delete_chat(user, "first") is False
    assert len(store.chats(user)["items"]) == 1


def test_messages_are_found_by_their_words(store: Store, user: str) -> None:
    chat = store.chat(user, "found")
    chat.append([context.user("Two tickets to Lisbon, please."), context.user("And a hotel.")])
    if store.info["name"] == "redis":
        with pytest.raises(context.Unsupported):
            store.search(user, "lisbon")
        return
    for hits in (store.search(user, "lisbon tickets"), chat.search("lisb", prefix=True)):
        assert [hit["text"] for hit in hits["items"]] == ["Two tickets to Lisbon, please."]
        assert hits["items"][0]["chat"] == "found"
    assert chat.search("paris")["items"] == []


@pytest.mark.parametrize("provider", context.PROVIDERS)
def test_a_request_is_prepared_for_each_provider(store: Store, user: str, provider: str) -> None:
    chat = store.chat(user, "prepared")
    call = context.tool_call("c", "f", {})
    chat.append([context.user("Two tickets."), context.assistant("", call)])
    prepared = chat.prepare(
        provider,
        "gpt-5",
        system="You book trips.",
        tools=[{"name": "f", "description": "Finds.", "input_schema": {"type": "object"}}],
        max_output_tokens=500,
    )
    assert "You book trips." in str(prepared["body"])
    assert prepared["report"]["fits"] is True
    # The call without a result was answered, so that the provider accepts the request.
    assert prepared["report"]["diagnostics"] or prepared["report"]["messages"] == 2
    assert len(chat.messages()) == 2


def test_a_history_that_is_too_long_is_cut_in_the_request_alone(store: Store, user: str) -> None:
    chat = store.chat(user, "long")
    for turn in range(40):
        chat.append([context.user(f"Question {turn}: " + "word " * 100), context.assistant("Yes.")])
    prepared = chat.prepare("anthropic", "claude-sonnet-4-5", window=4000, max_output_tokens=500)
    assert prepared["report"]["fits"] is True
    assert any(plan["applied"] for plan in prepared["report"]["plans"])
    assert len(prepared["body"]["messages"]) < 80 == len(chat.messages())


def test_a_compaction_is_stored_and_undone(store: Store, user: str) -> None:
    chat = store.chat(user, "compacted")
    for turn in range(40):
        chat.append([context.user(f"Question {turn}: " + "word " * 100), context.assistant("Yes.")])

    def sent() -> int:
        prepared = chat.prepare("anthropic", "claude-sonnet-4-5", policies=[])
        return len(prepared["body"]["messages"])

    whole = sent()
    compacted = chat.compact("claude-sonnet-4-5", window=4000)
    assert compacted["boundary"] and compacted["after"] < compacted["before"]
    assert any(plan["applied"] for plan in compacted["plans"])
    assert sent() < whole and len(chat.messages()) == 80
    assert chat.undo_compaction() == compacted["boundary"]
    assert sent() == whole
    assert chat.undo_compaction() is None
    assert chat.compact("claude-sonnet-4-5", policies=[])["boundary"] is None


def test_blobs_have_the_name_of_their_content(store: Store, user: str) -> None:
    chat = store.chat(user, "blobs")
    name = chat.put_blob(b"\x00\xff" * 1000)
    assert chat.put_blob(b"\x00\xff" * 1000) == name
    assert chat.blob(name) == b"\x00\xff" * 1000
    chat.remove_blobs([name])
    assert chat.blob(name) is None


def test_wire_forms_are_read_and_written() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}]}
    decoded = context.decode("openai", body)
    assert texts(decoded["messages"]) == ["Hello!"]
    assert context.encode("openai", decoded, source=True)["body"] == body
    assert context.encode("anthropic", {"messages": [context.user("Hi.")]})["body"]["messages"]
