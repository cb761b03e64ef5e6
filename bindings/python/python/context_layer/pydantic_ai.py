"""Message histories of Pydantic AI as messages of a chat.

:func:`to_messages` and :func:`from_messages` are inverse: a history comes back with every field, as
Pydantic AI itself writes and reads it. A history is stored and continued with::

    result = agent.run_sync(question, message_history=from_messages(chat.messages()))
    chat.append(to_messages(result.new_messages()))

Text, reasoning, calls, results and media are parts, which search, the inspector and a request of
any provider see; everything else is metadata under ``pydantic_ai``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

__all__ = ["from_messages", "to_messages"]

#: The key of the metadata that holds what parts do not, and the name of data parts.
KEY = "pydantic_ai"

#: The parts of media in a prompt.
_URLS = {"image-url": "image", "audio-url": "audio", "document-url": "document"}


def to_messages(history: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """Return the messages of a history. A request with parts of several roles becomes several."""
    messages: list[dict[str, Any]] = []
    for dumped in ModelMessagesTypeAdapter.dump_python(list(history), mode="json"):
        parts = dumped.pop("parts")
        is_response = dumped["kind"] == "response"
        made: list[dict[str, Any]] = []
        for part in parts:
            role, forms, rest = _answered(part) if is_response else _asked(part)
            if not made or made[-1]["role"] != role:
                made.append({"role": role, "parts": [], "metadata": {KEY: {"parts": []}}})
            made[-1]["parts"] += forms
            made[-1]["metadata"][KEY]["parts"].append([len(forms), rest])
        if not made:
            role = "assistant" if is_response else "user"
            made.append({"role": role, "parts": [], "metadata": {KEY: {"parts": []}}})
            made[0]["parts"].append({"type": "data", "name": KEY, "value": None})
        made[0]["metadata"][KEY]["message"] = dumped
        messages += made
    return messages


def from_messages(messages: Iterable[dict[str, Any]]) -> list[ModelMessage]:
    """Return the history of messages. Messages of other programs become the nearest ones."""
    history: list[dict[str, Any]] = []
    for message in messages:
        rest = message.get("metadata", {}).get(KEY)
        if rest is None:
            history.append(_foreign(message))
            continue
        if "message" in rest:
            history.append({**rest["message"], "parts": []})
        forms = iter(message["parts"])
        for length, part in rest["parts"]:
            history[-1]["parts"].append(_read(part, [next(forms) for _ in range(length)]))
    return ModelMessagesTypeAdapter.validate_python(history)


def _without(part: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in names}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _data(value: Any) -> dict[str, Any]:
    return {"type": "data", "name": KEY, "value": value}


def _value(part: dict[str, Any]) -> Any:
    return part["text"] if part["type"] == "text" else part["value"]


def _asked(part: dict[str, Any]) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """Return role, parts and the rest of a part of a request."""
    kind, content = part["part_kind"], part.get("content")
    if kind == "system-prompt" and isinstance(content, str):
        return "system", [_text(content)], _without(part, "content")
    if kind == "user-prompt" and isinstance(content, str):
        return "user", [_text(content)], _without(part, "content")
    if kind == "user-prompt":
        forms, rests = zip(*map(_content, content), strict=True) if content else ((), ())
        return "user", list(forms), {**part, "content": list(rests)}
    is_result = kind == "tool-return" or (kind == "retry-prompt" and part["tool_name"])
    if is_result:
        result: dict[str, Any] = {
            "type": "tool_result",
            "call_id": part["tool_call_id"],
            "name": part["tool_name"],
            "output": [_text(content) if isinstance(content, str) else _data(content)],
        }
        if part.get("outcome") != "success":
            result["is_error"] = True
        return "tool", [result], _without(part, "content", "tool_call_id", "tool_name")
    if isinstance(content, str):
        return "user", [_text(content)], _without(part, "content")
    return "user", [_data(part)], {}


def _answered(part: dict[str, Any]) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """Return role, parts and the rest of a part of a response."""
    kind = part["part_kind"]
    if kind == "text":
        return "assistant", [_text(part["content"])], _without(part, "content")
    if kind == "thinking":
        form = {"type": "reasoning", "text": part["content"]}
        for name in ("signature", "provider"):
            value = part.get("provider_name" if name == "provider" else name)
            if value is not None:
                form[name] = value
        return "assistant", [form], _without(part, "content", "signature", "provider_name")
    if kind == "tool-call":
        form = {"type": "tool_call", "id": part["tool_call_id"], "name": part["tool_name"]}
        form["input"], raw = _input(part["args"])
        rest = _without(part, "tool_call_id", "tool_name", "args")
        return "assistant", [form], {**rest, "args": raw}
    return "assistant", [_data(part)], {}


def _input(args: Any) -> tuple[dict[str, Any], Any]:
    """Return the input of a call, and what it does not tell about the arguments."""
    if not isinstance(args, str):
        return {"json": {} if args is None else args}, None if args is None else "value"
    try:
        value = json.loads(args)
    except ValueError:
        return {"invalid": args}, "invalid"
    for name, separators in _SEPARATORS.items():
        if json.dumps(value, ensure_ascii=False, separators=separators) == args:
            return {"json": value}, name
    return {"json": value}, {"raw": args}


#: The text with which models separate the values of arguments that they write as text.
_SEPARATORS = {"narrow": (",", ":"), "wide": (", ", ": ")}


def _args(form: dict[str, Any], raw: Any) -> Any:
    if raw is None or isinstance(raw, dict):
        return raw and raw["raw"]
    if raw in _SEPARATORS:
        return json.dumps(form["json"], ensure_ascii=False, separators=_SEPARATORS[raw])
    return form["json"] if raw == "value" else form["invalid"]


def _content(item: str | dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the part of an item of a prompt, and the rest of it."""
    if isinstance(item, str):
        return _text(item), None
    kind = item.get("kind")
    if kind in _URLS:
        return {"type": _URLS[kind], "source": {"url": item["url"]}}, _without(item, "url")
    if kind == "binary":
        family = item["media_type"].partition("/")[0]
        media = family if family in ("image", "audio") else "document"
        form = {"type": media, "source": {"base64": item["data"]}, "media_type": item["media_type"]}
        return form, _without(item, "data", "media_type")
    return _data(item), {}


