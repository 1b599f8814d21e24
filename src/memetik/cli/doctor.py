"""`memetik doctor FILE`: every defect of a robot description, with its place and remedy."""

from __future__ import annotations

from collections import Counter

import typer

from memetik.cli.output import JSON_OPTION, print_json

_COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def doctor(
    file: str = typer.Argument(help="URDF, xacro or MJCF file, or the name of a bundled robot.", metavar="FILE"),
    srdf: str | None = typer.Option(None, help="SRDF file; one beside FILE is found by itself."),
    search_path: list[str] = typer.Option([], help="Folder that holds packages or meshes; repeatable."),
    samples: int = typer.Option(2000, min=0, help="Postures in which contacts are looked for; 0 leaves that out."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Leave out infos."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Check a robot description. Exit code 1 if it has errors."""
    from memetik.robot.doctor import diagnose

    findings = diagnose(file, srdf=srdf, search_path=search_path, samples=samples)
    if quiet:
        findings = [finding for finding in findings if finding.severity != "info"]
    counts = Counter(finding.severity for finding in findings)
    if as_json:
        listed = [finding.as_dict() for finding in findings]
        print_json("memetik.doctor/1", {"file": file, "counts": dict(counts), "findings": listed})
    else:
        _print_findings(file, findings)
    raise typer.Exit(1 if counts["error"] else 0)


def _print_findings(file: str, findings: list) -> None:
    import sys

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
