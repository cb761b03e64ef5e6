"""A plugin of pytest that reports each test once."""

from __future__ import annotations

import pytest
from report import Report

_report = Report()
_called: set[str] = set()
_failed: set[str] = set()


@pytest.hookimpl
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    test = report.nodeid
    if report.failed and test not in _failed:
        _failed.add(test)
        _report.add(test, "failed")
    elif report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        _report.add(test, "skipped", reason.removeprefix("Skipped: "))
    elif report.when == "call":
        _called.add(test)
    elif report.when == "teardown" and test in _called - _failed:
        _report.add(test, "passed")


@pytest.hookimpl
def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _report.add(report.nodeid, "failed")
