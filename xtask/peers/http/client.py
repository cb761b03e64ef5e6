"""The HTTP API through a Python client that openapi-python-client generated.

    client.py URL TOKEN TOKEN_OF_ANOTHER_USER

Each step builds on those before it. Prints a line for each, as Rust's tests do, and ends with 0 if
all of them ran, whatever they found.
"""

import json
import sys
import time
import traceback

from context_client import AuthenticatedClient
from context_client.api.chats import act, follow_chat, get_chat, list_chats, put_chat, search
from context_client.api.memory import forget, list_memories, recall, remember
from context_client.api.messages import append_messages, get_message, list_messages
from context_client.api.streams import follow_stream, get_stream, write_stream
from context_client.api.trajectories import export_trajectory, list_rounds
from context_client.api.turns import begin_turn, continue_turn, prepare
from context_client.api.upkeep import erase_user, metrics
from context_client.models import (
    ActionDone,
    AppendedMessages,
    AppendMessages,
    BeginTurn,
    ChatChange,
    ChatChangeMetadata,
    ChatOverview,
    Completed,
    ContinueTurn,
    ExportTrajectoryFormat,
    Fork,
    ForkAction,
    ForgetMemory,
    ForgetMemoryScope,
    ModelReply,
    NewMessage,
    NewMessagePartsItem,
    PreparedRequest,
    PrepareRequest,
    Problem,
    RememberText,
    Rewind,
    RewindAction,
    ToolDefinition,
    ToolDefinitionInputSchema,
    ToolOutcome,
    TurnSettings,
    TurnState,
    TurnStep,
    WriteStream,
)

URL, ADA, BOB = sys.argv[1:]
CHAT = "python"

ada = AuthenticatedClient(base_url=URL, token=ADA)
bob = AuthenticatedClient(base_url=URL, token=BOB)


def is_problem(answer, status):
    assert isinstance(answer, Problem), answer
    assert answer.status == status and answer.title and answer.detail, answer
    return answer.detail


def say(*texts):
    return AppendMessages(messages=[NewMessage(role="user", text=text) for text in texts])


def creates_a_chat():
    metadata = ChatChangeMetadata.from_dict({"topic": "travel"})
    change = ChatChange(title="A trip", metadata=metadata)
    made = put_chat.sync(CHAT, client=ada, body=change)
    assert isinstance(made, ChatOverview) and made.title == "A trip", made
    assert made.metadata["topic"] == "travel" and made.active == "main", made
    assert [head.chat for head in list_chats.sync(client=ada).chats] == [CHAT]


def appends_once():
    def append():
        return append_messages.sync(CHAT, client=ada, body=say("One."), idempotency_key="k1")

    first, again = append(), append()
    assert isinstance(first, AppendedMessages) and not first.replayed, first
    assert again.replayed and again.ids == first.ids == ["k1-1"], again


def appends_parts():
    part = NewMessagePartsItem.from_dict({"type": "text", "text": "Two."})
    body = AppendMessages(messages=[NewMessage(id="two", role="assistant", parts=[part])])
    assert append_messages.sync(CHAT, client=ada, body=body).ids == ["two"]
    stored = get_message.sync(CHAT, "two", client=ada)
    assert stored.kind == "assistant" and stored.body["parts"][0]["text"] == "Two.", stored
    assert abs(stored.created_at / 1e6 - time.time()) < 3600, stored


def pages_back_and_forth():
    append_messages.sync(CHAT, client=ada, body=say("Three.", "Four.", "Five."))
    texts = lambda page: [it.body["parts"][0]["text"] for it in page.messages]
    newest = list_messages.sync(CHAT, client=ada, limit=2)
    assert texts(newest) == ["Four.", "Five."] and not newest.more, newest
    earlier = list_messages.sync(CHAT, client=ada, limit=2, before=newest.earlier)
    assert texts(earlier) == ["Two.", "Three."] and earlier.more, earlier
    first = list_messages.sync(CHAT, client=ada, limit=2, before=earlier.earlier)
    assert texts(first) == ["One."] and not first.earlier, first
    later = list_messages.sync(CHAT, client=ada, after=first.head, generation=first.generation)
    assert texts(later) == ["Two.", "Three.", "Four.", "Five."], later


