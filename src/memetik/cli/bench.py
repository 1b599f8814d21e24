"""`memetik bench`: solvers, scenes and robots compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import typer

from memetik.cli.bench_report import report
from memetik.cli.output import JSON_OPTION, print_json, print_table

bench = typer.Typer(help="Compare solvers, scenes and robots.", no_args_is_help=True)
peers = typer.Typer(help="Solvers of others: which are there, and how to get the rest.", invoke_without_command=True)
bench.add_typer(peers, name="peers")
bench.command()(report)

STORE = typer.Argument(..., help="A store of results.", show_default=False)


@bench.command()
def run(
    spec: str = typer.Argument(None, help="A TOML file, or a bundled one: quick, suite, soak.", show_default=False),
    robot: list[str] = typer.Option([], "--robot", "-r", help="A robot; robot:group is a part. Repeatable."),
    scenario: list[str] = typer.Option([], "--scenario", "-s", help="A scenario, or a scenario's file. Repeatable."),
    solver: list[str] = typer.Option([], "--solver", "-m", help="A method, a peer, or adapter.py:Class. Repeatable."),
    targets: int = typer.Option(None, "--targets", "-n", help="Targets for each scenario.", show_default="200"),
    timeout: list[float] = typer.Option([], "--timeout", "-t", help="Seconds for a target.", show_default="0.1"),
    trials: int = typer.Option(None, "--trials", "-k", help="How often all is repeated.", show_default="3"),
    store: Path = typer.Option(Path("bench.db"), "--store", help="The file of results; the same command resumes."),
    seeding: list[str] = typer.Option([], help="random, middle, given, straight, another, keep or follow."),
    rejection: bool = typer.Option(None, help="Ask solvers that see no scene again.", show_default="on"),
    reachability: str = typer.Option(None, help="only reachable targets, or check, or skip.", show_default="only"),
    tolerance: str = typer.Option(None, help="Metres and radians: '1e-4 1e-3'.", show_default="1e-5 1e-5"),
    evaluations: int = typer.Option(None, help="Bound memetik's methods by work instead of time."),
    seed: int = typer.Option(None, help="Of the random numbers.", show_default="0"),
    jobs: int = typer.Option(None, "--jobs", "-j", help="Cores used at once.", show_default="1"),
    memory: float = typer.Option(None, help="Gigabytes that a solver may use.", show_default="4"),
    grace: float = typer.Option(None, help="Seconds after the timeout until a solver is ended.", show_default="1"),
    budget: float = typer.Option(None, help="Seconds after which no further target is begun."),
    cluster: str = typer.Option(None, help="Run on a dask cluster: its address, or 'local'."),
    retry: bool = typer.Option(False, "--retry", help="Ask again where a solver hung, crashed or raised."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Run solvers on robots in scenarios. Nothing is asked twice: the same command goes on where it was stopped."""
    from memetik.bench.runner import run as run_benchmark
    from memetik.bench.spec import Spec, load_spec, solver_spec
    from memetik.bench.store import Store
    from memetik.bench.summary import summary

    chosen = (load_spec(spec) if spec else Spec()).updated(
        robots=tuple(robot), scenarios=tuple(scenario), solvers=tuple(solver_spec(text) for text in solver),
        targets=targets, timeouts=tuple(timeout), trials=trials, seedings=tuple(seeding), rejection=rejection,
        reachability=reachability, tolerance=_numbers(tolerance, 2, "--tolerance"), evaluations=evaluations,
        seed=seed, jobs=jobs, memory=memory, grace=grace, budget=budget,
    )  # fmt: skip
    if spec is None and not solver:
        chosen = chosen.updated(solvers=(solver_spec("memetic"),))
    outcome, progress = None, cast(Any, _Bars())
    try:
        with progress:
            outcome = run_benchmark(chosen, store, progress, cluster=cluster, retry=retry)
    except KeyboardInterrupt:
        print("memetik: interrupted.", file=sys.stderr)
    lines = []
    if store.is_file():  # an interrupt may come before there is one
        with Store(store) as opened:
            lines = [x for x in summary(opened) if (x.run in outcome.runs if outcome else _asked_for(x, chosen))]
    if as_json:
        print_json("memetik.bench.run/1", {
            "store": str(store), "stopped": outcome is None, "remarks": outcome.remarks if outcome else [],
            "results": {"before": outcome.before, "new": outcome.new, "left": outcome.left} if outcome else None,
            "runs": [vars(line) for line in lines],
        })  # fmt: skip
    else:
        _print_lines(lines)
        if outcome is None or outcome.left:
            left = f" {outcome.left} results are left." if outcome else ""
            print(f"Stopped.{left} The same command goes on.")
        if lost := sum(line.lost for line in lines):
            print(f"{lost} results are lost: a solver hung, crashed, raised or ate memory. --retry asks again.")
        print(f"Results are in {store}; memetik bench report {store} -o report.html shows them.")
    if outcome is None:
        raise typer.Exit(130)


