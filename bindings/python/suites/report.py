"""The outcome of each test, as lines of JSON for `cargo xtask suites`."""

from __future__ import annotations

import json
import os


class Report:
    """Appends outcomes to the file that CONTEXT_SUITE_REPORT names."""

    def __init__(self) -> None:
        self._file = open(os.environ["CONTEXT_SUITE_REPORT"], "a", encoding="utf-8")

    def add(self, test: str, outcome: str, reason: str = "") -> None:
        """Add a test that is `passed`, `failed` or `skipped`."""
        line = {"test": test, "outcome": outcome, "reason": reason}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