def _read_content(form: dict[str, Any], rest: Any) -> Any:
    if rest is None:
        return form["text"]
    if form["type"] == "data":
        return form["value"]
    source = form["source"]
    if "url" in source:
        return {**rest, "url": source["url"]}
    return {**rest, "data": source["base64"], "media_type": form["media_type"]}


def _read(rest: dict[str, Any], forms: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the part of which these are the forms and the rest."""
    if not rest:
        return forms[0]["value"]
    if isinstance(rest.get("content"), list):
        content = [_read_content(*each) for each in zip(forms, rest["content"], strict=True)]
        return {**rest, "content": content}
    (form,) = forms
    if form["type"] == "tool_result":
        names = {"tool_call_id": form["call_id"], "tool_name": form["name"]}
        return {**rest, **names, "content": _value(form["output"][0])}
    if form["type"] == "reasoning":
        names = {"signature": form.get("signature"), "provider_name": form.get("provider")}
        return {**rest, **names, "content": form.get("text", "")}
    if form["type"] == "tool_call":
        names = {"tool_call_id": form["id"], "tool_name": form["name"]}
        return {**rest, **names, "args": _args(form["input"], rest["args"])}
    return {**rest, "content": form["text"]}


def _foreign(message: dict[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    kinds = {"system": "system-prompt", "assistant": "text"}
    for part in message["parts"]:
        if part["type"] == "text":
            kind = kinds.get(message["role"], "user-prompt")
            parts.append({"part_kind": kind, "content": part["text"]})
        elif part["type"] == "tool_call":
            call = {"tool_call_id": part["id"], "tool_name": part["name"]}
            args = part["input"].get("json", part["input"].get("invalid"))
            parts.append({"part_kind": "tool-call", **call, "args": args})
        elif part["type"] == "tool_result":
            output = [each["text"] for each in part["output"] if each["type"] == "text"]
            result = {"tool_call_id": part["call_id"], "tool_name": part.get("name") or ""}
            result["outcome"] = "failed" if part.get("is_error") else "success"
            parts.append({"part_kind": "tool-return", **result, "content": "\n".join(output)})
    kind = "response" if message["role"] == "assistant" else "request"
    return {"kind": kind, "parts": parts}
