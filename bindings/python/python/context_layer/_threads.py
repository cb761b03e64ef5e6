"""The chats of LangGraph's threads, and the conversation in one of them."""

from __future__ import annotations

import copy
import hashlib
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage

from ._native import NotFound
from .langchain import Unrepresentable, from_message, to_message

T = TypeVar("T")

#: The keys of a chat's metadata.
KIND, THREAD, NAMESPACE = "langgraph.kind", "langgraph.thread", "langgraph.ns"
#: The most opened chats, and namespaces whose last write is known.
OPEN = 256
#: The most conversations whose messages are kept for comparison.
COMPARED = 32
#: The attempts at a write while others write too.
ATTEMPTS = 100

#: A message that was stored: its class, a copy of its fields, the id of its node.
Stored = tuple[type, Any, str]


def chat_id(thread: str, ns: str, kind: str) -> str:
    """Return the chat of a namespace. Two namespaces never have the same chat."""
    if kind == "messages" and ns == "" and not thread.startswith(("[", "langgraph-")):
        name = thread
    else:
        name = json.dumps([thread, ns, kind], ensure_ascii=False)
    if len(name.encode()) <= 512:
        return name
    return "langgraph-" + hashlib.blake2b(name.encode(), digest_size=32).hexdigest()


class Recent(OrderedDict[Any, Any]):
    """A dictionary that keeps a number of entries."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class Chats:
    """The opened chats of a saver, on one face of a store."""

    def __init__(self, store: Any, user: str, shared: Chats | None = None) -> None:
        self._store, self._user = store, user
        self._open = Recent(OPEN)
        #: The last message of each log, and the newest checkpoint that it names.
        self.ends = shared.ends if shared else Recent(OPEN)
        #: The number of the next record of writes of a checkpoint, as far as it is known.
        self.numbers = shared.numbers if shared else Recent(OPEN)
        #: The messages of each conversation as they were put last.
        self.compared = shared.compared if shared else Recent(COMPARED)

    async def on(
        self,
        thread: str,
        ns: str,
        kind: str,
        work: Callable[[Any], Awaitable[T]],
        create: bool,
    ) -> T:
        """Run work on a chat; once more if it was deleted since it was opened."""
        key = (thread, ns, kind)
        chat = self._open.get(key)
        if chat is not None:
            try:
                return await work(chat)
            except NotFound as error:
                if "chat" not in error.facts:
                    raise
            self._forget(thread, ns)
        metadata = {KIND: kind, THREAD: thread, NAMESPACE: ns} if create else None
        chat = await self._store.chat(
            self._user, chat_id(thread, ns, kind), existing=not create, metadata=metadata
        )
        self._open[key] = chat
        return await work(chat)

    def _forget(self, thread: str, ns: str) -> None:
        for kind in ("checkpoints", "messages"):
            self._open.pop((thread, ns, kind), None)
        self.ends.pop((thread, ns), None)
        self.compared.pop((thread, ns), None)
        for key in [key for key in self.numbers if key[:2] == (thread, ns)]:
            self.numbers.pop(key)

    async def delete_thread(self, thread: str) -> None:
        """Delete all chats of a thread."""
        for (_, ns), kind in await self._chats({THREAD: thread}):
            self._forget(thread, ns)
            await self._store.delete_chat(self._user, chat_id(thread, ns, kind))

    async def namespaces(self, thread: str | None = None) -> list[tuple[str, str]]:
        """Return the namespaces with checkpoints, of a thread or of all: thread and namespace."""
        wanted = {KIND: "checkpoints"} | ({} if thread is None else {THREAD: thread})
        return [namespace for namespace, _ in await self._chats(wanted)]

    async def _chats(self, wanted: dict[str, str]) -> list[tuple[tuple[str, str], str]]:
        found, after = [], None
        while True:
            page = await self._store.chats(self._user, metadata=wanted, limit=1000, after=after)
            for chat in page["items"]:
                metadata = chat["metadata"]
                found.append(((metadata[THREAD], metadata[NAMESPACE]), metadata[KIND]))
            after = page["next"]
            if after is None:
                return found


class Conversation:
    """The messages of a namespace, as a chat.

    The id of a message is a hash of its content and of the message before it. So a list of messages
    has one place in the chat, and what several lists begin with is stored once.
    """

    def __init__(self, chats: Chats, thread: str, ns: str) -> None:
        self._chats, self._key = chats, (thread, ns)

    async def _on(self, work: Callable[[Any], Awaitable[T]], *, create: bool = False) -> T:
        return await self._chats.on(*self._key, "messages", work, create)

    async def put(self, messages: list[BaseMessage]) -> dict[str, Any] | None:
        """Store the messages of a channel and return the reference to them.

        Returns ``None`` if a message has no form in a chat that gives it back equal.
        """
        before: list[Stored] = self._chats.compared.get(self._key, [])
        same = 0
        for (kind, fields, _), message in zip(before, messages):
            if type(message) is not kind or _fields(message) != fields:
                break
            same += 1
        stored = before[:same]
        last = stored[-1][2] if stored else None
        new = []
        for message in messages[same:]:
            form = _form(message)
            if form is None:
                return None
            text = json.dumps(form, ensure_ascii=False)
            last = hashlib.blake2b(f"{last}\n{text}".encode(), digest_size=16).hexdigest()
            new.append({"id": last, **form})
            stored.append((type(message), copy.deepcopy(_fields(message)), last))
        if new:
            await self._extend(new, stored[same - 1][2] if same else None)
        self._chats.compared[self._key] = stored
        return {"messages": last}

    async def get(self, reference: dict[str, Any]) -> list[BaseMessage]:
        """Return the messages that a reference names."""
        last = reference["messages"]
        if last is None:
            return []
        return [from_message(message) for message in await self._on(lambda chat: chat.path(last))]

    async def _extend(self, new: list[dict[str, Any]], after: str | None) -> None:
        """Append the messages that are not stored, to the active branch or to a new one."""
        chat = await self._on(lambda chat: chat.about(), create=True)
        expected = after
        for _ in range(ATTEMPTS):
            written = await self._on(
                lambda chat_: chat_.commit(new, branch=chat["active"], expected=expected)
            )
            if written["outcome"] in ("applied", "replayed"):
                return
            if written["outcome"] == "exists":
                # Each is stored after the one before it, so these are the first ones.
                taken = len(written["taken"])
                after = expected = new[taken - 1]["id"]
                new = new[taken:]
                if not new:
                    return
                continue
            head = written["head"]
            if head is not None and head != expected and await self._ends_with(head, after):
                expected = head  # a boundary of a compaction is behind our last message
                continue
            await self._on(
                lambda chat_: chat_.commit(
                    new, branch="main", create=True, next_version=True, at=after, activate=True
                )
            )
            return
        raise RuntimeError("others keep writing to the same conversation")

    async def _ends_with(self, head: str, message: str | None) -> bool:
        seen = await self._on(lambda chat: chat.path(head))
        return bool(seen) and seen[-1]["id"] == message


def _fields(message: BaseMessage) -> Any:
    return message.__dict__, message.__pydantic_extra__


def _form(message: BaseMessage) -> dict[str, Any] | None:
    """Return the form of a message if it gives the message back equal."""
    try:
        form = to_message(message)
        back = from_message(json.loads(json.dumps(form, allow_nan=False)))
    except (Unrepresentable, TypeError, ValueError):
        return None
    return form if type(back) is type(message) and back == message else None
