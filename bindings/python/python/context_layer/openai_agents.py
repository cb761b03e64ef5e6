"""Sessions of the OpenAI Agents SDK, kept as chats.

A :class:`ContextSession` is handed to ``Runner.run`` as any other session. Its items are stored as
messages, so that the inspector, search and compaction see them, and come back exactly as they were
given. Importing this module does not import the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ._finish import finish
from ._native import AsyncChat, AsyncStore, NotFound, Store

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

__all__ = ["ContextSession"]

T = TypeVar("T")


class ContextSession:
    """A session of the OpenAI Agents SDK over a chat.

    ``store`` is an opened store, or the URL of one, such as ``sqlite:agents.db`` or
    ``postgres://host/agents``. A store that is given as a URL belongs to the session, and is closed
    with it. One store may serve any number of sessions.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        store: str | Store | AsyncStore = "mem:",
        *,
        user: str = "default",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = _settings(session_settings)
        self.user = user
        self._url = store if isinstance(store, str) else None
        self._store = _blocking(store)
        self._chat: AsyncChat | None = None
        self._closed = False

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest ``limit`` items, oldest first, or as many as the settings allow."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit == 0:
            self._check_open()
            return []
        last = None if limit is None or limit < 0 else limit
        return await self._with_chat(lambda chat: chat.items(last=last))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, all or none."""
        self._check_open()
        if items:
            await finish(self._with_chat(lambda chat: chat.append_items(list(items))))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it."""
        return await finish(self._with_chat(lambda chat: chat.pop_item()))

    async def clear_session(self) -> None:
        """Delete the chat with all its branches."""
        store = await self._opened()
        self._chat = None
        await finish(store.to_async().delete_chat(self.user, self.session_id))

    def close(self) -> _Closed:
        """Close the session, and its store if the session has opened it. May be awaited."""
        store, self._store, self._chat = self._store, None, None
        was_closed, self._closed = self._closed, True
        if store is not None and self._url is not None and not was_closed:
            store.close()
        return _Closed()

    # Branches.

    async def list_branches(self) -> list[dict[str, Any]]:
        """Return the branches: name, number of messages, whether it is the current one."""
        current = await self._with_chat(lambda chat: chat.branch())
        found = await self._with_chat(lambda chat: chat.branches())
        return [
            {
                "branch_id": branch["name"],
                "message_count": branch["length"],
                "is_current": branch["name"] == current,
            }
            for branch in found
        ]

    async def create_branch_from_turn(
        self, turn_number: int, branch_name: str | None = None
    ) -> str:
        """Go back to before the user's ``turn_number``-th message, on a new branch.

        The old branch stays. Returns the name of the new one, which is current from then on.
        """
        messages = await self._with_chat(lambda chat: chat.messages())
        turns = [at for at, message in enumerate(messages) if message["role"] == "user"]
        if not 1 <= turn_number <= len(turns):
            raise ValueError(f"there is no turn {turn_number}: the session has {len(turns)}")
        before = turns[turn_number - 1]
        current = await self._with_chat(lambda chat: chat.branch())
        made = await finish(
            self._with_chat(
                lambda chat: chat.commit(
                    [],
                    branch=branch_name or current,
                    at=messages[before - 1]["id"] if before else None,
                    create=True,
                    next_version=branch_name is None,
                    activate=True,
                )
            )
        )
        if made["outcome"] == "conflict":
            raise ValueError(f"there is a branch {branch_name!r} already")
        await self.switch_to_branch(made["branch"])
        return made["branch"]

    async def switch_to_branch(self, branch_id: str) -> None:
        """Make a branch the current one."""
        await finish(self._with_chat(lambda chat: chat.switch(branch_id)))

    async def delete_branch(self, branch_id: str) -> None:
        """Delete a branch, which is not the current one, with the items that only it has."""
        await finish(self._with_chat(lambda chat: chat.delete_branch(branch_id)))

    async def get_conversation_turns(self) -> list[dict[str, Any]]:
        """Return the user's messages of the current branch, with their numbers from 1."""
        messages = await self._with_chat(lambda chat: chat.messages())
        asked = [message for message in messages if message["role"] == "user"]
        return [
            {
                "turn": number,
                "content": "\n".join(p["text"] for p in message["parts"] if p["type"] == "text"),
                "message": message["id"],
                "created_at": message["created_at"],
            }
            for number, message in enumerate(asked, 1)
        ]

    # Below.

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{type(self).__name__} is closed")

    async def _opened(self) -> Store:
        self._check_open()
        if self._store is None:
            store = await AsyncStore.open(str(self._url))
            if self._store is None and not self._closed:
                self._store = store.to_blocking()
            else:  # another task was faster
                await store.close()
        self._check_open()
        assert self._store is not None
        return self._store

    async def _with_chat(self, work: Callable[[AsyncChat], Awaitable[T]]) -> T:
        """Run work on the chat; once more if another session has deleted it since."""
        store = await self._opened()
        if self._chat is None:
            self._chat = await store.to_async().chat(self.user, self.session_id)
        try:
            return await work(self._chat)
        except NotFound as error:
            if "chat" not in error.facts:
                raise
        self._chat = await store.to_async().chat(self.user, self.session_id)
        return await work(self._chat)


class _Closed:
    """A close that is done, for code that awaits it and for code that does not."""

    def __await__(self):
        return asyncio.sleep(0).__await__()


def _blocking(store: str | Store | AsyncStore) -> Store | None:
    if isinstance(store, str):
        return None
    if isinstance(store, Store):
        return store
    if isinstance(store, AsyncStore):
        return store.to_blocking()
    raise TypeError(
        f"a session takes a Store, an AsyncStore or a URL, and no {type(store).__name__}: "
        "AsyncStore.open(…) must be awaited first"
    )


def _settings(given: SessionSettings | dict[str, Any] | None) -> SessionSettings | None:
    from agents.memory import SessionSettings
    from agents.memory.session_settings import coerce_session_settings

    return SessionSettings() if given is None else coerce_session_settings(given)
