"""A thread of LangGraph with growing messages: our saver and LangGraph's own, on SQLite.

    python xtask/peers/checkpoints.py [STEPS]

Run it in an environment with `langgraph`, `langgraph-checkpoint-sqlite`, and a wheel of
`context-layer` that was built with `maturin build --release`. Each saver runs the same graph, which
adds a message of 200 bytes in each step, and then reads the state once more. Prints the size of the
file, CPU and wall time.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from context_layer import Store
from context_layer.langgraph import ContextSaver
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph, add_messages
from typing_extensions import TypedDict


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    step: int


def run(saver: Any, steps: int) -> None:
    """Run the graph for a number of steps and read its state."""

    def speak(state: State) -> dict[str, Any]:
        text = f"{state['step']:06} " + "word " * 39
        return {"messages": [AIMessage(text, id=f"m{state['step']}")], "step": state["step"] + 1}

    builder = StateGraph(State)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    builder.add_conditional_edges("speak", lambda s: END if s["step"] == steps else "speak")
    app = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": steps + 10}
    app.invoke({"messages": [HumanMessage("Begin.", id="q")], "step": 0}, config)
    assert len(app.get_state(config).values["messages"]) == steps + 1


def ours(file: Path, steps: int) -> None:
    store = Store.open(f"sqlite:{file}")
    run(ContextSaver(store), steps)
    store.close()


def theirs(file: Path, steps: int) -> None:
    connection = sqlite3.connect(file, check_same_thread=False)
    run(SqliteSaver(connection), steps)
    connection.close()


def measure(name: str, work: Callable[[Path, int], None], steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "checkpoints.db")
        cpu, wall = time.process_time(), time.perf_counter()
        work(file, steps)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(f"{name}: {steps} steps, {size:,} bytes, {cpu:.1f} s CPU, {wall:.1f} s", flush=True)


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    measure("ContextSaver", ours, steps)
    measure("SqliteSaver", theirs, steps)


main()
