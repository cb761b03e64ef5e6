"""Stores for tests: every backend that this machine has."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from context_layer import Store

BACKENDS = ["mem", "sqlite", "postgres", "redis"]


def url_of(backend: str, folder: Path) -> str:
    """Return the URL of a fresh store, or skip the test."""
    if backend == "mem":
        return "mem:"
    if backend == "sqlite":
        return f"sqlite:{folder / 'chats.db'}"
    variable = f"CONTEXT_TEST_{backend.upper()}_URL"
    url = os.environ.get(variable)
    if not url:
        pytest.skip(f"no server: {variable} is not set")
    return url


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each backend."""
    opened = Store.open(url_of(request.param, tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def user() -> str:
    """A user whom no other test has: servers are shared."""
    return f"user-{uuid.uuid4()}"


@pytest.fixture
def data() -> Path:
    """The folder of recorded conversations, or a skipped test."""
    folder = Path(os.environ.get("CONTEXT_TEST_DATA", ""), "data")
    if not folder.is_dir():
        pytest.skip(f"no test data in {folder}: CONTEXT_TEST_DATA names its parent")
    return folder
