"""A plugin of pytest that runs the session tests of the OpenAI Agents SDK against ours.

The classes `SQLiteSession` and `AsyncSQLiteSession` are exchanged before a test module imports
them. A test that works with the insides of those classes, or with the tables of their file, says
nothing about another class: it is skipped, by what its own source does.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import agents
import agents.extensions.memory
import agents.extensions.memory.async_sqlite_session
import agents.memory
import agents.memory.sqlite_session
import pytest
from context_layer.openai_agents import ContextSession


class _Session(ContextSession):
    """Our session behind the constructor of theirs."""

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        session_settings: Any = None,
    ) -> None:
        url = "mem:" if str(db_path) == ":memory:" else f"sqlite:{db_path}"
        super().__init__(session_id, url, session_settings=session_settings)


class SQLiteSession(_Session):
    pass


class AsyncSQLiteSession(_Session):
    pass


for module in (agents, agents.memory, agents.memory.sqlite_session):
    module.SQLiteSession = SQLiteSession
for module in (
    agents.extensions.memory,
    agents.extensions.memory.async_sqlite_session,
):
    module.AsyncSQLiteSession = AsyncSQLiteSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = _inside(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


def _inside(item: pytest.Item) -> str | None:
    """Say which insides a test works with, or nothing if it works with the protocol alone."""
    module, function = item.module, item.function
    tree = _tree(function)
    private = sorted(
        {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and node.attr.startswith("_")
            and not node.attr.startswith("__")
        }
    )
    if private:
        return f"works with private attributes of SQLite's session: {', '.join(private)}"
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    drivers = sorted(names & {"aiosqlite", "sqlite3"})
    if drivers:
        return f"works with the driver of SQLite's session: {', '.join(drivers)}"
    tests = [tree] + [_tree(getattr(module, name)) for name in names if _is_helper(module, name)]
    tables = sorted(
        {
            table
            for test in tests
            for node in ast.walk(test)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            for table in ("agent_sessions", "agent_messages")
            if table in node.value
        }
    )
    if tables:
        return f"works with tables of SQLite's session: {', '.join(tables)}"
    return None


def _is_helper(module: ModuleType, name: str) -> bool:
    value = getattr(module, name, None)
    return inspect.isfunction(value) and value.__module__ == module.__name__


def _tree(function: Any) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
