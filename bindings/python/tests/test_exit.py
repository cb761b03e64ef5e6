"""A process ends as it should, whatever is still under way.

A reply reaches the event loop from a thread of the package. When the main task ended at that moment,
the interpreter stopped that thread within native code, and the process was aborted after all its
work was done, in a quarter of the runs and without a message.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RUNS = 40

AWAITED = """
import asyncio
from context_layer import AsyncStore
async def main():
    await AsyncStore.open("mem:")
asyncio.run(main())
"""

NEVER_AWAITED = """
import asyncio
from context_layer import AsyncStore
async def main():
    store = await AsyncStore.open("mem:")
    store.chats("ada")
asyncio.run(main())
"""

FORKED = """
import asyncio, os
from context_layer import AsyncStore
async def main():
    await AsyncStore.open("mem:")
child = os.fork()  # before a store is opened, as the README asks
asyncio.run(main())
if child:
    grandchild = os.fork()  # of a process that has opened one: it ends and uses none
    if grandchild:
        assert os.waitpid(child, 0)[1] == 0 and os.waitpid(grandchild, 0)[1] == 0
"""

AT_EXIT = """
import atexit, asyncio
async def late():
    from context_layer import AsyncStore
    try:
        await AsyncStore.open("mem:")
    except RuntimeError as error:
        print(error)
atexit.register(lambda: asyncio.run(late()))
import context_layer
"""


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.parametrize("program", [AWAITED, NEVER_AWAITED], ids=["awaited", "never awaited"])
def test_a_program_that_ends_while_a_reply_arrives_ends_well(program: str) -> None:
    for _ in range(RUNS):
        run(program)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")
def test_a_copy_of_the_process_ends_well() -> None:
    for _ in range(RUNS):
        run(FORKED)


def test_what_is_started_after_the_end_is_refused_and_does_not_hang() -> None:
    assert "the interpreter ends" in run(AT_EXIT)
