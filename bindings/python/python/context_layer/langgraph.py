"""Checkpoints of LangGraph, kept in a store.

A :class:`ContextSaver` is given to ``compile(checkpointer=…)``. The messages of the channel
``messages`` are those of a chat, so that the inspector, search and compaction see them; all other
values are stored once by content, so that a thread grows by what changes.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    SerializerProtocol,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)

from ._checkpoints import INLINE_WRITE, Log, is_json
from ._faces import Ready, iterate, run
from ._native import AsyncStore, Store
from ._threads import OPEN, Chats, Conversation, Recent

__all__ = ["ContextSaver"]


class ContextSaver(BaseCheckpointSaver[str]):
    """A checkpointer over a store, for blocking graphs and for asyncio.

    ``user`` owns the chats. ``messages`` names the channel whose messages are a conversation;
    ``None`` keeps every channel as a value.
    """

    def __init__(
        self,
        store: Store | AsyncStore,
        *,
        user: str = "langgraph",
        messages: str | None = "messages",
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        blocking = store.to_blocking() if isinstance(store, AsyncStore) else store
        self._blocking = Chats(Ready(blocking), user)
        self._asyncio = Chats(blocking.to_async(), user, self._blocking)
        self._messages = messages
        #: The newest record of each namespace that this saver has put.
        self._newest = Recent(OPEN)

    # Reading.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint: the one that the configuration names, or the newest."""
        return run(self._get(self._blocking, config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint: the one that the configuration names, or the newest."""
        return await self._get(self._asyncio, config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        return iterate(self._list(self._blocking, config, filter, before, limit))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        async for found in self._list(self._asyncio, config, filter, before, limit):
            yield found

    async def _get(self, chats: Chats, config: RunnableConfig) -> CheckpointTuple | None:
        log = _log(chats, config)
        if name := get_checkpoint_id(config):
            record = await log.checkpoint(name)
        else:
            name, record = await log.newest() or ("", None)
        if record is None:
            return None
        return await self._tuple(chats, log, name, record, await log.writes(name))

    async def _list(
        self,
        chats: Chats,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> AsyncIterator[CheckpointTuple]:
        wanted = config["configurable"] if config else {}
        only, ns = get_checkpoint_id(config) if config else None, wanted.get("checkpoint_ns")
        until = get_checkpoint_id(before) if before else None
        found = []
        for thread, namespace in await chats.namespaces(wanted.get("thread_id")):
            if ns is None or namespace == ns:
                log = Log(chats, thread, namespace)
                found += [(name, log, each) for name, each in (await log.all()).items()]
        found.sort(key=lambda each: each[0], reverse=True)
        for name, log, (record, writes) in found:
            if limit is not None and limit <= 0:
                return
            if (only and name != only) or (until and name >= until):
                continue
            metadata = await self._loaded(log, record["metadata"])
            if filter and any(metadata.get(key) != value for key, value in filter.items()):
                continue
            yield await self._tuple(chats, log, name, record, writes)
            limit = None if limit is None else limit - 1

    async def _tuple(
        self,
        chats: Chats,
        log: Log,
        name: str,
        record: dict[str, Any],
        writes: Sequence[dict[str, Any]],
    ) -> CheckpointTuple:
        values = {}
        for channel, reference in record["values"].items():
            if "messages" in reference:
                values[channel] = await Conversation(chats, log.thread, log.ns).get(reference)
            else:
                values[channel] = self.serde.loads_typed(await log.value(reference))
        checkpoint = await self._loaded(log, record["checkpoint"])
        parent = record["parent"]
        return CheckpointTuple(
            config=_config(log, name),
            checkpoint={**checkpoint, "channel_values": values},
            metadata=await self._loaded(log, record["metadata"]),
            parent_config=_config(log, parent) if parent else None,
            pending_writes=await self._pending(log, writes),
        )

    async def _pending(
        self, log: Log, records: Sequence[dict[str, Any]]
    ) -> list[tuple[str, str, Any]]:
        """Return the writes of a checkpoint, in the order in which tasks are applied."""
        writes: dict[tuple[str, int], tuple[str, str, dict[str, Any]]] = {}
        for record in records:
            for index, channel, reference in record["writes"]:
                key = (record["task"], index)
                # A special write replaces the one before, any other stays as it was first.
                if index < 0 or key not in writes:
                    writes[key] = (record["path"], channel, reference)
        order = sorted(writes, key=lambda key: writes_sort_key(writes[key][0], *key))
        return [
            (key[0], writes[key][1], self.serde.loads_typed(await log.value(writes[key][2])))
            for key in order
        ]

    # Writing.

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        return run(self._put(self._blocking, config, checkpoint, metadata, new_versions))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        return await self._put(self._asyncio, config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task, which belong to a checkpoint."""
        run(self._put_writes(self._blocking, config, writes, task_id, task_path))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task, which belong to a checkpoint."""
        await self._put_writes(self._asyncio, config, writes, task_id, task_path)

    async def _put(
        self,
        chats: Chats,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        log = _log(chats, config)
        parent = config["configurable"].get("checkpoint_id")
        before = self._newest.get((log.thread, log.ns), {})
        follows = parent is not None and before.get("name") == parent
        versions = checkpoint["channel_versions"]
        values: dict[str, Any] = {}
        for channel, value in checkpoint["channel_values"].items():
            unchanged = (
                follows
                and channel in before["values"]
                and channel not in new_versions
                and channel in versions
                and before["versions"].get(channel) == versions[channel]
            )
            if unchanged:
                values[channel] = before["values"][channel]
            else:
                values[channel] = await self._put_channel(chats, log, channel, value)
        rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        record = {
            "parent": parent,
            "checkpoint": await self._dumped(log, rest),
            "metadata": await self._dumped(log, get_checkpoint_metadata(config, metadata)),
            "values": values,
        }
        await log.put_checkpoint(checkpoint["id"], record)
        newest = {"name": checkpoint["id"], "versions": dict(versions), "values": values}
        self._newest[(log.thread, log.ns)] = newest
        return _config(log, checkpoint["id"])

    async def _put_channel(
        self, chats: Chats, log: Log, channel: str, value: Any
    ) -> dict[str, Any]:
        is_conversation = channel == self._messages and isinstance(value, list)
        if is_conversation and all(isinstance(message, BaseMessage) for message in value):
            reference = await Conversation(chats, log.thread, log.ns).put(value)
            if reference is not None:
                return reference
        return await log.put_value(self.serde.dumps_typed(value))

    async def _put_writes(
        self,
        chats: Chats,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> None:
        log = _log(chats, config)
        stored = []
        for index, (channel, value) in enumerate(writes):
            reference = await log.put_value(self.serde.dumps_typed(value), INLINE_WRITE)
            stored.append([WRITES_IDX_MAP.get(channel, index), channel, reference])
        record = {"task": task_id, "path": task_path, "writes": stored}
        await log.put_writes(config["configurable"]["checkpoint_id"], record)

    async def _dumped(self, log: Log, value: Any) -> dict[str, Any]:
        if is_json(value):
            return {"json": value}
        return await log.put_value(self.serde.dumps_typed(value))

    async def _loaded(self, log: Log, reference: dict[str, Any]) -> Any:
        if "json" in reference:
            return reference["json"]
        return self.serde.loads_typed(await log.value(reference))

    # Deleting and copying.

    def delete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints, writes and messages of a thread."""
        run(self._blocking.delete_thread(thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints, writes and messages of a thread."""
        await self._asyncio.delete_thread(thread_id)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and writes of runs."""
        run(self._delete_for_runs(self._blocking, run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and writes of runs."""
        await self._delete_for_runs(self._asyncio, run_ids)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the checkpoints, writes and messages of a thread."""
        run(self._copy_thread(self._blocking, source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the checkpoints, writes and messages of a thread."""
        await self._copy_thread(self._asyncio, source_thread_id, target_thread_id)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads, or all but the newest of each namespace."""
        run(self._prune(self._blocking, thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads, or all but the newest of each namespace."""
        await self._prune(self._asyncio, thread_ids, strategy)

    async def _delete_for_runs(self, chats: Chats, run_ids: Sequence[str]) -> None:
        runs = set(run_ids)
        for thread, ns in await chats.namespaces() if runs else []:
            log = Log(chats, thread, ns)
            gone = set()
            for name, (record, _) in (await log.all()).items():
                metadata = await self._loaded(log, record["metadata"])
                if metadata.get("run_id") in runs:
                    gone.add(name)
            await log.delete(gone)

    async def _copy_thread(self, chats: Chats, source: str, target: str) -> None:
        for thread, ns in await chats.namespaces(source):
            log, copy = Log(chats, thread, ns), Log(chats, target, ns)
            conversation = Conversation(chats, thread, ns)
            for name, (record, writes) in reversed((await log.all()).items()):
                for reference in [*record["values"].values(), *_references(record)]:
                    if "messages" in reference:
                        messages = await conversation.get(reference)
                        await Conversation(chats, target, ns).put(messages)
                    elif "blob" in reference:
                        await copy.put_value(await log.value(reference))
                await copy.put_checkpoint(name, record)
                for written in writes:
                    for _, _, reference in written["writes"]:
                        if "blob" in reference:
                            await copy.put_value(await log.value(reference))
                    await copy.put_writes(name, written)

    async def _prune(self, chats: Chats, threads: Sequence[str], strategy: str) -> None:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"no strategy {strategy!r}: keep_latest or delete")
        for thread in threads:
            if strategy == "delete":
                await chats.delete_thread(thread)
                continue
            for _, ns in await chats.namespaces(thread):
                log = Log(chats, thread, ns)
                found = await log.all()
                await log.delete(found.keys() - await self._needed(log, found))

    async def _needed(self, log: Log, found: dict[str, Any]) -> set[str]:
        """Return the newest checkpoint, and those from which its values are read.

        The values of delta channels are rebuilt from the nearest snapshot among the ancestors.
        """
        needed: set[str] = set()
        missing: set[str] | None = None
        current = next(iter(found), None)
        while current in found:
            record, _ = found[current]
            needed.add(current)
            if missing is None:
                metadata = await self._loaded(log, record["metadata"])
                missing = set(metadata.get("counters_since_delta_snapshot", {}))
            missing -= set(record["values"])
            if not missing:
                break
            current = record["parent"]
        return needed

    def get_next_version(self, current: str | int | None, channel: None = None) -> str:
        """Return a version that is newer, and that no fork of the thread has."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"


def _log(chats: Chats, config: RunnableConfig) -> Log:
    wanted = config["configurable"]
    return Log(chats, str(wanted["thread_id"]), wanted.get("checkpoint_ns") or "")


def _config(log: Log, checkpoint: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": log.thread,
            "checkpoint_ns": log.ns,
            "checkpoint_id": checkpoint,
        }
    }


def _references(record: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """Return the references of a record besides those of channels."""
    return record["checkpoint"], record["metadata"]