def refuses_an_append_to_another_head():
    tag = list_messages.sync_detailed(CHAT, client=ada).headers["etag"]

    def append():
        return append_messages.sync_detailed(CHAT, client=ada, body=say("Six."), if_match=tag)

    assert append().status_code == 200
    refused = append()
    assert refused.status_code == 409, refused
    assert "newest" in is_problem(refused.parsed, 409)
    is_problem(append_messages.sync(CHAT, client=ada, body=say("x"), if_match="no tag"), 422)


def forks_and_rewinds():
    fork = Fork(action=ForkAction.FORK, message="two", to="python-fork")
    done = act.sync(CHAT, client=ada, body=fork)
    assert isinstance(done, ActionDone) and done.chat == "python-fork", done
    assert len(list_messages.sync("python-fork", client=ada).messages) == 2
    rewind = Rewind(action=RewindAction.REWIND, message="two")
    done = act.sync(CHAT, client=ada, body=rewind)
    assert done.branch and done.branch != "main" and done.message == "two", done
    shown = get_chat.sync(CHAT, client=ada)
    assert shown.active == done.branch and len(shown.branches) == 2, shown


def makes_a_whole_turn():
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    weather = ToolDefinition(
        name="weather",
        description="Returns the weather of a city.",
        input_schema=ToolDefinitionInputSchema.from_dict(schema),
    )
    settings = TurnSettings(
        model="claude-sonnet-4-5", system="You know the weather.", tools=[weather]
    )
    begin = BeginTurn(settings=settings, question="How is the weather in Lisbon?", id="q1")
    step = begin_turn.sync("python-turn", client=ada, body=begin)
    assert isinstance(step, TurnStep), step
    states, numbers = [], []
    while step.state is not TurnState.ANSWERED:
        states.append(step.state)
        more = ContinueTurn(settings=settings)
        if step.state is TurnState.CALL:
            assert step.request.provider == "anthropic" and step.request.tokens > 0, step
            numbers.append(step.request.number)
            more.replies = [ModelReply(status=200, body=model(step.request.body))]
        else:
            more.results = [
                ToolOutcome(call_id=call.id, text=f"18 °C in {json.loads(call.arguments)['city']}")
                for call in step.calls
            ]
        step = continue_turn.sync("python-turn", step.turn, client=ada, body=more)
        assert isinstance(step, TurnStep), step
    assert states == [TurnState.CALL, TurnState.TOOLS, TurnState.CALL], states
    assert numbers == [1, 1] and step.turn == "q1", step
    assert step.answer.text == "It is 18 °C in Lisbon." and not step.answer.incomplete, step
    assert step.usage.output_tokens == 10, step
    prepared = prepare.sync("python-turn", client=ada, body=PrepareRequest(settings=settings))
    assert isinstance(prepared, PreparedRequest) and prepared.tokens.history > 0, prepared


def model(body):
    """Stands for a provider: it asks for the weather, and then tells it."""
    content = body["messages"][-1]["content"]
    result = next((part for part in content if part["type"] == "tool_result"), None)
    if result is None:
        call = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Lisbon"}}
        said, reason = call, "tool_use"
    else:
        text = f"It is {result['content']}."
        said, reason = {"type": "text", "text": text}, "end_turn"
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [said],
        "stop_reason": reason,
        "usage": {"input_tokens": 20, "output_tokens": 10},
    }


