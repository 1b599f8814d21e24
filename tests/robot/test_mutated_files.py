"""A few hundred of the mutated files of benchmarks/mutated_files.py, and the worst single ones."""

import importlib
import random
from pathlib import Path

import pytest
from test_mjcf import ARM, COUPLED, DEGREES, HUMANOID_LEG

from memetik.errors import DescriptionError, MemetikError
from memetik.robot.load import load_description
from memetik.robot.robot import Robot

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def mutated_files(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))  # the worker process takes the path over and finds the script there too
    return importlib.import_module("mutated_files")


def test_mutated_files_load_or_raise_typed_errors_in_time_and_fetch_nothing(mutated_files):
    report = mutated_files.run(360, seed=1)
    assert report.violations == []
    assert report.reached == 0
    assert report.count == 360
    outcomes = {outcome for counter in report.outcomes.values() for outcome in counter}
    assert outcomes == {"loaded", "DescriptionError"}
    assert len(report.outcomes) == 2 * len(mutated_files.MUTATIONS)


def test_every_mutation_changes_the_file(mutated_files):
    text = '<robot name=\'r\'><link name="a"/><joint name="j" x="1.5"><mesh filename="m"/></joint></robot>'
    for name, mutate in mutated_files.MUTATIONS.items():
        results = {mutate(text, random.Random(k), "127.0.0.1:9", "/nowhere") for k in range(20)}
        assert results - {text.encode()}, name


def test_mutated_mjcf_loads_or_raises_typed_errors(mutated_files):
    outcomes = set()
    for case in range(270):
        generator = random.Random(case)
        mutate = list(mutated_files.MUTATIONS.values())[case % len(mutated_files.MUTATIONS)]
        content = mutate(
            generator.choice([ARM, DEGREES, HUMANOID_LEG, COUPLED % ""]), generator, "127.0.0.1:9", "/nowhere"
        )
        try:
            Robot(load_description(content.replace(b"</robot>", b"</mujoco>")))
            outcomes.add("loaded")
        except MemetikError:
            outcomes.add("refused")
    assert outcomes == {"loaded", "refused"}


@pytest.mark.parametrize(
    "text",
    [
        "<robot>" * 1_000_000,
        "<robot " + " ".join(f'a{k}="1"' for k in range(100_000)) + "/>",
        "<robot>" + "&#9;" * 1_000_000 + "</robot>",
        "<robot><!--" + "-" * 1_000_000,
        "<robot><![CDATA[" + "]" * 1_000_000,
        "<" * 1_000_000,
        "<robot a='" + "&lt;" * 1_000_000 + "'/>",
        '<robot><link name="a"><inertial><mass value="1"/><origin xyz="'
        + "1 " * 1_000_000
        + '"/></inertial></link></robot>',
        '<robot><link name="a"><inertial><mass value="1"/><origin xyz="'
        + "1" * 1_000_000
        + ' 0 0"/></inertial></link></robot>',
    ],
)
def test_single_monsters_are_refused(text):
    with pytest.raises(DescriptionError):
        load_description(text)
