"""The sessions of the OpenAI Agents SDK, driven for `cargo xtask bench peers`.

SQLiteSession is what its documentation begins with, and does all but one case. It has no branches: those are AdvancedSQLiteSession's,
which writes more for each item, and does the fork.
"""

import asyncio
import sys
from importlib.metadata import version

from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession

from protocol import Answers, jobs, text


def item(i):
    return {"role": "assistant" if i % 2 else "user", "content": text(i)}


class Sessions:
    def __init__(self, folder):
        self.plain, self.branching, self.filled = f"{folder}/sessions.db", f"{folder}/branching.db", {}

    async def of(self, case, n):
        """The session of a case, filled when it is asked for first."""
        if (case, n) not in self.filled:
            name = f"{case}-{n}"
            if case == "fork":
                session = AdvancedSQLiteSession(session_id=name, db_path=self.branching, create_tables=True)
            else:
                session = SQLiteSession(name, self.plain)
            await session.add_items([item(i) for i in range(n)])
            self.filled[case, n] = session
        return self.filled[case, n]


async def run(answers, sessions, case, n, times):
    if case == "resolve":
        return answers.skip(case, n, "instructions are one string; there is nothing to resolve")
    session = await sessions.of(case, n)
    if case == "append":
        answers.start()
        for i in range(times):
            await session.add_items([item(i)])
        answers.stop(case, n, times)
    elif case == "load":
        fresh = SQLiteSession(session.session_id, sessions.plain)
        answers.start()
        for _ in range(times):
            assert len(await fresh.get_items()) == n
        answers.stop(case, n, times)
        fresh.close()
    elif case == "fork":
        answers.start()
        for _ in range(times):
            # A branch holds what is before the turn it is named after.
            await session.create_branch_from_turn(n // 4 + 1)
            assert len(await session.get_items()) == n // 2
            await session.switch_to_branch("main")
        answers.stop(case, n, times)
    elif case == "turn":
        answers.start()
        for i in range(times):
            await session.add_items([item(2 * i)])
            assert len(await session.get_items()) > n
            await session.add_items([item(2 * i + 1)])
        answers.stop(case, n, times)
    else:
        answers.skip(case, n, "there is no such case")


async def main():
    sessions = Sessions(sys.argv[1])
    # The connection of this thread, set up as those of the worker threads are.
    connection = SQLiteSession("settings", sessions.plain)._get_connection()
    answers = Answers("openai-agents", version("openai-agents"), connection)
    for case, n, times in jobs():
        await run(answers, sessions, case, n, times)


asyncio.run(main())