@bench.command("ls")
def list_runs(store: Path = STORE, as_json: bool = JSON_OPTION) -> None:
    """List the runs of a store."""
    from memetik.bench.store import Store
    from memetik.bench.summary import distinctions, recorded_settings

    with Store(store, must_exist=True) as opened:
        runs = opened.runs()
    settings = distinctions(runs)
    if as_json:
        names = [name for name in runs.dtype.names or () if name != "settings"]
        print_json("memetik.bench.ls/1", {"runs": [
            {**{name: _plain(run[name]) for name in names}, "settings": recorded_settings(run)} for run in runs
        ]})  # fmt: skip
        return
    _print_columns({
        "run": [r.run[:8] for r in runs],
        "started": [r.started[:16].replace("T", " ") for r in runs],
        "robot": [r.robot for r in runs],
        "scenario": [r.scenario for r in runs],
        "solver": [r.label for r in runs],
        ">timeout": [f"{r.timeout:g} s" for r in runs],
        "seeding": [r.seeding for r in runs],
        "~settings": [settings[r.run] for r in runs],
        ">targets": [str(r.targets) for r in runs],
        ">trials": [str(r.trials) for r in runs],
        ">results": [str(r.results) for r in runs],
        ">solved": [str(r.solved) for r in runs],
        "~note": [r.note for r in runs],
    }, same=("robot", "scenario", ">timeout", "seeding", ">targets", ">trials"), keys=1)  # fmt: skip


