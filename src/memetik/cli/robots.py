"""`memetik robots`: the robots that come with the package, and those of installed packages."""

from __future__ import annotations

from dataclasses import asdict

from memetik.cli.options import OutputOptions
from memetik.cli.output import print_json, print_table
from memetik.robot import bundled
from memetik.robot.installed import installed_robots


def robots(options: OutputOptions) -> None:
    summaries = [bundled.summary(name) for name in bundled.names()]
    others = installed_robots()
    if options.as_json:
        data = {"robots": [asdict(summary) for summary in summaries], "installed": [asdict(robot) for robot in others]}
        print_json("memetik.robots/1", data)
        return
    rows = [(s.name, s.dof, s.joints, s.links, ", ".join(s.tips), ", ".join(s.groups), s.title) for s in summaries]
    print_table(("name", ">dof", ">joints", ">links", "~tips", "~groups", "~robot"), rows)
    if others:
        print("\nOut of installed packages:")
        found = [(r.name, r.package, r.licence, "yes" if r.path else "not downloaded", r.title) for r in others]
        print_table(("name", "package", "~licence", "files", "~robot"), found)
