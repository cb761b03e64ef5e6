"""Histories of Pydantic AI, there and back, and continued from a chat."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import context_layer as context
import pytest
from context_layer import Store, text_of

pytest.importorskip("pydantic_ai", reason="Pydantic AI is not installed")

from context_layer.pydantic_ai import from_messages, to_messages  # noqa: E402
from pydantic_ai import Agent  # noqa: E402
from pydantic_ai.messages import (  # noqa: E402
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel  # noqa: E402
from pydantic_ai.usage import RequestUsage  # noqa: E402

HISTORY: list[ModelMessage] = [
    ModelRequest(
        parts=[
            SystemPromptPart("You book trips."),
            UserPromptPart("Two tickets."),
            UserPromptPart(
                [
                    "Look:",
                    ImageUrl("https://example.com/a.png"),
                    BinaryContent(b"\x89PNG", media_type="image/png"),
                    BinaryContent(b"%PDF", media_type="application/pdf"),
                ]
            ),
            UserPromptPart([]),
        ],
        instructions="Be brief.",
    ),
    ModelResponse(
        parts=[
            ThinkingPart("It is warm.", signature="s", provider_name="anthropic"),
            ThinkingPart("", id="rs_1"),
            TextPart("I look."),
            ToolCallPart("trains", {"to": "Lisbon"}, "c1"),
            ToolCallPart("trains", '{"to":  "Porto"}', "c2"),
            ToolCallPart("trains", '{"to": "Faro", "n": 1.10}', "c3"),
            ToolCallPart("trains", "{broken", "c4"),
            ToolCallPart("trains", None, "c5"),
        ],
        usage=RequestUsage(input_tokens=10, output_tokens=5),
        model_name="m",
        provider_details={"finish_reason": "stop"},
    ),
    ModelRequest(
        parts=[
            ToolReturnPart("trains", "10:05", "c1"),
            ToolReturnPart("trains", {"at": ["10:05", None]}, "c2"),
            ToolReturnPart("trains", "no such place", "c3", outcome="failed"),
            UserPromptPart("And back?"),
        ]
    ),
    ModelResponse(parts=[]),
]


def written(history: list[ModelMessage]) -> list[Any]:
    """The history as Pydantic AI writes it: a history that it read itself is compared by this."""
    return ModelMessagesTypeAdapter.dump_python(history, mode="json")


def test_a_history_comes_back_with_every_field(store: Store, user: str) -> None:
    chat = store.chat(user, "trip")
    chat.append(to_messages(HISTORY))
    back = from_messages(chat.messages())
    assert written(back) == written(HISTORY)
    assert back == ModelMessagesTypeAdapter.validate_python(written(HISTORY))


def test_its_messages_are_those_of_a_conversation(store: Store, user: str) -> None:
    chat = store.chat(user, "trip")
    chat.append(to_messages(HISTORY[:3]))
    roles = [message["role"] for message in chat.messages()]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    kinds = [part["type"] for part in chat.messages()[1]["parts"]]
    assert kinds == ["text", "text", "image", "image", "document"]
    assert text_of(chat.messages()[-1]) == "And back?"
    body = chat.prepare("anthropic", "claude-sonnet-4-5")["body"]
    assert "10:05" in json.dumps(body) and "And back?" in json.dumps(body)


def test_an_agent_goes_on_from_a_chat(store: Store, user: str) -> None:
    agent = Agent(TestModel(custom_output_text="Friday."), instructions="Be brief.")
    chat = store.chat(user, "trip")
    for question in ("To Lisbon?", "When?"):
        result = agent.run_sync(question, message_history=from_messages(chat.messages()))
        chat.append(to_messages(result.new_messages()))
    assert [text_of(message) for message in chat.messages()] == [
        "To Lisbon?",
        "Friday.",
        "When?",
        "Friday.",
    ]
    assert written(from_messages(chat.messages())) == written(result.all_messages())


def test_messages_of_other_programs_become_the_nearest(store: Store, user: str) -> None:
    chat = store.chat(user, "trip")
    chat.append(
        [
            context.system("Be brief."),
            context.user("Trains?"),
            context.assistant("I look.", context.tool_call("c1", "trains", {"to": "Lisbon"})),
            context.tool_result("c1", "10:05", is_error=True),
        ]
    )
    kinds = [part.part_kind for message in from_messages(chat.messages()) for part in message.parts]
    assert kinds == ["system-prompt", "user-prompt", "text", "tool-call", "tool-return"]


def of_tau_bench(conversation: list[dict[str, Any]]) -> list[ModelMessage]:
    """The messages of Pydantic AI for a conversation in the form of Chat Completions."""
    history: list[ModelMessage] = []
    for message in conversation:
        content = message.get("content") or ""
        if message["role"] == "assistant":
            calls = [
                ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"])
                for call in message.get("tool_calls") or []
            ]
            history.append(ModelResponse(parts=[TextPart(content), *calls]))
        elif message["role"] == "tool":
            part = ToolReturnPart(message["name"], content, message["tool_call_id"])
            history.append(ModelRequest(parts=[part]))
        else:
            kind = SystemPromptPart if message["role"] == "system" else UserPromptPart
            history.append(ModelRequest(parts=[kind(content)]))
    return history


def test_recorded_conversations_come_back(data: Path) -> None:
    files = sorted((data / "tau-bench").glob("*.json"))
    if not files:
        pytest.skip(f"no conversations of tau-bench in {data}")
    store = Store.open("mem:")
    for file in files:
        for number, run in enumerate(json.loads(file.read_text())):
            history = of_tau_bench(run["traj"])
            chat = store.chat("ada", f"{file.name}-{number}")
            chat.append(to_messages(history))
            assert written(from_messages(chat.messages())) == written(history)


def answers(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """The recorded answers of OpenAI's APIs: the end of the address, and the body."""
    yaml = pytest.importorskip("yaml", reason="PyYAML reads the recordings")
    found = []
    for file in sorted(folder.rglob("*.yaml")):
        for exchange in yaml.load(file.read_text(), yaml.CSafeLoader)["interactions"]:
            body = exchange["response"].get("parsed_body")
            path = exchange["request"]["uri"].partition("?")[0]
            if exchange["response"]["status"]["code"] == 200 and isinstance(body, dict):
                found.append((path, body))
    return found


def test_recorded_answers_come_back_as_pydantic_ai_reads_them(data: Path) -> None:
    pytest.importorskip("openai", reason="the client of OpenAI is not installed")
    import httpx
    from openai import AsyncOpenAI
    from pydantic_ai.direct import model_request
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    folder = data / "pydantic-ai-cassettes"
    if not folder.is_dir():
        pytest.skip(f"no recordings in {folder}")

    async def read(model: type, body: dict[str, Any]) -> ModelResponse:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
        async with httpx.AsyncClient(transport=transport) as http:
            client = AsyncOpenAI(api_key="none", http_client=http)
            named = model("gpt-5", provider=OpenAIProvider(openai_client=client))
            return await model_request(named, [ModelRequest(parts=[UserPromptPart("?")])])

    chat = Store.open("mem:").chat("ada", "answers")
    models = {"/chat/completions": OpenAIChatModel, "/responses": OpenAIResponsesModel}
    history: list[ModelMessage] = []
    for path, body in answers(folder):
        for end, model in models.items():
            if path.endswith(end):
                history.append(asyncio.run(read(model, body)))
    assert history
    chat.append(to_messages(history))
    assert written(from_messages(chat.messages())) == written(history)
