"""Checkpoints of LangGraph, as they are kept in a store.

Each namespace of a thread has up to two chats. One has the messages of the channel ``messages``, as
a conversation like any other, with a branch for each fork of the thread. The other is a log: one
message for each checkpoint, ``c/ID``, and one for each call of ``put_writes``, ``w/ID/NUMBER``.
Those messages hold application data, which no model is sent. Each names the newest checkpoint of
the log, so that its last message suffices to find it. Values are stored once by content: small ones
in the record, others as blobs.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, TypeVar

from ._native import NotFound
from ._threads import ATTEMPTS, Chats

T = TypeVar("T")

#: The most bytes of a value in a record. A reference to a blob is hardly smaller than the first
#: limit; writes are those of one step, and blobs would save nothing.
INLINE, INLINE_WRITE = 256, 4096
#: The records of writes that are looked up at once.
BATCH = 16


def is_json(value: Any) -> bool:
    """Whether JSON gives a value back equal."""
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError):
        return False


def blobs_of(record: dict[str, Any]) -> set[str]:
    """Return the blobs that a record names."""
    references = [*record.get("values", {}).values(), record.get("checkpoint", {})]
    references += [record.get("metadata", {}), *(each[2] for each in record.get("writes", []))]
    return {reference["blob"] for reference in references if "blob" in reference}


class Log:
    """The checkpoints and writes of a namespace."""

    def __init__(self, chats: Chats, thread: str, ns: str) -> None:
        self._chats, self.thread, self.ns = chats, thread, ns

    async def _on(self, work: Callable[[Any], Awaitable[T]], *, create: bool = False) -> T:
        return await self._chats.on(self.thread, self.ns, "checkpoints", work, create)

    # Reading.

    async def newest(self) -> tuple[str, dict[str, Any]] | None:
        """Return the newest checkpoint and its record."""
        _, name = await self._end()
        record = await self.checkpoint(name) if name else None
        if name and record is None:
            # Another saver, which did not know that it was deleted, has named it since.
            name, (record, _) = next(iter((await self.all()).items()), ("", (None, [])))
        return (name, record) if name and record else None

    async def _end(self) -> tuple[str | None, str | None]:
        """Return the last message of the log, and the newest checkpoint."""
        try:
            found = await self._on(lambda chat: chat.messages(branch="main", last=1))
        except NotFound:
            return None, None
        return (found[0]["id"], _record(found[0])["newest"]) if found else (None, None)

    async def checkpoint(self, name: str) -> dict[str, Any] | None:
        """Return the record of a checkpoint."""
        (found,) = await self._lookup([f"c/{name}"])
        return found

    async def writes(self, name: str) -> list[dict[str, Any]]:
        """Return the records of a checkpoint's writes, in the order in which they were put."""
        records: list[dict[str, Any]] = []
        for start in count(step=BATCH):
            numbers = range(start, start + BATCH)
            found = await self._lookup([f"w/{name}/{number}" for number in numbers])
            records += [record for record in found if record is not None]
            if found[-1] is None:
                break
        return records

    async def _lookup(self, ids: list[str]) -> list[dict[str, Any] | None]:
        try:
            found = await self._on(lambda chat: chat.lookup(ids))
        except NotFound:
            return [None] * len(ids)
        records = [message and _record(message) for message in found]
        return [record if record and not record.get("deleted") else None for record in records]

    async def all(self) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Return all checkpoints with their writes, newest first."""
        try:
            messages = await self._on(lambda chat: chat.messages(branch="main"))
        except NotFound:
            return {}
        checkpoints: dict[str, dict[str, Any]] = {}
        writes: dict[str, list[dict[str, Any]]] = {}
        for message in messages:
            record = _record(message)
            if record.get("deleted") or "name" not in record:
                continue
            if "writes" in record:
                writes.setdefault(record["name"], []).append(record)
            else:
                checkpoints[record["name"]] = record
        return {
            name: (checkpoints[name], writes.get(name, []))
            for name in sorted(checkpoints, reverse=True)
        }

    # Writing.

    async def put_checkpoint(self, name: str, record: dict[str, Any]) -> None:
        """Store a checkpoint, in the place of an earlier one of the same name."""
        record = {"name": name, **record}
        if await self._append(f"c/{name}", record, name):
            return
        (old,) = await self._lookup([f"c/{name}"])
        newest = name if old is None else max(name, old["newest"] or name)
        message = _message(f"c/{name}", {**record, **_newest(newest)})
        await self._on(lambda chat: chat.replace([message]))
        if old is None:  # it was deleted, so the log may name an older one
            await self._append(f"n/{time.time_ns()}", {}, name)

    async def put_writes(self, name: str, record: dict[str, Any]) -> None:
        """Add a record of writes. Tasks that run at once write at once."""
        record = {"name": name, **record}
        key = (self.thread, self.ns, name)
        number = self._chats.numbers.get(key, 0)
        while not await self._append(f"w/{name}/{number}", record, None):
            number += 1
        self._chats.numbers[key] = number + 1

    async def _append(self, id: str, record: dict[str, Any], checkpoint: str | None) -> bool:
        """Append a record. Returns whether its id was free, or is that of the same record."""
        key = (self.thread, self.ns)
        head, newest = self._chats.ends.get(key) or await self._end()
        for _ in range(ATTEMPTS):
            named = max(filter(None, (newest, checkpoint)), default=None)
            message = _message(id, {**record, **_newest(named)})
            written = await self._on(
                lambda chat: chat.commit([message], branch="main", expected=head), create=True
            )
            if written["outcome"] in ("applied", "replayed"):
                self._chats.ends[key] = (written["head"], named)
                return True
            if written["outcome"] == "exists":
                return False
            head, newest = await self._end()
        raise RuntimeError("others keep writing to the same thread")

    async def delete(self, names: set[str]) -> None:
        """Delete checkpoints with their writes, and the blobs that nothing else names."""
        began = time.time_ns() // 1000
        found = await self.all()
        gone, blobs = [], set[str]()
        for name in names & found.keys():
            record, writes = found.pop(name)
            ids = [f"c/{name}", *(f"w/{name}/{number}" for number in range(len(writes)))]
            gone += [_message(id, {"deleted": True, **_newest(None)}) for id in ids]
            blobs |= blobs_of(record).union(*map(blobs_of, writes))
        if not gone:
            return
        await self._on(lambda chat: chat.replace(gone))
        self._chats.ends.pop((self.thread, self.ns), None)
        await self._note(next(iter(found), None))
        for record, writes in found.values():
            blobs -= blobs_of(record).union(*map(blobs_of, writes))
        # A value that was put meanwhile has been used since.
        await self._on(lambda chat: chat.remove_blobs(sorted(blobs), unused_since=began))

    async def _note(self, newest: str | None) -> None:
        """Append a record that names the newest checkpoint, after others were deleted."""
        for _ in range(ATTEMPTS):
            head, _ = await self._end()
            message = _message(f"n/{time.time_ns()}", _newest(newest))
            written = await self._on(
                lambda chat: chat.commit([message], branch="main", expected=head)
            )
            if written["outcome"] == "applied":
                return
            newest = max(filter(None, (newest, (await self._end())[1])), default=None)
        raise RuntimeError("others keep writing to the same thread")

    # Values.

    async def put_value(self, typed: tuple[str, bytes], inline: int = INLINE) -> dict[str, Any]:
        """Store a serialized value and return the reference to it."""
        kind, data = typed
        if len(data) <= inline:
            return {"type": kind, "data": base64.b64encode(data).decode()}
        name = await self._on(lambda chat: chat.put_blob(data, media_type=kind), create=True)
        return {"type": kind, "blob": name}

    async def value(self, reference: dict[str, Any]) -> tuple[str, bytes]:
        """Return a serialized value."""
        if "data" in reference:
            return reference["type"], base64.b64decode(reference["data"])
        data = await self._on(lambda chat: chat.blob(reference["blob"]))
        if data is None:
            raise NotFound("the blob of a value was removed")
        return reference["type"], data


def _record(message: dict[str, Any]) -> dict[str, Any]:
    return message["parts"][0]["value"]


def _message(id: str, record: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "data", "name": "langgraph", "value": record}
    return {"id": id, "role": "system", "parts": [part]}


def _newest(name: str | None) -> dict[str, Any]:
    return {"newest": name}
