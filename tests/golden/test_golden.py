"""Nothing changes: the golden problems have the answers that were recorded, and old files are read as they were.

Where an answer changes on purpose, `python tests/golden/record.py` records it anew; the old files stay.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import answers
import numpy as np
import old_files
import pytest
import record
from cases import all_cases

from memetik import _core

BEST = _core.architectures()[-1]
RECORDED = sorted(path.name.partition(".")[0] for path in answers.FOLDER.glob("*.json.gz"))


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return json.loads(old_files.EXPECTED.read_text())


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMETIK_CACHE", str(tmp_path_factory.mktemp("cache")))
        return old_files.readings()


@pytest.mark.unsanitized
@pytest.mark.parametrize("architecture", [name for name in _core.architectures() if name in RECORDED])
def test_answers_are_what_they_were(architecture: str) -> None:
    """All cases on the machine's best instruction set, those of the core on the others."""
    equal, different, skipped = record.compare(architecture, core=architecture != BEST)
    assert not different, record.summary(equal, different, skipped)
    assert equal > 100


def test_a_changed_bit_is_seen(tmp_path: Path) -> None:
    """The comparison itself: the last bit of one number of one recorded answer."""
    name = "goals/Pose/plain"
    for path in answers.FOLDER.glob(f"{BEST}.json.gz"):
        shutil.copy(path, tmp_path)
    content = answers.load(BEST, tmp_path)
    answer = content["cases"][name]["answer"]
    q = np.array(answers.decoded(answer["q"]))
    q[0] = np.nextafter(q[0], np.inf)
    answer["q"] = answers.encoded(q)
    answers.save(BEST, content, tmp_path)
    _, different, _ = record.compare(BEST, name, folder=tmp_path)
    assert list(different) == [name]
    assert "max |dq|" in different[name]


def test_names_of_cases_are_distinct() -> None:
    names = [case.id for case in all_cases()]
    assert len(set(names)) == len(names)


def test_old_files_say_what_they_said(expected: dict[str, Any], readings: dict[str, Any]) -> None:
    assert set(readings) == set(expected["facts"])
    changes = {name: answers.difference(expected["facts"][name], facts) for name, (facts, _) in readings.items()}
    changes = {name: change for name, change in changes.items() if change}
    assert not changes, "\n".join(f"{name}: {change}" for name, change in changes.items())


def test_problems_of_old_files_have_the_answers_they_had(expected: dict[str, Any], readings: dict[str, Any]) -> None:
    wanted = expected["answers"].get(_core.architecture())
    if wanted is None or expected["environment"] != answers.environment():
        pytest.skip("recorded on another instruction set, or with other versions or kernels of BLAS and numpy")
    changes = {name: answers.difference(answer, readings[name][1]) for name, answer in wanted.items()}
    changes = {name: change for name, change in changes.items() if change}
    assert not changes, "\n".join(f"{name}: {change}" for name, change in changes.items())
