"""Tests that look at the clock (marker `clock`) are judged only by a machine that has time for them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator

import pytest

# A suite that was started in the background ignores Ctrl-C, and so would the tests of it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FAIR_SHARE = 0.8
"""Share of a core that a thread gets on a machine that is not busy."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.CallInfo[None], None]:
    outcome = yield
    report: pytest.TestReport = outcome.get_result()  # pyright: ignore[reportAttributeAccessIssue]
    if report.when == "call" and report.failed and item.get_closest_marker("clock") and is_busy():
        report.outcome = "skipped"
        reason = f"Skipped: it looks at the clock, and the machine was busy.\n{report.longreprtext}"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, reason)


def is_busy() -> bool:
    """Whether others want the cores: more wait for them than there are, or a thread here gets less than its share."""
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1):
        return True
    wall, processor = time.perf_counter(), time.thread_time()
    while time.perf_counter() - wall < 0.1:
        pass
    return time.thread_time() - processor < FAIR_SHARE * (time.perf_counter() - wall)
