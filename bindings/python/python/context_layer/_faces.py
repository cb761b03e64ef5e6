"""One piece of code for both faces of a store.

Adapters with a blocking and an asyncio interface are written once, as coroutines. With a blocking
chat, no call of such a coroutine ever waits, so it ends at its first step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from ._native import Chat, Store

T = TypeVar("T")


class Ready:
    """A blocking store or chat whose methods are coroutines that do not wait."""

    def __init__(self, target: Store | Chat) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)

        async def call(*args: Any, **options: Any) -> Any:
            result = method(*args, **options)
            return Ready(result) if isinstance(result, Chat) else result

        return call


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine over ready objects to its end."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("a coroutine over a blocking store has waited")


def iterate(items: AsyncIterator[T]) -> Iterator[T]:
    """Iterate over an async iterator over ready objects."""
    while True:
        try:
            item = run(items.__anext__())  # type: ignore[arg-type]
        except StopAsyncIteration:
            return
        yield item
