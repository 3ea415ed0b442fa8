# SPDX-License-Identifier: MIT
"""Everything that writes files, as small work that can be run again and again: commands and functions."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from device_graphs import graph_of
from places import ROOT
from streams import dwell_stream, int8_stream
from tiny_models import bars

from tcuq import Log, Monitor, Params
from tcuq.base.atomic_folders import write_folder
from tcuq.cli import main
from tcuq.cli.edge import run_command
from tcuq.io import Decisions, write_decisions, write_log

OLD = Params(classes=4, level=0.3, warmup=4)
NEW = Params(classes=4, level=0.2, warmup=4)
FORMS = ("c", "arduino", "platformio", "zephyr", "espidf", "cmake", "micropython", "rust")


@dataclass
class Case:
    """Some work that writes.

    Parameters
    ----------
    name : str
    prepare : callable
        Takes the place, and fills its folder ``in``; and ``out``, with what is there before.
    work : callable
        Takes the place, writes into ``out``, returns an exit status.
    parts : tuple of str
        Outputs that are whole by themselves, in the order in which they are written; usually all is one.
    command : bool
        Whether errors are printed as one line, or raised.
    slow : bool
        Computing takes long: a next run goes on from the first operation.
    tools : bool
        Whether it needs compilers for boards.
    """

    name: str
    prepare: Callable[[Path], None]
    work: Callable[[Path], int]
    parts: tuple[str, ...] = ("",)
    command: bool = True
    slow: bool = False
    tools: bool = False


def _log(classes: int = 4, steps: int = 1200) -> Log:
    rng = np.random.default_rng(3)
    probs, features, truth, marks = dwell_stream(steps, classes, 3, rng, shifted=True)
    return Log(probs, features=features, labels=truth, shifted=marks)


def _base(place: Path, **old: bytes) -> None:
    for name in ("in", "out"):
        (place / name).mkdir(parents=True)
    NEW.save(place / "in" / "params.json")
    write_log(place / "in" / "log.npz", Log(int8_stream(60, 4, 0)[0]))
    for name, data in old.items():
        (place / "out" / name.replace("_", ".")).write_bytes(data)


def _dev(place: Path, **old: bytes) -> None:
    _base(place, **old)
    write_log(place / "in" / "dev.npz", _log())


def _argv(place: Path, text: str) -> list[str]:
    return [each.replace("IN/", f"{place}/in/").replace("OUT/", f"{place}/out/") for each in text.split()]


def command(name: str, text: str, prepare: Callable[[Path], None], **more: Any) -> Case:
    """Return a command line as a case; IN and OUT are its folders."""
    return Case(name, prepare, lambda place: main(_argv(place, text)), **more)


def function(name: str, work: Callable[[Path], Any], prepare: Callable[[Path], None]) -> Case:
    """Return a function of the library as a case."""

    def done(place: Path) -> int:
        work(place)
        return 0

    return Case(name, prepare, done, command=False)


def _decided(place: Path) -> None:
    _base(place, d_html=b"old")
    assert main(_argv(place, "run IN/params.json IN/log.npz -o IN/d.csv --quiet")) == 0


def _unsealed(place: Path) -> None:
    _base(place)
    content = json.loads((place / "in" / "params.json").read_text())
    content["budget"] = 0.125
    (place / "out" / "params.json").write_text(json.dumps(content))


def _exported(form: str, place: Path) -> None:
    _base(place)
    OLD.save(place / "in" / "old.json")
    target = f"OUT/tcuq_kws --name kws --form {form} --quiet"
    assert main(_argv(place, f"export IN/old.json {target}")) == 0
    (place / "out" / "tcuq_kws" / "mine.txt").write_text("mine")


def _model(place: Path) -> None:
    _base(place, log_npz=b"old")
    x, y = bars(500, noise=0.85)
    np.savez(place / "in" / "data.npz", x=x, y=y)
    (place / "in" / "own_net.py").write_text("from tiny_models import bar_net as net\n")


@contextlib.contextmanager
def _importing(folder: Path) -> Any:
    """Let the models of a folder be found, and no compiled files of them be written."""
    before = sys.dont_write_bytecode, list(sys.path)
    sys.dont_write_bytecode, sys.path = True, [str(folder), *sys.path]
    try:
        yield
    finally:
        sys.dont_write_bytecode, sys.path = before


def _with_model(text: str, place: Path) -> int:
    with _importing(place / "in"):
        return main(_argv(place, text))


class _Once:
    """Functions of a module that compute once; what they returned is kept for every later run.

    Work that looks at its folder, then computes for seconds, then writes, is tried in this way.
    """

    def __init__(self, module: str, *names: str) -> None:
        self._module, self._kept = module, dict.fromkeys(names)

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        module = import_module(self._module)
        true = {name: getattr(module, name) for name in self._kept}

        def once(name: str) -> Any:
            def call(*args: Any, **options: Any) -> Any:
                if self._kept[name] is None:
                    self._kept[name] = true[name](*args, **options)
                return self._kept[name]

            return call

        for name in true:
            setattr(module, name, once(name))
        try:
            yield
        finally:
            for name, call in true.items():
                setattr(module, name, call)


def _start(once: _Once, place: Path) -> int:
    with once():
        return _with_model("start own_net:net IN/data.npz -o OUT/monitor --force --quiet", place)


def _started(once: _Once, place: Path) -> None:
    _model(place)
    assert _start(once, place) == 0
    shutil.rmtree(place / "out" / "monitor")
    (place / "out" / "log.npz").unlink()
    (place / "out" / "monitor").mkdir()
    (place / "out" / "monitor" / "report.html").write_text("old")
    (place / "out" / "monitor" / "mine.txt").write_text("mine")


def _demonstrated(once: _Once, place: Path) -> None:
    _base(place)
    assert _demo(once, place) == 0
    shutil.rmtree(place / "out" / "demo")
    (place / "out" / "demo").mkdir()
    for name in ("params.json", "report.html", "mine.txt"):
        (place / "out" / "demo" / name).write_text("old")


def _demo(once: _Once, place: Path) -> int:
    demo: Any = import_module("tcuq.demo.main")  # the package has a function of that name
    steps, demo.STEPS = demo.STEPS, 600  # as many as a fit needs
    try:
        with once():
            return main(_argv(place, "demo --out OUT/demo --quiet"))
    finally:
        demo.STEPS = steps


def _graph(place: Path, **old: bytes) -> None:
    from tcuq_device.graph.storage import save_graph

    _base(place, **old)
    save_graph(place / "in" / "net.npz", graph_of())


def _emitted(place: Path) -> None:
    from device_emitted import fitting

    _graph(place)
    fitting(graph_of()).save(place / "in" / "fitting.json")
    (place / "out" / "fw").mkdir()
    (place / "out" / "fw" / "mine.txt").write_text("mine")


def _benched(place: Path) -> int:
    """Write figures that are given: measuring them takes a minute."""
    from tcuq.base.changes import keep

    try:
        keep(place / "out" / "bench.json", {"a": 1}, True, lambda line: None)
    except OSError as error:
        from tcuq.cli.edge import complain

        return complain("tcuq", f"{error.filename}: {error.strerror}")
    return 0


def _pages(place: Path) -> None:
    """Make a fleet that has decided."""
    from tcuq_watch.fleet import Fleet

    _base(place, page_html=b"old", ask_csv=b"old")
    _events(place)
    fleet = f"fleet run IN/params.json IN/events.jsonl --folder {place}/in/fleet --labels-per-day 5 --quiet"
    assert main(_argv(place, fleet)) == 0
    Fleet.open_read(place / "in" / "fleet").close()


def _events(place: Path, steps: int = 8) -> None:
    probs, _ = int8_stream(4 * steps, 4, 0)
    rows = []
    for seq in range(steps):
        for device in range(3):
            when = 20_000 * 86_400 + 60.0 * seq + device
            some = ((probs[3 * seq + device].astype(int) + 128) / 256).tolist()
            rows.append({"device": f"d{device}", "boot": 0, "seq": seq, "time": when, "probs": some})
    (place / "in" / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _merged(place: Path) -> None:
    from live_runs import PARAMS, json_lines, steps_of

    from tcuq_watch.live.inbox import Chunk
    from tcuq_watch.live.session import Session

    _base(place, field_npz=b"old")
    PARAMS.save(place / "in" / "live.json")
    session = Session(PARAMS, place / "in" / "live", "-")
    session.take([Chunk(json_lines(steps_of(30)))])
    session.close()


def _drawn(place: Path) -> None:
    Monitor(NEW).run(int8_stream(40, 4, 0)[0]).plot().save(place / "out" / "steps.svg")


def _steps() -> Decisions:
    return Decisions(Monitor(NEW).run(int8_stream(40, 4, 0)[0]), fingerprint=NEW.fingerprint)


def _written(kind: str, place: Path) -> None:
    write_decisions(place / "out" / f"d.{kind}", _steps())


def _old_decisions(kind: str, place: Path) -> None:
    _base(place)
    (place / "out" / f"d.{kind}").write_bytes(b"old")


def all_cases() -> list[Case]:
    """Return every command and function that writes, those of a fleet and of a live session apart."""
    old = functools.partial(_base, d_csv=b"old", s_bin=b"old")
    begun = _Once(
        "tcuq.recording.start.run",
        "open_session",
        "_made_stream",
        "_fitted",
        "_findings",
        "render",
        "sources",
    )
    shown = _Once("tcuq.demo.main", "load", "train", "fit", "watch", "audit", "render", "figures")
    found = [
        command(
            "run",
            "run IN/params.json IN/log.npz -o OUT/d.csv --quiet",
            functools.partial(_base, d_csv=b"old"),
        ),
        command("run, new file", "run IN/params.json IN/log.npz -o OUT/d.npz --quiet", _base),
        command(
            "run with a state",
            "run IN/params.json IN/log.npz -o OUT/d.csv --state-out OUT/s.bin --quiet",
            old,
            parts=("d.csv", "s.bin"),
        ),
        command(
            "fit", "fit IN/dev.npz -o OUT/p.json --quiet", functools.partial(_dev, p_json=b"old"), slow=True
        ),
        command("inspect --seal", "inspect OUT/params.json --seal --quiet", _unsealed),
        command(
            "report",
            "report IN/d.csv -o OUT/d.html --params IN/params.json --log IN/log.npz --quiet",
            _decided,
        ),
        command("live --merge", "live IN/live.json IN/live --merge OUT/field.npz --quiet", _merged),
        command("fleet page", "fleet page IN/fleet -o OUT/page.html --quiet", _pages),
        command("fleet labels", "fleet labels IN/fleet -o OUT/ask.csv --quiet", _pages),
        command(
            "device import",
            f"device import {ROOT}/device/tests/data/net.tflite -o OUT/net.npz --quiet",
            functools.partial(_base, net_npz=b"old"),
        ),
        Case("device bench", functools.partial(_base, bench_json=b"old"), _benched),
        command(
            "device build",
            "device build IN/net.npz --board netduinoplus2 --out OUT/a.elf --quiet",
            functools.partial(_graph, a_elf=b"old"),
            slow=True,
            tools=True,
        ),
        command(
            "device emit",
            "device emit IN/net.npz IN/fitting.json -o OUT/fw --board netduinoplus2 --force --quiet",
            _emitted,
            slow=True,
            tools=True,
        ),
        Case("demo", functools.partial(_demonstrated, shown), functools.partial(_demo, shown), slow=True),
        Case(
            "record",
            _model,
            functools.partial(_with_model, "record own_net:net IN/data.npz -o OUT/log.npz --quiet"),
            slow=True,
        ),
        Case("start", functools.partial(_started, begun), functools.partial(_start, begun), slow=True),
        function(
            "Params.save",
            lambda place: NEW.save(place / "out" / "p.json"),
            functools.partial(_base, p_json=b"old"),
        ),
        function(
            "Monitor.save",
            lambda place: Monitor(NEW).save(place / "out" / "s.bin"),
            functools.partial(_base, s_bin=b"old"),
        ),
        function(
            "write_log",
            lambda place: write_log(place / "out" / "log.npz", Log(int8_stream(60, 4, 0)[0])),
            functools.partial(_base, log_npz=b"old"),
        ),
        function("figure.save", _drawn, functools.partial(_base, steps_svg=b"old")),
    ]
    for form in FORMS:
        text = f"export IN/params.json OUT/tcuq_kws --name kws --form {form} --force --quiet"
        found.append(command(f"export, {form}", text, functools.partial(_exported, form), slow=True))
    for kind in ("csv", "jsonl", "npz", *(("parquet", "arrow") if find_spec("pyarrow") else ())):
        found.append(
            function(
                f"write_decisions, {kind}",
                functools.partial(_written, kind),
                functools.partial(_old_decisions, kind),
            )
        )
    return found


TREE = {"README.md": "old", "src/a.c": "old a", "src/b.c": "old b"}
NEW_TREE = {"README.md": "new", "src/a.c": "new a", "src/b.c": "new b", "src/deep/c.c": "new c"}
MINE = {"mine.txt": "mine", "src/mine.c": "mine", "notes/deep/x": "mine"}


def _tree(place: Path) -> None:
    for name in ("in", "out"):
        (place / name).mkdir(parents=True)
    for file, text in (TREE | MINE).items():
        (place / "out" / "c" / file).parent.mkdir(parents=True, exist_ok=True)
        (place / "out" / "c" / file).write_text(text)
    (place / "out" / "c" / "link").symlink_to("../elsewhere")


def folder_cases() -> list[Case]:
    """Return a folder that is replaced whole, and one that is new."""

    def write(place: Path) -> None:
        write_folder(place / "out" / "c", NEW_TREE)

    return [function("a folder", write, _tree), function("a new folder", write, _base)]


def as_command(work: Callable[[], None]) -> int:
    """Run a function as a command is run: errors are one line."""

    def done(args: object) -> int:
        work()
        return 0

    class One:
        def parse_args(self, argv: object) -> argparse.Namespace:
            return argparse.Namespace(command=done, quiet=True)

    made: Any = One
    return run_command("tcuq", made, [])


@dataclass
class Kept:
    """Work that goes on with what a folder holds.

    Parameters
    ----------
    name : str
    prepare, work : callable
        As for `Case`; the work is done again after a fault, from the same inputs.
    look : callable
        Takes the place, returns what the folder says; raises where it is damaged.
    """

    name: str
    prepare: Callable[[Path], None]
    work: Callable[[Path], int]
    look: Callable[[Path], Any]


def _live_begun(place: Path) -> None:
    from live_runs import PARAMS, json_lines, steps_of

    from tcuq_watch.live.inbox import Chunk
    from tcuq_watch.live.session import Session

    for name in ("in", "out"):
        (place / name).mkdir(parents=True)
    session = Session(PARAMS, place / "out" / "live", "-")
    session.take([Chunk(json_lines(steps_of(40)[:8], boot=3, first=5))])
    session.close()


def _live(place: Path) -> int:
    from live_runs import PARAMS, json_lines, steps_of

    from tcuq_watch.live.inbox import Chunk
    from tcuq_watch.live.session import Session

    def work() -> None:
        session = Session(PARAMS, place / "out" / "live", "-", save_every=15)
        # All of it, as a device sends again what nobody has confirmed; number 0 would mean a new boot.
        for first in range(0, 40, 10):
            some = json_lines(steps_of(40)[first : first + 10], boot=3, first=5 + first)
            session.take([Chunk(some)])
            session.tick()
        with contextlib.suppress(ValueError):  # told on the page
            session.mark(3, 1)
        session.close()

    return as_command(work)


def _live_look(place: Path) -> Any:
    from live_runs import decided_alike, received, steps_of

    from tcuq_watch.live.marks import read_marks

    folder = place / "out" / "live"
    alike = decided_alike(folder, received(folder))
    steps = received(folder)
    assert np.array_equal(steps, steps_of(40)[: len(steps)])
    return len(steps), alike, read_marks(folder / "marks.jsonl")


def _fleet_begun(place: Path) -> None:
    _base(place)
    _events(place)
    lines = (place / "in" / "events.jsonl").read_text().splitlines(keepends=True)
    (place / "in" / "events.jsonl").write_text("".join(lines[:9]))
    assert _fleet(place) == 0
    (place / "in" / "events.jsonl").write_text("".join(lines))


def _fleet(place: Path) -> int:
    return main(
        _argv(
            place,
            "fleet run IN/params.json IN/events.jsonl --folder OUT/fleet --out OUT/dec --out-format jsonl "
            "--batch 8 --labels-per-day 5 --quiet",
        )
    )


def _fleet_look(place: Path) -> Any:
    from fleet_runs import outcome

    files = sorted((place / "out" / "dec").glob("*.jsonl"))
    rows = [line for file in files for line in file.read_text().splitlines()]
    return outcome(place / "out" / "fleet"), rows


def kept_cases() -> list[Kept]:
    """Return what goes on where it was: a live session, and a fleet."""
    return [
        Kept("live", _live_begun, _live, _live_look),
        Kept("fleet run", _fleet_begun, _fleet, _fleet_look),
        Kept("live, new", lambda place: (place / "out").mkdir(parents=True), _live, _live_look),
    ]
