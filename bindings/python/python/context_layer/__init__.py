"""The context layer for LLM agents.

A :class:`Store` holds chats: branching histories of messages, from which the request of each model
call is prepared. Every class has a twin for asyncio with the same methods: :class:`AsyncStore`,
:class:`AsyncChat`, and so on.

Messages are plain dictionaries in the JSON form of the library::

    {"role": "user", "parts": [{"type": "text", "text": "Two tickets to Lisbon."}]}

The functions of this module make them. Stored messages also have an ``id`` and the time
``created_at``, in microseconds since 1970-01-01 UTC, as all times.
"""

from __future__ import annotations

from typing import Any

from ._native import (
    PROVIDERS,
    Agents,
    AsyncAgents,
    AsyncChat,
    AsyncStore,
    AsyncTurn,
    Bug,
    Cancelled,
    Chat,
    Conflict,
    ContextError,
    Corrupt,
    Invalid,
    NotFound,
    Store,
    Timeout,
    Turn,
    Unavailable,
    Unsupported,
    __version__,
    decode,
    encode,
)

__all__ = [
    "PROVIDERS",
    "Agents",
    "AsyncAgents",
    "AsyncChat",
    "AsyncStore",
    "AsyncTurn",
    "Bug",
    "Cancelled",
    "Chat",
    "Conflict",
    "ContextError",
    "Corrupt",
    "Invalid",
    "NotFound",
    "Store",
    "Timeout",
    "Turn",
    "Unavailable",
    "Unsupported",
    "__version__",
    "assistant",
    "decode",
    "encode",
    "system",
    "text_of",
    "tool_call",
    "tool_result",
    "user",
]


def user(text: str, **fields: Any) -> dict[str, Any]:
    """Return a message of the user. Further fields, such as ``id`` or ``metadata``, are added."""
    return _message("user", text, fields)


def assistant(text: str, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a message of the model: its text, if any, and the tool calls that it makes."""
    message = _message("assistant", text, fields)
    message["parts"] += calls
    return message


def system(text: str, **fields: Any) -> dict[str, Any]:
    """Return a message of the application."""
    return _message("system", text, fields)


def tool_call(id: str, name: str, input: Any) -> dict[str, Any]:
    """Return a tool call, which is a part of a message of the model."""
    return {"type": "tool_call", "id": id, "name": name, "input": {"json": input}}


def tool_result(
    call_id: str, text: str, *, is_error: bool = False, **fields: Any
) -> dict[str, Any]:
    """Return a message with the result of one tool call."""
    result: dict[str, Any] = {
        "type": "tool_result",
        "call_id": call_id,
        "output": [{"type": "text", "text": text}],
    }
    if is_error:
        result["is_error"] = True
    return {"role": "tool", "parts": [result], **fields}


def text_of(message: dict[str, Any]) -> str:
    """Return the text parts of a message, joined by line feeds."""
    return "\n".join(part["text"] for part in message["parts"] if part["type"] == "text")


def _message(role: str, text: str, fields: dict[str, Any]) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}] if text else []
    return {"role": role, "parts": parts, **fields}
