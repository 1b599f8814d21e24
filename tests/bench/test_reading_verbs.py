"""The verbs reach and tune and `bench report`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trimesh
from typer.testing import CliRunner

from memetik.cli.app import app
from memetik.errors import MemetikError

runner = CliRunner()


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("part") / "part.stl"
    solid = trimesh.creation.box((400.0, 600.0, 20.0))  # millimetres
    solid.export(path)
    return str(path)


def run(*words: str) -> dict:
    result = runner.invoke(app, [*words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def refused(*words: str) -> str:
    with pytest.raises(MemetikError) as caught:
        runner.invoke(app, list(words), catch_exceptions=False)
    return str(caught.value)


PLACED = ("--scale", "0.001", "--mesh-pose", "0.6 0 0.4", "--targets", "24", "--evaluations", "800", "--passes", "1")


def test_a_study_writes_what_it_is_told_to(part: str, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("reach.html", "reach.ply")]
    data = run("reach", "ur10", part, *PLACED, "-o", files[0], "-o", files[1])
    assert data["schema"] == "memetik.reach/1"
    (study,) = data["studies"]
    assert study["targets"] == 24
    assert study["reached"] + study["blocked"] + study["out of reach"] == 24
    assert study["coverage"] > 0.3
    assert data["files"] == files
    assert Path(files[0]).read_text().startswith("<!doctype html>")
    assert trimesh.load(files[1]).extents == pytest.approx((0.4, 0.6, 0.02), abs=1e-5)


def test_robots_and_bases_are_compared_on_the_same_targets(part: str) -> None:
    data = run("reach", "ur10", part, *PLACED, "--also", "ur3", "--no-collision")
    assert [study["robot"] for study in data["studies"]] == ["ur10", "ur3"]
    assert data["studies"][0]["coverage"] >= data["studies"][1]["coverage"]
    assert len(data["comparison"]) == 1
    bases = run("reach", "ur3", part, *PLACED, "--base", "0 0 0.3", "--base", "-4 0 0", "--no-collision")
    assert bases["studies"][1]["coverage"] == 0.0


def test_targets_come_from_a_file_in_the_part_s_own_unit(part: str, tmp_path: Path) -> None:
    cloud = str(tmp_path / "targets.pcd")
    assert runner.invoke(app, ["bench", "sample", part, "-o", cloud, "-n", "15", "--facing", "+z"]).exit_code == 0
    data = run("reach", "ur10", part, *PLACED, "--points", cloud, "--no-collision")
    assert data["studies"][0]["targets"] == 15
    assert data["studies"][0]["coverage"] > 0.9


def test_a_map_needs_no_mesh(tmp_path: Path) -> None:
    picture = str(tmp_path / "map.png")
    data = run("reach", "ur3", "--map", "0.25", "--directions", "4", "-o", picture)
    assert data["schema"] == "memetik.reach_map/1"
    assert 0.2 < data["volume"] < 2.5
    assert Path(picture).read_bytes().startswith(b"\x89PNG")


def test_every_robot_is_placed_and_the_best_places_are_compared(part: str, tmp_path: Path) -> None:
    picture = str(tmp_path / "places.png")
    words = ("reach", "ur10", part, *PLACED, "--no-collision", "--place", "x=-1:1 y=-1:1", "--places", "8")
    data = run(*words, "--also", "ur3", "-o", picture)
    assert {entry["robot"] for entry in data["robots"]} == {"ur10", "ur3"}
    assert all(entry["looked_at"] == 8 for entry in data["robots"])
    assert len(data["comparison"]) == 1
    assert Path(picture).read_bytes().startswith(b"\x89PNG")
    assert "one --base" in refused(*words, "--base", "0 0 0", "--base", "1 0 0")


def test_a_map_refuses_what_it_does_not_use(tmp_path: Path) -> None:
    words = ("reach", "ur3", "--map", "0.3")
    assert "--points" in refused(*words, "--points", str(tmp_path / "missing.ply"))
    assert "second --base" in refused(*words, "--base", "0 0 0", "--base", "1 0 0")
    assert "missing.toml" in refused(*words, "--scene", str(tmp_path / "missing.toml"))


def test_wrong_words_are_told_before_the_work(part: str, tmp_path: Path) -> None:
    assert "wrist_3_link" in refused("reach", "ur10", part, *PLACED, "--touch", "wrist_3_lnik")
    assert "--map" in refused("reach", "ur10")
    assert ".html" in refused("reach", "ur10", part, "-o", "reach.docx")
    assert "folder" in refused("reach", "ur10", part, "-o", str(tmp_path / "missing" / "a.html"))
    assert "free or fixed" in refused("reach", "ur10", part, "--spin", "some")
    assert "x y z" in refused("reach", "ur10", part, "--base", "1 2")
    assert "did you mean 'yaw'" in refused("reach", "ur10", part, *PLACED, "--place", "yam=0:1")


TUNED = ("tune", "memetic", "-r", "panda", "-s", "Random", "-n", "8", "--held-out", "8", "-k", "4", "--evaluations",
         "1000", "--only", "population")  # fmt: skip


def test_a_tuning_writes_a_preset_that_solves(tmp_path: Path) -> None:
    preset = str(tmp_path / "preset.json")
    data = run(*TUNED, "--preset", preset)
    assert data["schema"] == "memetik.tune/2"
    assert data["trials"] == 4
    held = data["held_out"]
    # What is written measured at least as well as the default on the held-out targets.
    assert held["kept"] == ({"population": 8} if held["tuned"] > held["default"] else data["best"])
    assert json.loads(Path(preset).read_text()).get("parameters", {}) in ({}, held["kept"])
    assert f"{preset} holds the " in data["sentence"]
    solved = runner.invoke(app, ["bench", "run", "-r", "panda", "-s", "Random", "-m", preset, "-n", "2", "-k", "1",
                                 "--store", str(tmp_path / "bench.db"), "--json"])  # fmt: skip
    assert solved.exit_code == 0, solved.output
    report = run("bench", "report", str(tmp_path / "bench.db"))
    assert len(report["cases"]) == 2  # the overview and one scenario


def test_a_tuning_of_two_objectives_shows_its_trade_offs_and_ends_with_the_outcome() -> None:
    text = runner.invoke(app, [*TUNED, "--two-objectives", "--choose", "failures"], catch_exceptions=False).output
    assert "Best trade-offs" in text
    assert "importance for failures" in text
    assert "chosen by failures: the fewest failures" in text
    assert text.strip().splitlines()[-1].startswith(("Confirmed", "Not confirmed", "Nothing better"))
    data = run(*TUNED, "--two-objectives")
    assert data["front"]
    assert {"score", "failures", "cost_of_solved", "parameters"} <= set(data["front"][0])
    assert "luck" in refused(*TUNED, "--choose", "luck")
