"""The doctor's way through a description: XML, tree, joints, bodies, geometry, SRDF, and the model where it loads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memetik.doctor.bodies import check_bodies
from memetik.doctor.geometry import check_geometry, check_materials, check_references
from memetik.doctor.joints import check_joints
from memetik.doctor.loops import check_loops
from memetik.doctor.semantics import check_semantics
from memetik.doctor.subject import Subject
from memetik.errors import DescriptionError, MemetikError
from memetik.files.paths import expanded
from memetik.files.xml_tree import Element, parse_xml
from memetik.robot import bundled
from memetik.robot.description import Description, Joint, Semantics
from memetik.robot.findings import Finding, Place, Report
from memetik.robot.load import load_description, read_expanded, read_expanded_srdf
from memetik.robot.readers.mesh_paths import MeshFinder
from memetik.robot.readers.srdf import find_srdf, read_srdf_element
from memetik.robot.readers.urdf import read_urdf_tolerantly
from memetik.robot.source_words import split_arguments
from memetik.robot.validate import structural_defects

DEFAULT_SAMPLES = 2000
"""Random configurations to look for contacts in: a pair that meets in 1 of 500 escapes them once in 50 times."""


def diagnose(
    source: str | bytes | os.PathLike[str] | Description,
    *,
    srdf: str | bytes | os.PathLike[str] | bool | None = None,
    arguments: Mapping[str, Any] | None = None,
    search_path: Sequence[str | os.PathLike[str]] = (),
    samples: int = DEFAULT_SAMPLES,
) -> list[Finding]:
    """Every defect of a description, the gravest first.

    source: path of a URDF, xacro, MJCF or SDF file, or URDF text, or the name of a bundled robot, or a Description.
    srdf: path or text of an SRDF; None looks for one beside the file, False takes none.
    samples: random configurations in which contacts are looked for; 0 leaves contacts out.

    URDF is read tolerantly, so that all defects of a file that cannot be loaded are found at once.
    """
    report = Report()
    folders = [expanded(entry) for entry in search_path]
    if isinstance(source, Description):
        _examine_description(source, report, samples)
    else:
        _Examination(source, srdf, dict(arguments or {}), folders, samples, report).run()
    return report.sorted()


class _Examination:
    def __init__(
        self,
        source: str | bytes | os.PathLike[str],
        srdf: str | bytes | os.PathLike[str] | bool | None,
        arguments: dict[str, Any],
        folders: list[str],
        samples: int,
        report: Report,
    ):
        self.source, self.srdf, self.arguments, self.folders = source, srdf, arguments, folders
        self.samples, self.report = samples, report
        self.text, self.path = None, None
        if isinstance(source, bytes) or (isinstance(source, str) and "<" in source):
            self.text = source
        else:
            source, stated = split_arguments(os.fsdecode(source))
            self.arguments = {**stated, **self.arguments}
            self.path = expanded(source)
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
            self.examine_urdf(root)
        elif root.tag in ("mujoco", "sdf"):
            self.examine_strictly()
        else:
            roots = "a URDF starts with <robot>, an MJCF with <mujoco>, an SDF with <sdf>"
            message = f"the file starts with <{root.tag}>; {roots}."
            self.report.add("not-a-robot", Place(self.file, root.line, root.tag), message, "Give a robot description.")

    def is_bundled(self) -> bool:
        return self.path is not None and bundled.known(self.path)

    def content(self) -> bytes | str | None:
        """The text to examine; of a xacro file the expanded one, whose lines are then meant."""
        if self.path is None:
            return self.text
        try:
            if not os.path.exists(self.path):
                raise DescriptionError(f"there is no file {self.path!r}.")
            content, notes = read_expanded(self.path, self.arguments, self.folders)
            self.report.add_notes(notes)
            self.file += " (expanded)" if isinstance(content, str) else ""
            return content
        except MemetikError as error:
            self.report.add("unreadable", Place(self.file), str(error), "Give a readable file.")
            return None

    def parse(self, content: bytes | str, file: str, code: str) -> Element | None:
        try:
            return parse_xml(content, file or "the text")
        except DescriptionError as error:
            remedy = "Correct the XML; an editor that marks XML errors helps."
            self.report.add(code, Place(file, error.line), str(error), remedy)
            return None

    def examine_urdf(self, root: Element) -> None:
        folder = os.path.dirname(os.path.abspath(self.path)) if self.path else None
        try:
            reading = read_urdf_tolerantly(root, MeshFinder(folder, self.folders), self.report, self.file)
        except DescriptionError as error:
            self.report.add(error.code, Place(self.file, error.line), str(error), "Correct what the message names.")
            return
        subject = Subject(reading.description, self.report, self.file, reading)
        sound = _check_structure(subject) and not reading.refused
        _check_parts(subject)
        check_materials(subject, root)
        check_references(subject, root)
        self.report.add_notes(reading.description.notes)
        semantics = self.examine_srdf(subject)
        if sound:
            _check_contacts(subject, replace(reading.description, semantics=semantics), self.samples)

    def examine_srdf(self, subject: Subject) -> Semantics:
        """What an SRDF says as far as it is understood; nothing where there is none."""
        content, file = self.srdf_content(subject.description.name)
        root = self.parse(content, file, "srdf-unreadable") if content is not None else None
        if root is None:
            return Semantics()
        if root.tag == "robot":
            check_semantics(subject, root, file)
        try:
            return read_srdf_element(root, subject.description, file)[0]
        except DescriptionError as error:
            if root.tag != "robot" or not self.report.has_errors():
                place = Place(file, error.line or root.line, root.tag)
                self.report.add("srdf-unreadable", place, str(error), "Correct what the message names.")
            return Semantics()

    def srdf_content(self, robot: str) -> tuple[bytes | str | None, str]:
        """The text of the SRDF, None where there is none, and the name of its file."""
        given = self.srdf
        if isinstance(given, bytes) or (isinstance(given, str) and "<" in given):
            return given, ""
        if given is None or isinstance(given, bool):
            path = find_srdf(self.path, robot, self.folders) if self.path is not None and given is not False else None
        else:
            path = expanded(given)
        if path is None:
            if given is True:
                message = f"no SRDF was found beside {self.file or 'the text'!r}."
                self.report.add("srdf-unreadable", Place(self.file), message, "Give its path.")
            return None, ""
        try:
            content, _ = read_expanded_srdf(path, robot, self.folders)
            return content, os.path.basename(path)
        except MemetikError as error:
            self.report.add("srdf-unreadable", Place(os.path.basename(path)), str(error), "Give a readable file.")
            return None, ""

    def examine_strictly(self) -> None:
        """MJCF and SDF, whose readers stop at the first error."""
        try:
            description = load_description(self.source, srdf=self.srdf, search_path=self.folders)
        except MemetikError as error:
            self.report.add("unreadable", Place(self.file), str(error), "Correct what the message names.")
            return
        subject = Subject(description, self.report, self.file, form="MJCF")
        _check_parts(subject)
        self.report.add_notes(description.notes)
        check_loops(subject, description)
        _check_contacts(subject, description, self.samples)


def _examine_description(description: Description, report: Report, samples: int) -> None:
    subject = Subject(description, report)
    sound = _check_structure(subject)
    _check_parts(subject)
    report.add_notes(description.notes)
    if sound:
        check_loops(subject, description)
        _check_contacts(subject, description, samples)


def _check_structure(subject: Subject) -> bool:
    """Report what keeps the description from being a robot; whether there is nothing of that kind."""
    defects = structural_defects(subject.description)
    for defect in defects:
        # What is missing in a text was found when that was read.
        if subject.reading is None or defect.code not in ("missing-name", "missing-element"):
            remedy = f"{defect.remedy[:1].upper()}{defect.remedy[1:]}" + ("" if defect.remedy.endswith("?") else ".")
            part = subject.description if defect.part is None else defect.part
            if isinstance(part, Joint) and defect.code in ("inverted-limits", "negative-limit"):
                part = subject.limits(part) or part
            subject.add(defect.code, part, f"{defect.element} {defect.problem}.", remedy)
    return not defects


def _check_parts(subject: Subject) -> None:
    check_joints(subject)
    check_bodies(subject, check_geometry(subject))


def _check_contacts(subject: Subject, description: Description, samples: int) -> None:
    if samples > 0:
        from memetik.doctor.contacts import check_contacts

        check_contacts(subject, description, samples)
