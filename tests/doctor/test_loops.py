"""The doctor counts what closed loops leave of a robot's freedom."""

import sys
from pathlib import Path

from memetik.doctor import diagnose

sys.path.insert(0, str(Path(__file__).parents[1] / "robot"))
from mechanisms import MECHANISMS, PARALLELOGRAM


def test_mobility_is_told():
    text, _, _ = MECHANISMS["delta"]
    (finding,) = [finding for finding in diagnose(text, samples=0) if finding.code == "closed-loops"]
    assert "3 closed loops leave 3 of 12 joints independent: drive0, drive1, drive2 drive" in finding.message


def test_loops_that_nothing_closes_are_told():
    text = PARALLELOGRAM.replace('name="c" axis="0 1 0"', 'name="c" axis="0 1 0" range="150 170"')
    assert "loops-do-not-close" in {finding.code for finding in diagnose(text, samples=0)}


def test_an_sdf_file_is_examined():
    text = """<sdf version="1.7"><model name="m"><link name="a"/><link name="b"/><joint name="j" type="revolute">
      <parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint></model></sdf>"""
    codes = {finding.code for finding in diagnose(text, samples=0)}
    assert "filled-in" in codes
    assert "not-a-robot" not in codes


def test_what_is_not_honoured_is_told_with_its_line():
    text = """<mujoco>
      <worldbody><geom type="plane" size="1 1 1"/>
        <body name="a"><joint name="j"/><geom size="1"/><body name="b"><joint name="k"/><geom size="1"/></body></body>
      </worldbody>
      <equality><joint joint1="k" joint2="j" polycoef="0 0 1 0 0"/></equality>
    </mujoco>"""
    lines = {finding.code: finding.place.line for finding in diagnose(text, samples=0)}
    assert lines["lost-shape"] == 2
    assert lines["lost-constraint"] == 5
