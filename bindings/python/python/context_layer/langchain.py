"""Messages of LangChain as messages of a chat, and a history of a chat for LangChain.

:func:`to_message` and :func:`from_message` are inverse: a message comes back equal, with every
field. Text, tool calls and results are parts, which search, the inspector and a request of any
provider see; everything else is metadata under ``langchain``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ._native import AsyncChat, Chat

__all__ = ["ContextChatHistory", "Unrepresentable", "from_message", "to_message"]

#: The key of the metadata that holds what parts do not.
KEY = "langchain"

_CLASSES: dict[type[BaseMessage], str] = {
    HumanMessage: "user",
    AIMessage: "assistant",
    AIMessageChunk: "assistant",
    SystemMessage: "system",
    ToolMessage: "tool",
    FunctionMessage: "tool",
    ChatMessage: "user",
}
_BY_NAME = {kind.__name__: kind for kind in _CLASSES}


class Unrepresentable(ValueError):
    """A message of a class, or with a field, that has no form in a chat."""


def to_message(message: BaseMessage) -> dict[str, Any]:
    """Return the form of a message in a chat."""
    kind = type(message)
    if kind not in _CLASSES:
        raise Unrepresentable(f"messages of the class {kind.__name__} have no form in a chat")
    fields = message.model_dump(exclude_defaults=True)
    # The type is that of the class; a message of LangChain always has content.
    fields.pop("type", None)
    fields.pop("content", None)
    rest: dict[str, Any] = {"class": kind.__name__}
    content = message.content
    if isinstance(content, str):
        parts = [{"type": "text", "text": content}] if content else []
    else:
        parts = [_part(block) for block in content]
        rest["blocks"] = len(parts)
    if isinstance(message, ToolMessage):
        fields.pop("tool_call_id", None)
        result = {"type": "tool_result", "call_id": message.tool_call_id, "output": parts}
        if fields.pop("status", None) == "error":
            result["is_error"] = True
        parts = [result]
    if isinstance(message, AIMessage):
        calls = fields.pop("tool_calls", [])
        parts = parts + [_call(call) for call in calls]
        rest["calls"] = len(calls)
    if fields:
        rest["fields"] = fields
    return {"role": _CLASSES[kind], "parts": parts, "metadata": {KEY: rest}}


def from_message(message: dict[str, Any]) -> BaseMessage:
    """Return the message of LangChain. Messages of other programs are given the nearest class."""
    rest = message.get("metadata", {}).get(KEY)
    if rest is None:
        return _foreign(message)
    kind = _BY_NAME.get(rest["class"])
    if kind is None:
        raise Unrepresentable(f"no class {rest['class']!r} is known")
    fields = dict(rest.get("fields", {}))
    parts = message["parts"]
    if kind is ToolMessage:
        (result,) = parts
        fields["tool_call_id"] = result["call_id"]
        if result.get("is_error"):
            fields["status"] = "error"
        parts = result["output"]
    if issubclass(kind, AIMessage):
        calls = rest["calls"]
        fields["tool_calls"] = [_read_call(part) for part in parts[len(parts) - calls :]]
        parts = parts[: len(parts) - calls]
    if "blocks" in rest:
        fields["content"] = [_block(part) for part in parts]
    else:
        fields["content"] = "".join(part.get("text", "") for part in parts)
    return kind(**fields)


def _part(block: str | dict[str, Any]) -> dict[str, Any]:
    """Return the part of a block of content."""
    if isinstance(block, str):
        return {"type": "text", "text": block, "metadata": {KEY: "text"}}
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        rest = {key: value for key, value in block.items() if key not in ("type", "text")}
        part: dict[str, Any] = {"type": "text", "text": block["text"]}
        return {**part, "metadata": {KEY: rest}} if rest else part
    image = block.get("image_url")
    if block.get("type") == "image_url" and isinstance(image, dict) and "url" in image:
        rest = {**block, "image_url": {k: v for k, v in image.items() if k != "url"}}
        return {"type": "image", "source": {"url": image["url"]}, "metadata": {KEY: rest}}
    return {"type": "data", "name": KEY, "value": block}


def _block(part: dict[str, Any]) -> str | dict[str, Any]:
    rest = part.get("metadata", {}).get(KEY, {})
    if part["type"] == "text":
        return part["text"] if rest == "text" else {"type": "text", "text": part["text"], **rest}
    if part["type"] == "image":
        return {**rest, "image_url": {**rest["image_url"], "url": part["source"]["url"]}}
    return part["value"]


def _call(call: dict[str, Any]) -> dict[str, Any]:
    part = {
        "type": "tool_call",
        "id": call.get("id") or "",
        "name": call["name"],
        "input": {"json": call["args"]},
    }
    if call.get("id") is None:
        part["metadata"] = {KEY: {"id": None}}
    return part


def _read_call(part: dict[str, Any]) -> dict[str, Any]:
    rest = part.get("metadata", {}).get(KEY, {})
    call = {"name": part["name"], "args": part["input"].get("json", {}), "id": part["id"], **rest}
    return {**call, "type": "tool_call"}


def _foreign(message: dict[str, Any]) -> BaseMessage:
    text = "\n".join(part["text"] for part in message["parts"] if part["type"] == "text")
    if message["role"] == "assistant":
        parts = [part for part in message["parts"] if part["type"] == "tool_call"]
        return AIMessage(content=text, tool_calls=[_read_call(part) for part in parts])
    if message["role"] == "tool":
        result = next(part for part in message["parts"] if part["type"] == "tool_result")
        output = [part["text"] for part in result["output"] if part["type"] == "text"]
        status = "error" if result.get("is_error") else "success"
        return ToolMessage("\n".join(output), tool_call_id=result["call_id"], status=status)
    return SystemMessage(text) if message["role"] == "system" else HumanMessage(text)


class ContextChatHistory(BaseChatMessageHistory):
    """The history of a chat, for LangChain's runnables with message history.

    ``chat`` is a chat of either face. Reading and adding have both faces too.
    """

    def __init__(self, chat: Chat | AsyncChat) -> None:
        self._chat = chat.to_blocking() if isinstance(chat, AsyncChat) else chat

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages of the chat's branch, oldest first."""
        return [from_message(message) for message in self._chat.messages()]

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages of the chat's branch, oldest first."""
        return [from_message(message) for message in await self._chat.to_async().messages()]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all or none."""
        self._chat.append([to_message(message) for message in messages])

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all or none."""
        await self._chat.to_async().append([to_message(message) for message in messages])

    def clear(self) -> None:
        """Begin anew, on a branch without messages. The present one stays."""
        self._chat.switch(_begin_anew(self._chat.branch(), self._chat.commit)["branch"])

    async def aclear(self) -> None:
        """Begin anew, on a branch without messages. The present one stays."""
        chat = self._chat.to_async()
        made = await _begin_anew(await chat.branch(), chat.commit)
        await chat.switch(made["branch"])


def _begin_anew(branch: str, commit: Any) -> Any:
    return commit([], branch=branch, create=True, next_version=True)