@bench.command()
def show(
    store: Path = STORE,
    robot: list[str] = typer.Option([], "--robot", "-r", help="Only these robots."),
    scenario: list[str] = typer.Option([], "--scenario", "-s", help="Only these scenarios."),
    solver: list[str] = typer.Option([], "--solver", "-m", help="Only these solvers or labels."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Show what came of the runs: share solved, times, what was claimed wrongly, and the machines."""
    from memetik.bench.store import Store
    from memetik.bench.summary import summary

    with Store(store, must_exist=True) as opened:
        lines = summary(opened, robots=robot or None, scenarios=scenario or None, solvers=solver or None)
        machines, versions = opened.machines(), opened.versions()
    if as_json:
        print_json("memetik.bench.show/1", {
            "runs": [vars(line) for line in lines], "machines": list(machines.values()),
            "versions": list(versions.values()),
        })  # fmt: skip
        return
    _print_lines(lines)
    for facts in machines.values():
        print(f"Machine: {facts['cpu']}, {facts['cores']} cores, {facts['memory'] / 1e9:.0f} GB, {facts['system']}.")


@bench.command()
def diff(
    first: Path = typer.Argument(..., help="A store, or with a second solver the only one.", show_default=False),
    second: Path = typer.Argument(None, help="Another store to compare with.", show_default=False),
    solver: list[str] = typer.Option([], "--solver", "-m", help="Two labels, or runs, of one store; or of both."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Compare two stores run by run, or two solvers of one store, target by target."""
    from memetik.bench.compare import compare

    rows = compare(first, second, solver)
    if as_json:
        print_json("memetik.bench.diff/1", {"comparisons": [vars(row) for row in rows]})
        return
    ones, others = (
        [_with(r.first, r.first_settings) for r in rows],
        [_with(r.second, r.second_settings) for r in rows],
    )
    solvers = {"solver": ones} if ones == others else {"first": ones, "second": others}
    _print_columns({
        "robot": [row.robot for row in rows],
        "scenario": [row.scenario for row in rows],
        **solvers,
        ">timeout": [f"{row.timeout:g} s" for row in rows],
        "seeding": [row.seeding for row in rows],
        ">targets": [str(row.targets) for row in rows],
        ">first solved": [f"{row.first_solved:.1%}" for row in rows],
        ">second solved": [f"{row.second_solved:.1%}" for row in rows],
        ">first score ms": [f"{row.first_score * 1e3:.3g}" for row in rows],
        ">second score ms": [f"{row.second_score * 1e3:.3g}" for row in rows],
        "~verdict": [row.verdict for row in rows],
    }, same=("robot", "scenario", *solvers, ">timeout", "seeding", ">targets"), keys=4 + len(solvers))  # fmt: skip


@bench.command()
def export(
    store: Path = STORE,
    output: Path = typer.Option(..., "--output", "-o", help="A file: .csv, .parquet or .json.", show_default=False),
    as_json: bool = JSON_OPTION,
) -> None:
    """Write all results as a table: one row for each target, solver and trial."""
    from memetik.bench.export import export_results
    from memetik.bench.store import Store

    with Store(store, must_exist=True) as opened:
        count = export_results(opened, output)
    if as_json:
        print_json("memetik.bench.export/1", {"output": str(output), "results": count})
    else:
        print(f"{count} results are in {output}.")


@bench.command()
def merge(
    store: Path = typer.Argument(..., help="The store that takes over what the others have.", show_default=False),
    others: list[Path] = typer.Argument(..., help="Stores, from this machine or others.", show_default=False),
    as_json: bool = JSON_OPTION,
) -> None:
    """Put the results of other stores into one. What it has already stays as it is."""
    from memetik.bench.store import merge_stores

    counts = merge_stores(store, others)
    if as_json:
        print_json("memetik.bench.merge/1", {"store": str(store), "merged": counts})
        return
    for other, count in counts.items():
        print(f"{count} results of {other} are now in {store}.")


@bench.command()
def sample(
    mesh: Path = typer.Argument(..., help="A mesh: PLY, STL, OBJ, GLB, DAE.", show_default=False),
    output: Path = typer.Option(..., "--output", "-o", help="The targets: .pcd or .ply.", show_default=False),
    count: int = typer.Option(1000, "--count", "-n", help="How many targets."),
    facing: str = typer.Option(None, help="Only faces whose normal is near this direction, such as +z or '0 0 1'."),
    angle: float = typer.Option(45.0, help="Degrees that is near."),
    within: str = typer.Option(None, help="Only in this box: 'x0 y0 z0 x1 y1 z1', metres."),
    side: str = typer.Option("out", help="The side to touch: out (along the normals) or in."),
    even: bool = typer.Option(False, help="Spread targets evenly instead of at random."),
    seed: int = typer.Option(0, help="Of the random numbers."),
    robot: str = typer.Option(None, help="Also write a scenario's file beside the targets, for this robot."),
    scale: float = typer.Option(1.0, help="The mesh's unit in metres: 0.001 for millimetres. Targets keep that unit."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Make targets on chosen surfaces of a mesh: points with normals, as REACH keeps them."""
    from memetik.bench.sample import Choice, sample_mesh

    choice = Choice(facing, angle, within, side)
    report = sample_mesh(mesh, output, count, choice, even=even, seed=seed, robot=robot, scale=scale)
    if as_json:
        print_json("memetik.bench.sample/1", report)
        return
    for text in report["remarks"]:
        print(f"memetik: {text}", file=sys.stderr)
    print(f"{report['count']} targets on {report['area']:.4g} m2 of {report['whole_area']:.4g} m2 are in {output}.")
    if report["scenario"]:
        print(f"Run them: memetik bench run --scenario {report['scenario']} --solver memetic")


@bench.command("scenarios")
def list_scenarios(as_json: bool = JSON_OPTION) -> None:
    """List the built-in scenarios."""
    from memetik.bench.scenarios import SCENARIOS

    if as_json:
        facts = [{"name": k, "argument": r.argument, "summary": r.summary} for k, r in SCENARIOS.items()]
        print_json("memetik.bench.scenarios/1", {"scenarios": facts})
        return
    rows = [(f"{name}:{r.argument.upper()}" if r.argument else name, r.summary) for name, r in SCENARIOS.items()]
    print_table(("scenario", "~targets"), rows)


@peers.callback()
def list_peers(context: typer.Context, as_json: bool = JSON_OPTION) -> None:
    """List the solvers of others: which are there, and how to get the rest."""
    if context.invoked_subcommand is not None:
        return
    from memetik.bench.peers.environments import peer_states

    states = peer_states()
    if as_json:
        print_json("memetik.bench.peers/1", {"peers": states})
        return
    print_table(
        ("peer", "state", "version", "~solver"),
        [(s["name"], s["state"], s["version"], s["summary"]) for s in states],
    )
    if any(s["state"] == "missing" for s in states):
        print("Those that are missing: memetik bench peers install NAME, or pip install into this environment.")
    for s in states:
        if s["state"] == "not found":
            print(f"{s['name']}: {s['get']}.")


@peers.command("install")
def install_peer(
    names: list[str] = typer.Argument(..., help="Peers, or 'all'.", show_default=False), as_json: bool = JSON_OPTION
) -> None:
    """Install peers, each in an environment of its own in the cache folder."""
    from memetik.bench.peers.environments import install

    installed = install(names, say=lambda text: print(text, file=sys.stderr))
    if as_json:
        print_json("memetik.bench.peers.install/1", {"peers": installed})
        return
    for entry in installed:
        print(f"{entry['name']} {entry['version']} is in {entry['python']}.")


class _Bars:
    """Progress on a terminal: bars with the time left; remarks on either."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None
        self._search: Any = None

    def __enter__(self) -> _Bars:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                "{task.description}",
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def searching(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            if self._search is None:
                self._search = self._progress.add_task("", total=total)
            self._progress.update(
                self._search, description=f"reachable targets: {what}", completed=done, total=max(total, done)
            )

    def begin(self, total: int) -> None:
        if self._progress is not None:
            if self._search is not None:
                self._progress.remove_task(self._search)
            self._task = self._progress.add_task("solving", total=total)

    def advance(self, label: str) -> None:
        if self._progress is not None:
            self._progress.update(self._task, advance=1, description=f"solving: {label:20.20}")

    def say(self, text: str) -> None:
        if self._progress is not None:
            self._progress.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=sys.stderr)


def _numbers(text: str | None, count: int, what: str) -> tuple[float, ...] | None:
    """Numbers from a flag, None where it is not given."""
    from memetik.errors import InvalidInputError

    if text is None:
        return None
    try:
        numbers = tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        numbers = ()
    if len(numbers) != count:
        raise InvalidInputError(f"{what} takes {count} numbers, not {text!r}.")
    return numbers


def _asked_for(line: Any, spec: Any) -> bool:
    from memetik.bench.scenarios.build import shown_name

    labels = {s.label or s.name for s in spec.solvers} | {s.name for s in spec.solvers}
    names = {label.rpartition(":")[2] for label in labels}
    known = line.label in labels | names or line.label.partition(" (")[0] in labels | names
    return known and line.scenario in map(shown_name, spec.scenarios) and line.timeout in spec.timeouts


def _print_lines(lines: list[Any]) -> None:
    """A table of runs."""
    _print_columns({
        "robot": [x.robot for x in lines],
        "scenario": [x.scenario for x in lines],
        "solver": [x.label for x in lines],
        ">timeout": [f"{x.timeout:g} s" for x in lines],
        "seeding": [x.seeding for x in lines],
        "~settings": [x.settings for x in lines],
        ">targets": [f"{x.targets}" + (f" ({x.unreachable} unreachable)" if x.unreachable else "") for x in lines],
        ">trials": [str(x.trials) for x in lines],
        ">solved": [_figure(x.solved, ".1%") for x in lines],
        ">mean ms": [_figure(1e3 * x.mean, ".3g") for x in lines],
        ">median": [_figure(1e3 * x.median, ".3g") for x in lines],
        ">p99": [_figure(1e3 * x.p99, ".3g") for x in lines],
        ">false": [str(x.false or "") for x in lines],
        ">lost": [str(x.lost or "") for x in lines],
        "~note": [x.note for x in lines],
    }, same=("robot", ">timeout", "seeding", ">targets", ">trials"), keys=6)  # fmt: skip


def _print_columns(columns: dict[str, list[str]], same: tuple[str, ...], keys: int) -> None:
    """A table whose first `keys` columns name its rows. Of the columns `same` those that are the same in all rows go
    into its title, and what is empty in all rows is left out."""
    names, title = list(columns)[:keys], []
    for name in same:
        if len(set(columns.get(name, ()))) == 1:
            title.append(f"{name.lstrip('>')} {columns.pop(name)[0]}")
    kept = {name: cells for name, cells in columns.items() if any(cells) or not cells}
    rows = zip(*kept.values(), strict=True)
    print_table(list(kept), rows, title=", ".join(title) or None, keys=sum(name in kept for name in names))


def _with(label: str, settings: str) -> str:
    return f"{label} ({settings})" if settings else label


def _figure(value: float, form: str) -> str:
    return "" if value != value else format(value, form)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
