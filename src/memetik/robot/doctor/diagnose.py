"""The doctor's way through a description: XML, tree, joints, bodies, geometry, SRDF, and the model where it loads."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from memetik.errors import DescriptionError, MemetikError
from memetik.robot.description import Description
from memetik.robot.doctor.bodies import check_bodies
from memetik.robot.doctor.facts import RobotFacts, facts_of_description
from memetik.robot.doctor.finding import Finding, Place, Report
from memetik.robot.doctor.geometry import check_geometry, check_materials, check_references
from memetik.robot.doctor.joints import check_joints
from memetik.robot.doctor.semantics import check_semantics
from memetik.robot.doctor.structure import check_structure
from memetik.robot.doctor.urdf_facts import facts_of_urdf
from memetik.robot.load import load_description, read_bytes
from memetik.robot.meshes import MeshFinder
from memetik.robot.srdf import find_srdf
from memetik.robot.xmltree import Element, parse_xml

DEFAULT_SAMPLES = 2000
"""Random postures in which contacts are looked for: a pair that meets in 1 of 500 escapes them once in 50 times."""


def diagnose(
    source: str | bytes | os.PathLike[str] | Description,
    *,
    srdf: str | os.PathLike[str] | bool | None = None,
    arguments: Mapping[str, Any] | None = None,
    search_path: Sequence[str | os.PathLike[str]] = (),
    samples: int = DEFAULT_SAMPLES,
) -> list[Finding]:
    """Every defect of a description, the gravest first.

    source: path of a URDF, xacro or MJCF file, or URDF text, or the name of a bundled robot, or a Description.
    srdf: path or text of an SRDF; None looks for one beside the file, False takes none.
    samples: random postures in which contacts are looked for; 0 leaves contacts out.

    URDF is read tolerantly, so that all defects of a file that cannot be loaded are found at once.
    """
    report = Report()
    folders = [os.fsdecode(entry) for entry in search_path]
    with _quiet_reader():
        if isinstance(source, Description):
            _examine_description(source, report, samples)
        else:
            _Examination(source, srdf, dict(arguments or {}), folders, samples, report).run()
    return report.sorted()


class _Examination:
    def __init__(
        self, source: Any, srdf: Any, arguments: dict[str, Any], folders: list[str], samples: int, report: Report
    ):
        self.source, self.srdf, self.arguments, self.folders = source, srdf, arguments, folders
        self.samples, self.report = samples, report
        is_text = isinstance(source, bytes) or (isinstance(source, str) and "<" in source)
        self.path = None if is_text else os.fsdecode(source)
        self.file = os.path.basename(self.path) if self.path else ""

    def run(self) -> None:
        if self.path is not None and not os.path.exists(self.path) and self.is_bundled():
            _examine_description(load_description(self.path), self.report, self.samples)
            return
        content = self.content()
        root = self.parse(content, self.file, "malformed-xml") if content is not None else None
        if root is None:
            return
        if root.tag == "robot":
            self.examine_urdf(root, _first_line(content))
        elif root.tag == "mujoco":
            self.examine_model(None)
        else:
            message = f"the file starts with <{root.tag}>; a URDF starts with <robot>, an MJCF with <mujoco>."
            self.report.add("not-a-robot", Place(self.file, root.line, root.tag), message, "Give a robot description.")

    def is_bundled(self) -> bool:
        from memetik.robot import bundled

        return self.path is not None and bundled.known(self.path)

    def content(self) -> bytes | str | None:
        """The text to examine; of a xacro file the expanded one, whose lines are then meant."""
        if self.path is None:
            return self.source
        try:
            if self.path.lower().endswith(".xacro") and os.path.exists(self.path):
                from memetik.robot.xacro import expand_xacro

                text = expand_xacro(self.path, arguments=self.arguments, search_path=self.folders)
                self.file += " (expanded)"
                return text
            if not os.path.exists(self.path):
                raise DescriptionError(f"there is no file {self.path!r}.")
            return read_bytes(self.path)
        except MemetikError as error:
            self.report.add("unreadable", Place(self.file), str(error), "Give a readable file.")
            return None

    def parse(self, content: bytes | str, file: str, code: str) -> Element | None:
        try:
            return parse_xml(content, file or "the text")
        except DescriptionError as error:
            remedy = "Correct the XML; an editor that marks XML errors helps."
            self.report.add(code, Place(file, _line_in(str(error))), str(error), remedy)
            return None

    def examine_urdf(self, root: Element, first_line: int) -> None:
        folder = os.path.dirname(os.path.abspath(self.path)) if self.path else None
        facts = facts_of_urdf(root, self.report, MeshFinder(folder, self.folders), self.file, first_line)
        check_structure(facts, self.report)
        check_joints(facts, self.report)
        _check_matter(facts, self.report)
        check_materials(root, self.report, self.file, first_line)
        check_references(root, facts, self.report, self.file, first_line)
        self.examine_srdf(facts)
        self.examine_model(facts)

    def examine_srdf(self, facts: RobotFacts) -> None:
        given = self.srdf
        if given is False or (given is None and self.path is None):
            return
        file = ""
        if isinstance(given, bytes) or (isinstance(given, str) and "<" in given):
            content: str | bytes = given
        else:
            path = os.fsdecode(given) if given not in (None, True) else find_srdf(self.path or "", facts.name)
            if path is None:
                return
            file = os.path.basename(path)
            try:
                content = read_bytes(path)
            except MemetikError as error:
                self.report.add("srdf-unreadable", Place(file), str(error), "Give a readable file.")
                return
        root = self.parse(content, file, "srdf-unreadable")
        if root is not None and root.tag != "robot":
            message = f"the SRDF starts with <{root.tag}>, not with <robot>."
            self.report.add("srdf-unreadable", Place(file, root.line, root.tag), message, "Give an SRDF.")
        elif root is not None:
            check_semantics(root, facts, self.report, file, _first_line(content))

    def examine_model(self, facts: RobotFacts | None) -> None:
        """Checks that need a loaded robot. What the reader refuses without a finding of ours is one."""
        try:
            description = load_description(
                self.source, srdf=self.srdf, arguments=self.arguments, search_path=self.folders
            )
        except MemetikError as error:
            if not self.report.has_errors():
                self.report.add("unreadable", Place(self.file), str(error), "Correct what the message names.")
            return
        if facts is None:
            facts = facts_of_description(description, self.file)
            check_joints(facts, self.report)
            _check_matter(facts, self.report)
        _check_contacts(description, facts, self.report, self.samples)


def _examine_description(description: Description, report: Report, samples: int) -> None:
    facts = facts_of_description(description, "")
    check_structure(facts, report)
    check_joints(facts, report)
    _check_matter(facts, report)
    if not report.has_errors():
        _check_contacts(description, facts, report, samples)


def _check_matter(facts: RobotFacts, report: Report) -> None:
    sizes = check_geometry(facts, report)
    check_bodies(facts, sizes, report)


def _check_contacts(description: Description, facts: RobotFacts, report: Report, samples: int) -> None:
    if samples > 0:
        from memetik.robot.doctor.contacts import check_contacts

        check_contacts(description, facts, report, samples)


@contextmanager
def _quiet_reader():
    """The doctor says itself, with places, what the reader would warn of."""
    logger = logging.getLogger("memetik.robot")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _first_line(content: bytes | str | None) -> int:
    """Lines before the document, which the parser skips without counting."""
    if not content:
        return 0
    leading = content[: len(content) - len(content.lstrip())]
    return leading.count("\n") if isinstance(leading, str) else leading.count(b"\n")


def _line_in(message: str) -> int | None:
    _, found, rest = message.partition("line ")
    digits = rest.split(",")[0].split(".")[0].strip() if found else ""
    return int(digits) if digits.isdigit() else None