def writes_and_follows_a_stream():
    write = WriteStream(writer="w", offset=0, chunks=["Lis", "bon"], end=Completed.COMPLETED)
    written = write_stream.sync(CHAT, "s1", client=ada, body=write)
    assert written.state == "completed" and written.chunks == 2, written
    assert get_stream.sync(CHAT, "s1", client=ada).chunks == 2
    assert events(follow_stream.sync(CHAT, "s1", client=ada)) == [
        ("chunk", "0", {"offset": 0, "chunk": "Lis"}),
        ("chunk", "1", {"offset": 1, "chunk": "bon"}),
        ("end", None, {"state": "completed", "chunks": 2, "cancel_requested": False, "error": None}),
    ]
    rest = events(follow_stream.sync(CHAT, "s1", client=ada, last_event_id="0"))
    assert [kind for kind, _, _ in rest] == ["chunk", "end"], rest


def events(text):
    """Returns the server-sent events of an answer: name, id, data."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
    return found


def follows_a_chat():
    # This stream goes on until the client ends it.
    asked = follow_chat._get_kwargs(CHAT)
    with ada.get_httpx_client().stream(**asked) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream"), answer
        event = next(line for line in answer.iter_lines() if line.startswith("event: "))
    assert event == "event: state", event


def searches():
    found = search.sync(client=ada, q="weather lisbon", chat="python-turn")
    assert [(hit.message, hit.role) for hit in found.hits][:1] == [("q1", "user")], found
    pieces = [piece for piece, is_hit in found.hits[0].snippet if is_hit]
    assert pieces == ["weather", "Lisbon"], found.hits[0]


def remembers_and_forgets():
    kept = remember.sync(client=ada, body=RememberText(text="The train leaves at nine."))
    assert kept.id, kept
    found = recall.sync(client=ada, q="When does the train leave?")
    memory = next(it for it in found.memories if it.text == "The train leaves at nine.")
    assert memory.tokens > 0 and memory.at is not None, memory
    assert len(list_memories.sync(client=ada).memories) == 1
    scope = ForgetMemoryScope.from_dict(memory.scope.to_dict())
    gone = forget.sync(client=ada, body=ForgetMemory(id=memory.id, scope=scope))
    assert gone.removed == 1 and gone.remaining == 0, gone
    assert list_memories.sync(client=ada).memories == []


def lists_rounds():
    page = list_rounds.sync("python-turn", client=ada)
    assert [line.state for line in page.rounds] == ["closed"] and not page.next_, page
    drawn = export_trajectory.sync(
        "python-turn", client=ada, format_=ExportTrajectoryFormat.MERMAID
    )
    assert drawn.startswith("flowchart"), drawn


def keeps_users_apart():
    is_problem(get_chat.sync(CHAT, client=bob), 404)
    assert list_chats.sync(client=bob).chats == []
    assert search.sync(client=bob, q="weather").hits == []
    unknown = AuthenticatedClient(base_url=URL, token="unknown")
    is_problem(list_chats.sync(client=unknown), 401)
    is_problem(metrics.sync(client=ada), 403)


def erases():
    append_messages.sync("kept", client=bob, body=say("Mine."))
    erased = erase_user.sync(client=ada)
    assert erased.chats == 3 and erased.remaining == 0, erased
    assert list_chats.sync(client=ada).chats == []
    assert [head.chat for head in list_chats.sync(client=bob).chats] == ["kept"]
    erase_user.sync(client=bob)


STEPS = [
    creates_a_chat,
    appends_once,
    appends_parts,
    pages_back_and_forth,
    refuses_an_append_to_another_head,
    forks_and_rewinds,
    makes_a_whole_turn,
    writes_and_follows_a_stream,
    follows_a_chat,
    searches,
    remembers_and_forgets,
    lists_rounds,
    keeps_users_apart,
    erases,
]

for step in STEPS:
    try:
        step()
        end = "ok"
    except Exception:  # A failed step is a line of the report.
        traceback.print_exc()
        end = "FAILED"
    print(f"test python_client::{step.__name__} ... {end}", flush=True)
