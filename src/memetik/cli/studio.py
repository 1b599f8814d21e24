"""`memetik studio`: pose, inspect and teach robots in a browser."""

from __future__ import annotations

import typer

from memetik.cli.output import JSON_OPTION, print_json


def studio(
    robot: str = typer.Argument("panda", help="Bundled name, path of a URDF, xacro or MJCF file, or a saved set-up."),
    scene: str | None = typer.Option(None, help="Scene file (TOML) to begin with."),
    port: int | None = typer.Option(None, help="Port; by default 8080 or the next that is free. 0: any."),
    host: str = typer.Option("127.0.0.1", help="Address to listen at; any but this machine's own needs a token."),
    token: str | None = typer.Option(None, help='What a browser has to know; "auto" makes one.'),
    no_browser: bool = typer.Option(False, "--no-browser", help="Do not open a browser."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Open the studio and print its address. Ctrl-C ends it. Files are read and written below this folder only."""
    import signal
    import sys
    import threading
    import webbrowser

    from memetik.scene.scene import Scene
    from memetik.studio.app import Studio
    from memetik.studio.setup import SetUp

    ended = threading.Event()
    around = None if scene is None else Scene.load(scene)
    shown = SetUp.from_file(robot) if robot.endswith(".json") else robot
    with Studio(shown, around, host=host, port=port, token=token) as opened:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        if as_json:
            print_json("memetik.studio/1", {"address": opened.address, "robot": opened.state.robot.name})
        else:
            print(f"memetik studio: {opened.address}")
        sys.stdout.flush()
        if not no_browser:
            webbrowser.open(opened.address)
        ended.wait()
