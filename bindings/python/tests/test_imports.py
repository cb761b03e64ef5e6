"""Each part of the package can be imported without the systems that it does not stand in for."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

SYSTEMS = {"agents", "langgraph", "langchain_core", "pydantic_ai"}
NEEDED = {
    "context_layer": set(),
    "context_layer.openai_agents": set(),
    "context_layer.langchain": {"langchain_core"},
    "context_layer.langgraph": {"langchain_core", "langgraph"},
    "context_layer.pydantic_ai": {"pydantic_ai"},
}

PROGRAM = """
import importlib, sys
module, *missing = sys.argv[1:]
sys.modules.update(dict.fromkeys(missing))  # as if they were not installed
importlib.import_module(module)
"""


@pytest.mark.parametrize("module", NEEDED)
def test_a_module_needs_its_own_system_alone(module: str) -> None:
    for system in NEEDED[module]:
        if importlib.util.find_spec(system) is None:
            pytest.skip(f"{system} is not installed")
    missing = sorted(SYSTEMS - NEEDED[module])
    subprocess.run([sys.executable, "-c", PROGRAM, module, *missing], check=True)
