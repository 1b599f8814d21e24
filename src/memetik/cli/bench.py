"""`memetik bench`: solvers, scenes and robots compared."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from memetik.bench.peers.environments import install, peer_states
from memetik.bench.report.compare import compare
from memetik.bench.report.export import export_results
from memetik.bench.report.summary import RunSummary, distinctions, recorded_settings, summary
from memetik.bench.run.runner import run as run_benchmark
from memetik.bench.run.sample import Choice, sample_mesh
from memetik.bench.run.spec import Spec, load_spec, solver_spec
from memetik.bench.run.store import Store, merge_stores
from memetik.bench.scenarios import SCENARIOS
from memetik.bench.scenarios.build import shown_name
from memetik.cli.bench_report import report
from memetik.cli.bench_tables import print_columns, print_runs, with_settings
from memetik.cli.goal_words import split
from memetik.cli.options import (
    JSON_OPTION,
    add_command,
    argument,
    arguments_option,
    json_option,
    option,
    rng_option,
)
from memetik.cli.output import print_json, print_table
from memetik.errors import InvalidInputError
from memetik.files.named_values import as_number, as_numbers, named_values
from memetik.geometry.formats import MESH_NAMES
from memetik.progress import TerminalRunProgress

bench = typer.Typer(no_args_is_help=True, add_completion=False)
peers = typer.Typer(
    help="List other people's solvers: which are installed, and how to install the others.", invoke_without_command=True
)
bench.add_typer(peers, name="peers")
bench.command()(report)

STORE = typer.Argument(..., help="A store of results.", show_default=False)


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    spec: str | None = argument(None, "A TOML file, or a bundled one: quick, suite, soak.", show_default=False)
    robot: list[str] = option([], "A robot; robot:group is a part. Repeatable.", "--robot", "-r")
    arg: list[str] = arguments_option()
    scenario: list[str] = option([], "A scenario, or a scenario's file. Repeatable.", "--scenario", "-s")
    solver: list[str] = option([], "A method, a peer, or adapter.py:Class. Repeatable.", "--solver", "-m")
    targets: int | None = option(None, "Targets for each scenario.", "--targets", "-n", show_default="200")
    timeout: list[float] = option([], "Seconds for a target.", "--timeout", "-t", show_default="0.1")
    trials: int | None = option(None, "How often everything is repeated.", "--trials", "-k", show_default="3")
    store: Path = option(Path("bench.db"), "The file of results; the same command resumes.", "--store")
    seeding: list[str] = option([], "random, middle, given, straight, another, keep or follow.")
    free: list[str] = option([], "JOINT or JOINT=SHARE that seeds leave free while the others are held. Repeatable.")
    rejection: bool | None = option(
        None, "Run solvers that ignore the scene again while their answers collide.", show_default="on"
    )
    reachability: str | None = option(None, "only reachable targets, or check, or skip.", show_default="only")
    tolerance: str | None = option(None, "Metres and radians: '1e-4 1e-3'.", show_default="1e-5 1e-5")
    evaluations: int | None = option(None, "Bound memetik's methods by work instead of time.")
    seed: int | None = option(None, "Seed of the random numbers.", show_default="0")
    jobs: int | None = option(None, "Cores used at once.", "--jobs", "-j", show_default="1")
    memory: float | None = option(None, "Gigabytes that a solver may use.", show_default="4")
    grace: float | None = option(None, "Seconds after the timeout until a solver is ended.", show_default="1")
    budget: float | None = option(None, "Seconds after which no new target is started.")
    cluster: str | None = option(None, "Run on a dask cluster: its address, or 'local'.")
    tls: Path | None = option(None, "Folder with ca.pem, cert.pem and key.pem of a cluster at tls://host:port.")
    log: bool | None = option(None, "Keep every attempt: time, contacts, verdict; bench attempts shows them.")
    retry: bool = option(False, "Run targets again at which a solver hung, crashed or raised.", "--retry")
    as_json: bool = json_option()

    def chosen(self) -> Spec:
        """The specification with what the options change in it."""
        names = ("targets", "trials", "rejection", "reachability", "evaluations", "seed", "jobs", "memory", "grace",
                 "budget", "log")  # fmt: skip
        chosen = (load_spec(self.spec) if self.spec else Spec()).updated(
            robots=tuple(self.robot), scenarios=tuple(self.scenario), timeouts=tuple(self.timeout),
            seedings=tuple(self.seeding), solvers=tuple(solver_spec(text) for text in self.solver),
            tolerance=_two_numbers(self.tolerance, "--tolerance"), free=_shares(self.free) or None,
            **{name: getattr(self, name) for name in names},
        )  # fmt: skip
        if self.spec is None and not self.solver:
            return chosen.updated(solvers=(solver_spec("memetic"),))
        return chosen


def run(options: BenchOptions) -> None:
    """Run solvers on robots in scenarios. The same command resumes where it was stopped; nothing is run twice."""
    store, chosen, outcome = options.store, options.chosen(), None
    try:
        with TerminalRunProgress() as progress:
            outcome = run_benchmark(
                chosen, store, progress, cluster=options.cluster, tls=options.tls, retry=options.retry
            )
    except KeyboardInterrupt:
        print("memetik: interrupted.", file=sys.stderr)
    lines = []
    if store.is_file():  # an interrupt may come before there is one
        with Store(store) as opened:
            lines = [x for x in summary(opened) if (x.run in outcome.runs if outcome else _asked_for(x, chosen))]
    if options.as_json:
        print_json("memetik.bench.run/1", {
            "store": str(store), "stopped": outcome is None, "remarks": outcome.remarks if outcome else [],
            "results": {"before": outcome.before, "new": outcome.new, "left": outcome.left} if outcome else None,
            "runs": [vars(line) for line in lines],
        })  # fmt: skip
    else:
        print_runs(lines)
        if outcome is None or outcome.left:
            left = f" {outcome.left} results are left." if outcome else ""
            print(f"Stopped.{left} The same command goes on.")
        if lost := sum(line.lost for line in lines):
            print(f"{lost} results are lost: a solver hung, crashed, raised or ate memory. --retry asks again.")
        print(f"Results are in {store}; memetik bench report {store} -o report.html shows them.")
    if outcome is None:
        raise typer.Exit(130)


add_command(bench, "run", run)


@bench.command("ls")
def list_runs(store: Path = STORE, as_json: bool = JSON_OPTION) -> None:
    """List the runs of a store."""
    with Store(store, must_exist=True) as opened:
        runs = opened.runs()
    settings = distinctions(runs)
    if as_json:
        names = [name for name in runs.dtype.names or () if name != "settings"]
        print_json("memetik.bench.ls/1", {"runs": [
            {**{name: run[name] for name in names}, "settings": recorded_settings(run)} for run in runs
        ]})  # fmt: skip
        return
    print_columns({
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
    """Show the results of the runs: share solved, times, wrong claims of success, and the machines."""
    with Store(store, must_exist=True) as opened:
        lines = summary(opened, robots=robot or None, scenarios=scenario or None, solvers=solver or None)
        machines, versions = opened.machines(), opened.versions()
    if as_json:
        print_json("memetik.bench.show/1", {
            "runs": [vars(line) for line in lines], "machines": list(machines.values()),
            "versions": list(versions.values()),
        })  # fmt: skip
        return
    print_runs(lines)
    for facts in machines.values():
        print(f"Machine: {facts['cpu']}, {facts['cores']} cores, {facts['memory'] / 1e9:.0f} GB, {facts['system']}.")


@bench.command()
def diff(
    first: Path = typer.Argument(..., help="A store of results.", show_default=False),
    second: Path = typer.Argument(None, help="Another store to compare with.", show_default=False),
    solver: list[str] = typer.Option([], "--solver", "-m", help="Two labels, or runs, of one store; or of both."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Compare two stores run by run, or two solvers of one store, target by target."""
    rows = compare(first, second, solver)
    if as_json:
        print_json("memetik.bench.diff/1", {"comparisons": [vars(row) for row in rows]})
        return
    ones, others = (
        [with_settings(r.first, r.first_settings) for r in rows],
        [with_settings(r.second, r.second_settings) for r in rows],
    )
    solvers = {"solver": ones} if ones == others else {"first": ones, "second": others}
    print_columns({
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
def attempts(store: Path = STORE, as_json: bool = JSON_OPTION) -> None:
    """List every attempt at every target, of runs with --log."""
    with Store(store, must_exist=True) as opened:
        runs = opened.runs()
        rows = [(run, *own) for run in runs for own in opened.attempts(str(run.run))]
    if as_json:
        print_json("memetik.bench.attempts/1", {"attempts": [
            {"run": str(run.run), "robot": run.robot, "scenario": run.scenario, "solver": run.label, "target": target,
             "trial": trial, "attempt": number, **vars(one)}
            for run, target, trial, number, one in rows
        ]})  # fmt: skip
        return
    if not rows:
        print("No run of this store kept its attempts: memetik bench run ... --log does.")
        return
    print_columns({
        "robot": [run.robot for run, *_ in rows],
        "scenario": [run.scenario for run, *_ in rows],
        "solver": [run.label for run, *_ in rows],
        ">target": [str(target) for _, target, *_ in rows],
        ">trial": [str(trial) for _, _, trial, *_ in rows],
        ">attempt": [str(number) for *_, number, _ in rows],
        ">ms": [f"{one.time * 1e3:.3g}" for *_, one in rows],
        "~verdict": [one.verdict for *_, one in rows],
        "~contacts": [one.contacts for *_, one in rows],
    }, same=("robot", "scenario"), keys=6)  # fmt: skip


@bench.command()
def export(
    store: Path = STORE,
    output: Path = typer.Option(..., "--output", "-o", help="A file: .csv, .parquet or .json.", show_default=False),
    as_json: bool = JSON_OPTION,
) -> None:
    """Write all results as a table: one row for each target, solver and trial."""
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
    """Merge the results of other stores into one. Results that it already has stay as they are."""
    counts = merge_stores(store, others)
    if as_json:
        print_json("memetik.bench.merge/1", {"store": str(store), "merged": counts})
        return
    for other, count in counts.items():
        print(f"{count} results of {other} are now in {store}.")


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    mesh: Path = argument(..., f"A mesh: {MESH_NAMES}.", show_default=False)
    output: Path = option(..., "The targets: .pcd or .ply.", "--output", "-o", show_default=False)
    count: int = option(1000, "How many targets.", "--count", "-n")
    facing: str | None = option(None, "Only faces whose normal is near this direction, such as +z or '0 0 1'.")
    angle: float = option(45.0, "Degrees that count as near.")
    within: str | None = option(None, "Only in this box: 'x0 y0 z0 x1 y1 z1', metres.")
    side: str = option("out", "The side to touch: out (along the normals) or in.")
    even: bool = option(False, "Spread targets evenly instead of at random.")
    seed: int = rng_option()
    robot: str | None = option(None, "Also write a scenario's file beside the targets, for this robot.")
    scale: float = option(1.0, "The mesh's unit in metres: 0.001 for millimetres. Targets keep that unit.")
    as_json: bool = json_option()


def sample(options: SampleOptions) -> None:
    """Make targets on chosen surfaces of a mesh: points with normals, as REACH keeps them."""
    choice = Choice(options.facing, options.angle, options.within, options.side)
    asked = {name: getattr(options, name) for name in ("even", "seed", "robot", "scale")}
    report = sample_mesh(options.mesh, options.output, options.count, choice, **asked)
    if options.as_json:
        print_json("memetik.bench.sample/1", report)
        return
    for text in report["remarks"]:
        print(f"memetik: {text}", file=sys.stderr)
    areas = f"{report['area']:.4g} m2 of {report['whole_area']:.4g} m2"
    print(f"{report['count']} targets on {areas} are in {options.output}.")
    if report["scenario"]:
        print(f"Run them: memetik bench run --scenario {report['scenario']} --solver memetic")


add_command(bench, "sample", sample)


@bench.command("scenarios")
def list_scenarios(as_json: bool = JSON_OPTION) -> None:
    """List the built-in scenarios."""
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
    installed = install(names, say=lambda text: print(text, file=sys.stderr))
    if as_json:
        print_json("memetik.bench.peers.install/1", {"peers": installed})
        return
    for entry in installed:
        print(f"{entry['name']} {entry['version']} is in {entry['python']}.")


def _shares(words: list[str]) -> dict[str, float]:
    """Shares by joint from "joint" and "joint=0.5"."""
    return as_numbers(named_values([word if "=" in word else f"{word}=1" for word in words], "--free"), "--free")


def _two_numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    """Two numbers from an option, None where it is not given."""
    if text is None:
        return None
    words = split(text)
    if len(words) != 2:
        raise InvalidInputError(f"{option} takes 2 numbers, not {text!r}.")
    return tuple(as_number(word, option) for word in words)


def _asked_for(line: RunSummary, spec: Spec) -> bool:
    labels = {s.label or s.name for s in spec.solvers} | {s.name for s in spec.solvers}
    names = {label.rpartition(":")[2] for label in labels}
    known = line.label in labels | names or line.label.partition(" (")[0] in labels | names
    return known and line.scenario in map(shown_name, spec.scenarios) and line.timeout in spec.timeouts
