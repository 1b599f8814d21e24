"""`memetik doctor FILE`: every defect of a robot description, with its place and remedy."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import typer

from memetik.cli.options import argument, arguments_option, json_option, option, search_path_option
from memetik.cli.output import print_json
from memetik.collision.cover_report import FalseAlarms, LinkExcess, false_alarms, link_excess
from memetik.doctor import diagnose
from memetik.robot.findings import Finding
from memetik.robot.robot import load_robot

_COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    file: str = argument(..., "URDF, xacro or MJCF file, or the name of a bundled robot.", metavar="FILE")
    srdf: str | None = option(None, "SRDF file; one beside FILE is found automatically.")
    search_path: list[str] = search_path_option()
    arg: list[str] = arguments_option()
    samples: int = option(2000, "Configurations that are checked for contacts; 0 skips that check.", min=0)
    collision: bool = option(False, "Compare the bodies that the search takes for the links with their exact shapes.")
    quiet: bool = option(False, "Do not print notes of severity info.", "--quiet", "-q")
    as_json: bool = json_option()


def doctor(options: DoctorOptions) -> None:
    findings = diagnose(options.file, srdf=options.srdf, search_path=options.search_path, samples=options.samples)
    if options.quiet:
        findings = [finding for finding in findings if finding.severity != "info"]
    counts = Counter(finding.severity for finding in findings)
    covers = _covers(options) if options.collision and not counts["error"] else None
    if options.as_json:
        listed = [finding.as_dict() for finding in findings]
        told: dict[str, Any] = {"file": options.file, "counts": dict(counts), "findings": listed}
        if covers is not None:
            links, alarms = covers
            told["collision"] = {"links": [asdict(link) for link in links], "false_alarms": asdict(alarms)}
        print_json("memetik.doctor/1", told)
    else:
        _print_findings(options.file, findings)
        if covers is not None:
            _print_covers(*covers)
    raise typer.Exit(1 if counts["error"] else 0)


def _covers(options: DoctorOptions) -> tuple[tuple[LinkExcess, ...], FalseAlarms]:
    robot = load_robot(options.file, srdf=options.srdf, search_path=options.search_path)
    return link_excess(robot), false_alarms(robot, samples=max(options.samples, 100))


def _print_covers(links: tuple[LinkExcess, ...], alarms: FalseAlarms) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=not sys.stdout.isatty())
    width = max((len(link.link) for link in links), default=0)
    console.print(Text("bodies that the search takes for the links, and how far they reach beyond them", style="bold"))
    for own in links:
        shapes = _count(own.shapes, "shape")
        beyond = f"{1e3 * own.mean:5.1f} mm on average, {1e3 * own.largest:5.1f} mm at most"
        console.print(Text(f"  {own.link:{width}}  {shapes:>9}  {own.bodies:5} bodies  {beyond}"))
    shares = f"{alarms.colliding:.1%} collide with themselves; {alarms.undecided:.2%} are left to exact geometry"
    console.print(
        Text(f"of {alarms.samples} random configurations {shares}, {alarms.unsafe:.2%} are wrongly called free.")
    )


def _print_findings(file: str, findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=not sys.stdout.isatty())
    for finding in findings:
        head = Text()
        head.append(f"{finding.severity:8}", style=_COLOURS[finding.severity])
        head.append(f"{finding.code}  ", style="bold")
        head.append(str(finding.place), style="dim")
        console.print(head)
        console.print(Text(f"        {finding.message}"))
        console.print(Text(f"        -> {finding.remedy}", style="green"))
    counts = Counter(finding.severity for finding in findings)
    summary = ", ".join(_count(counts[severity], severity) for severity in _COLOURS if counts[severity])
    console.print(Text(f"{file}: {summary or 'nothing to say against it'}.", style="bold"))


def _count(number: int, severity: str) -> str:
    return f"{number} {severity}{'s' if number != 1 else ''}"
