"""`memetik doctor FILE`: every defect of a robot description, with its place and remedy."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass

import typer

from memetik.cli.options import argument, arguments_option, json_option, option, search_path_option
from memetik.cli.output import print_json
from memetik.doctor import diagnose
from memetik.robot.findings import Finding

_COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    file: str = argument(..., "URDF, xacro or MJCF file, or the name of a bundled robot.", metavar="FILE")
    srdf: str | None = option(None, "SRDF file; one beside FILE is found automatically.")
    search_path: list[str] = search_path_option()
    arg: list[str] = arguments_option()
    samples: int = option(2000, "Configurations that are checked for contacts; 0 skips that check.", min=0)
    quiet: bool = option(False, "Do not print notes of severity info.", "--quiet", "-q")
    as_json: bool = json_option()


def doctor(options: DoctorOptions) -> None:
    findings = diagnose(options.file, srdf=options.srdf, search_path=options.search_path, samples=options.samples)
    if options.quiet:
        findings = [finding for finding in findings if finding.severity != "info"]
    counts = Counter(finding.severity for finding in findings)
    if options.as_json:
        listed = [finding.as_dict() for finding in findings]
        print_json("memetik.doctor/1", {"file": options.file, "counts": dict(counts), "findings": listed})
    else:
        _print_findings(options.file, findings)
    raise typer.Exit(1 if counts["error"] else 0)


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
