"""Plot configurations."""

from __future__ import annotations

from pathlib import Path

import pytest

from memetik.bench.report.plots_style import PALETTE, Look, PlotStyle, read_style
from memetik.errors import InvalidInputError


def test_a_configuration_says_what_is_drawn_and_how(tmp_path: Path) -> None:
    path = tmp_path / "plots.toml"
    path.write_text(
        'schema = "memetik.plots/1"\nrobots = ["elise"]\nscenarios = ["Shelf", "Barrel"]\nzooms = [0.002]\n'
        '[[solver]]\nname = "memetic"\nlabel = "ours"\ncolor = "red"\nstyle = "dotted"\n[[solver]]\nname = "trac"\n'
    )
    style = read_style(path)
    assert style.robots == ("elise",)
    assert style.scenarios == ("Shelf", "Barrel")
    assert style.zooms == (0.002,)
    assert style.solvers == ("memetic", "trac")
    ours = style.looks["memetic"]
    assert (ours.label, ours.color, ours.style) == ("ours", "#ff0000", "dotted")
    assert style.looks["trac"].label == "trac"


def test_lines_as_ebike_wrote_them_are_read(tmp_path: Path) -> None:
    path = tmp_path / "plots.txt"
    path.write_text(
        "elise\nKDL,TracIKDistance,TracIKSpeed\nlabels:KDL,TracIK (Distance Mode),TracIK (Speed Mode)\n"
        "colors:0,1,1\nstyles:solid,solid,dotted\nbarrel\nshelf\n"
    )
    style = read_style(path)
    assert style.robots == ("elise",)
    assert style.scenarios == ("barrel", "shelf")
    assert style.looks["TracIKSpeed"].label == "TracIK (Speed Mode)"
    assert style.looks["TracIKSpeed"].color == style.looks["TracIKDistance"].color == PALETTE[1]
    assert style.looks["TracIKSpeed"].style == "dotted"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "schema = 1", "schema"),
        ("a.toml", "not toml [", "not TOML"),
        ("a.toml", 'schema = "memetik.plots/1"\nsolvers = ["x"]', "did you mean 'solver'"),
        ("a.toml", 'schema = "memetik.plots/1"\n[[solver]]\nname = "x"\nstyle = "wavy"', "wavy"),
        ("a.toml", 'schema = "memetik.plots/1"\n[[solver]]\nname = "x"\ncolor = "nocolor"', "nocolor"),
        ("a.toml", 'schema = "memetik.plots/1"\nzooms = [-1.0]', "zooms"),
        ("a.txt", "elise\n", "solvers"),
        ("a.txt", "elise\na,b\nlabels:one\n", "2 solvers, but 1 labels"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_said(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=said.replace("[", r"\[")):
        read_style(tmp_path / name)


def test_solvers_without_a_look_get_colours_of_their_own() -> None:
    looks = PlotStyle().completed([(f"solver {k}", ()) for k in range(30)]).looks
    assert len({(look.color, look.style) for look in looks.values()}) == 30


def test_runs_of_one_solver_share_its_colour_and_not_its_line() -> None:
    style = PlotStyle({"memetic": Look("ours", "#ff0000", "dotted")})
    looks = style.completed([(f"ours [{k}]", ("memetic",)) for k in range(3)]).looks
    assert {look.color for look in looks.values()} == {"#ff0000"}
    assert len({look.style for look in looks.values()}) == 3
    assert style.completed([("ours", ("memetic",))]).looks["ours"].style == "dotted"
