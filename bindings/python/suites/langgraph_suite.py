"""Runs the conformance suite of LangGraph's checkpointers against ours."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

import langgraph.checkpoint
from context_layer import AsyncStore
from context_layer.langgraph import ContextSaver
from report import Report


async def main(pattern: str) -> None:
    from langgraph.checkpoint.conformance import checkpointer_test, validate
    from langgraph.checkpoint.conformance.report import ProgressCallbacks

    report = Report()
    with tempfile.TemporaryDirectory() as folder:

        @checkpointer_test(name="ContextSaver")
        async def saver():
            path = Path(tempfile.mkdtemp(dir=folder), "checkpoints.db")
            store = await AsyncStore.open(f"sqlite:{path}")
            yield ContextSaver(store)
            await store.close()

        def started(capability: str, detected: bool) -> None:
            print(f"{capability}{'' if detected else ': not implemented'}", flush=True)
            if not detected:
                report.add(capability, "skipped", "the checkpointer does not have it")

        def ended(capability: str, test: str, passed: bool, error: str | None) -> None:
            name = f"{capability}::{test}"
            if pattern in name:
                report.add(name, "passed" if passed else "failed")
                if error:
                    print(f"{name}\n{error}")

        progress = ProgressCallbacks(on_capability_start=started, on_test_result=ended)
        await validate(saver, progress=progress)


parser = argparse.ArgumentParser()
parser.add_argument("pattern", nargs="?", default="", help="part of the names of tests")
parser.add_argument("--path", help="a folder with another copy of the package `conformance`")
arguments = parser.parse_args()
if arguments.path:
    langgraph.checkpoint.__path__.insert(0, arguments.path)
asyncio.run(main(arguments.pattern))
