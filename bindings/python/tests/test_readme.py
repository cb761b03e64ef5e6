"""Every program of the README runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_of_the_readme_runs(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(PROGRAMS[number], f"README, program {number + 1}", "exec"), {"__name__": "readme"})
