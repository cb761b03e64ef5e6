"""How `cargo xtask bench peers` speaks to a driver: a job on a line, an answer on a line.

A job is `CASE N TIMES`: do this TIMES times on a chat of N messages. An answer is a JSON object: what one of them took, or why
it is not done. A driver prepares what it needs before it begins to measure, and keeps it for the next job.
"""

import json
import sqlite3
import sys
import time

FILLER = 'the train to Lisbon leaves at nine, "ask" before you pay, keep the receipt. '


def text(i):
    """400 bytes, the same in the drivers of all languages."""
    start = f"Message {i}: "
    return (start + FILLER * 6)[:400]


def jobs():
    for line in sys.stdin:
        case, n, times = line.split()
        yield case, int(n), int(times)


class Answers:
    """Answers of one peer; its settings are those of a connection that it really uses."""

    def __init__(self, peer, version, connection):
        pragma = lambda name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        self.about = {
            "peer": peer,
            "version": version,
            "sqlite": sqlite3.sqlite_version,
            "journal_mode": pragma("journal_mode"),
            "synchronous": pragma("synchronous"),
        }

    def start(self):
        # CPU time of all threads of this process, and time that passes.
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def stop(self, case, n, times):
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        each = {"cpu_us": cpu * 1e6 / times, "wall_us": wall * 1e6 / times}
        self.say({"case": case, "n": n, **each})

    def skip(self, case, n, why):
        self.say({"case": case, "n": n, "skipped": why})

    def say(self, answer):
        print(json.dumps({**self.about, **answer}), flush=True)
