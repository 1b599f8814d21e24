"""What tests/conftest.py makes of a failure of a test that looks at the clock."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.clock
def test_marked():
    assert 2.0 < 1.0

def test_not_marked():
    assert 2.0 < 1.0

@pytest.mark.clock
def test_that_holds():
    pass
"""


@pytest.mark.parametrize("busy", [True, False])
def test_failures_of_marked_tests_count_on_a_quiet_machine_alone(pytester: pytest.Pytester, busy: bool) -> None:
    source = (Path(__file__).parent / "conftest.py").read_text()
    pytester.makeconftest(source + f"\ndef is_busy():\n    return {busy}\n")
    pytester.makeini("[pytest]\nmarkers =\n    clock: looks at the clock")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, skipped=int(busy), failed=2 - int(busy))
