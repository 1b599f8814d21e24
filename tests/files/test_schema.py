"""Files of our own: every complaint names file, line, place and key; hostile nesting and sizes are refused."""

from __future__ import annotations

import pytest

from memetik.errors import GeometryError, InvalidInputError
from memetik.files.schema import Table, as_table, parse_table, read_table

TOML = """schema = "test/1"  # a comment

[robot]
source = "arm.urdf"

[[object]]
name = "wall"
size = [1, 2, 3]

[[object]]
name = "ball"
radius = "large"
inner = {depth = true}
"""
JSON = '{"schema": "test/1",\n "robot": {"source": "arm.urdf"},\n "object": [{"name": "wall"},\n  {"radius": "large"}]}'
YAML = "schema: test/1\nrobot:\n  source: arm.urdf\nobject:\n- name: wall\n- name: ball\n  radius: large\n"


def table(text: str = TOML, form: str = "toml") -> Table:
    return parse_table(text, form, "the test file 'a.toml'")  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "form", "line"), [(TOML, "toml", 12), (JSON, "json", 4), (YAML, "yaml", 7)])
def test_a_wrong_entry_is_named_with_file_line_and_place(text: str, form: str, line: int) -> None:
    entry = table(text, form).tables("object")[1]
    with pytest.raises(InvalidInputError) as raised:
        entry.number("radius")
    assert str(raised.value) == f"the test file 'a.toml', line {line}, object 2: radius must be a number, not 'large'."


def test_an_entry_that_is_missing_is_named_with_the_line_of_its_table() -> None:
    with pytest.raises(InvalidInputError, match=r"line 6, object 1: 'radius' is needed, a number"):
        table().tables("object")[0].number("radius")


def test_unknown_keys_are_refused_with_a_suggestion() -> None:
    with pytest.raises(InvalidInputError, match=r"line 4, robot: there is no entry 'source'; did you mean 'sourc'\?"):
        table().table("robot").known("sourc")


def test_a_place_within_an_entry_is_found_by_the_entry() -> None:
    with pytest.raises(InvalidInputError, match=r"line 13, object 2\.inner: depth must be a number, not True"):
        table().tables("object")[1].table("inner").number("depth")


@pytest.mark.parametrize(
    ("data", "read"),
    [
        ({"a": True}, lambda t: t.number("a")),
        ({"a": 10**400}, lambda t: t.number("a")),
        ({"a": 0}, lambda t: t.positive("a")),
        ({"a": float("nan")}, lambda t: t.positive("a")),
        ({"a": 1.5}, lambda t: t.whole("a")),
        ({"a": 0}, lambda t: t.whole("a", least=1)),
        ({"a": 1}, lambda t: t.flag("a")),
        ({"a": 1}, lambda t: t.text("a")),
        ({"a": "blu"}, lambda t: t.choice("a", ("red", "blue"))),
        ({"a": [1, 2]}, lambda t: t.numbers("a", 3)),
        ({"a": [1, "b"]}, lambda t: t.numbers("a")),
        ({"a": 1}, lambda t: t.numbers("a")),
        ({"a": ["b", 1]}, lambda t: t.texts("a")),
        ({"a": 1}, lambda t: t.table("a")),
        ({"a": [{}, 1]}, lambda t: t.tables("a")),
        ({"schema": True}, lambda t: t.schema(1)),
    ],
)
def test_values_of_the_wrong_kind_are_refused(data, read) -> None:
    with pytest.raises(GeometryError, match=r"^the data: "):
        read(as_table(data, "the data", error=GeometryError))


def test_null_counts_as_absent() -> None:
    entries = as_table({"a": None, "b": 2}, "the data")
    assert "a" not in entries
    assert entries.optional(entries.number, "a") is None
    assert entries.optional(entries.number, "b") == 2.0
    assert entries.number("a", 3.0) == 3.0
    assert entries.tables("a") == []
    assert len(entries.table("a")) == 0


def test_errors_of_what_is_made_from_a_table_get_its_place_once() -> None:
    entry = table().tables("object")[0].called("object 'wall'")
    for inner in (ValueError("no volume."), entry.error("no volume.")):
        with pytest.raises(InvalidInputError) as raised, entry.naming_errors():
            raise inner
        assert str(raised.value) == "the test file 'a.toml', line 6, object 'wall': no volume."


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", "[" * 100_000),
        ("json", '{"a":' * 100_000),
        ("json", '{"a": ' + "[" * 500 + "]" * 500 + "}"),
        ("toml", "a = " + "[" * 100_000),
        ("toml", "a" + ".a" * 500 + " = 1"),
        ("yaml", "[" * 20_000),
        ("yaml", "a: &a [1]\nb: [*a, *a]"),
        ("json", "{"),
        ("json", "1" * 5_000),
        ("json", b"\xff"),
        ("json", "3"),
    ],
)
def test_nesting_aliases_and_damage_are_refused(form, text) -> None:
    with pytest.raises(InvalidInputError, match="the test file"):
        parse_table(text, form, "the test file")


def test_a_file_that_is_missing_or_too_large_is_named(tmp_path) -> None:
    with pytest.raises(GeometryError, match=r"the test file '.*a\.toml' cannot be read: No such file"):
        read_table(tmp_path / "a.toml", "the test file", "toml", error=GeometryError)
    (tmp_path / "a.toml").write_text(TOML)
    with pytest.raises(InvalidInputError, match="larger than the 20 bytes"):
        read_table(tmp_path / "a.toml", "the test file", "toml", most=20)
