"""LangGraph's SQLite checkpointer, driven for `cargo xtask bench peers`.

The state of a thread is its list of messages, as MessagesState has it, and each checkpoint holds all of it. It is written and read
through the checkpointer itself, without a graph around it, and whoever appends still has the list in memory: the least that there is
to do.
"""

import sys
from importlib.metadata import version

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from protocol import Answers, jobs, text


def message(i):
    return (AIMessage if i % 2 else HumanMessage)(text(i), id=f"m{i}")


class Thread:
    """A thread and the messages of its newest checkpoint."""

    def __init__(self, saver, case, n):
        self.saver, self.step, self.messages = saver, 0, []
        self.config = {"configurable": {"thread_id": f"{case}-{n}", "checkpoint_ns": ""}}
        # Half of it first, so that there is a checkpoint to go back to.
        self.put([message(i) for i in range(n // 2)])
        self.middle = self.config
        self.put(self.messages + [message(i) for i in range(n // 2, n)])

    def put(self, messages, after=None):
        self.step, self.messages = self.step + 1, messages
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": messages}
        checkpoint["channel_versions"] = {"messages": self.step}
        metadata = {"source": "update", "step": self.step, "parents": {}}
        self.config = self.saver.put(after or self.config, checkpoint, metadata, {"messages": self.step})

    def append(self, i):
        self.put([*self.messages, message(i)])


def read(saver, config):
    return saver.get_tuple(config).checkpoint["channel_values"]["messages"]


def run(answers, saver, path, threads, case, n, times):
    if case == "resolve":
        return answers.skip(case, n, "the checkpointer has no prompt")
    if (case, n) not in threads:
        threads[case, n] = Thread(saver, case, n)
    thread = threads[case, n]
    if case == "append":
        answers.start()
        for i in range(times):
            thread.append(i)
        answers.stop(case, n, times)
    elif case == "load":
        with SqliteSaver.from_conn_string(path) as fresh:
            fresh.setup()
            answers.start()
            for _ in range(times):
                assert len(read(fresh, thread.config)) == n
            answers.stop(case, n, times)
    elif case == "fork":
        answers.start()
        for _ in range(times):
            # As its documentation does it: a state of the past is read and written again, as the newest.
            thread.put(read(saver, thread.middle), after=thread.middle)
            assert len(read(saver, thread.config)) == n // 2
        answers.stop(case, n, times)
    elif case == "turn":
        answers.start()
        for i in range(times):
            thread.append(2 * i)
            assert len(read(saver, thread.config)) > n
            thread.append(2 * i + 1)
        answers.stop(case, n, times)
    else:
        answers.skip(case, n, "there is no such case")


def main():
    path = f"{sys.argv[1]}/checkpoints.db"
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
        answers = Answers("langgraph", version("langgraph-checkpoint-sqlite"), saver.conn)
        threads = {}
        for case, n, times in jobs():
            run(answers, saver, path, threads, case, n, times)


main()
