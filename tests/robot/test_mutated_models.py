"""A few hundred of the mutated files of benchmarks/mutated_models.py."""

import importlib
from pathlib import Path

import pytest

from memetik.errors import DescriptionError
from memetik.robot.load import load_description
from memetik.scene.world import load_world

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


def test_mutated_mjcf_and_sdf_files_load_or_raise_typed_errors_in_time(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))  # the worker process takes the path over and finds the script there too
    monkeypatch.syspath_prepend(str(SCRIPTS.parent / "tests" / "scene"))
    report = importlib.import_module("mutated_models").run(240, 1, [])
    assert report.violations == []
    assert report.count == 240
    outcomes = {outcome for counter in report.outcomes.values() for outcome in counter}
    assert outcomes == {"loaded", "DescriptionError"}


def test_too_many_degrees_of_freedom_are_refused():
    body = '<replicate count="60" offset="1 0 0"><body><freejoint/><geom size="1"/></body></replicate>'
    text = f'<mujoco><worldbody><replicate count="40" sep="-">{body}</replicate></worldbody></mujoco>'
    with pytest.raises(DescriptionError, match="degrees of freedom"):
        load_description(text)


def test_a_world_with_two_bodies_of_one_name_is_refused():
    text = '<mujoco><worldbody><body name="a"><joint/></body><body name="a"><joint/></body></worldbody></mujoco>'
    with pytest.raises(DescriptionError, match="occurs 2 times"):
        load_world(text)
