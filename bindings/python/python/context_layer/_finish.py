"""Writes whose outcome is known even if the task that waits for them is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def finish(work: Awaitable[T]) -> T:
    """Wait for a write to end, however often the task is cancelled, and be cancelled then."""
    future = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not future.cancelled():
            future.exception()  # read, so that the loop does not report it
        raise cancelled
    return future.result()
