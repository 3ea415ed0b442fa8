"""What users combine: kinds of logs in every format, and every command that follows a fit.

Each fit and run is done in every format, which must not matter; what follows is done with the files of one
of them, as parameters and decisions are the same.
"""

from __future__ import annotations

import itertools
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import dwell_stream, same_steps

from tcuq import Bank, FitOptions, Monitor, Params, fit
from tcuq.cli import main
from tcuq.io import read_decisions, read_log
from tcuq.log.quantize import quantize_features, quantize_probs
from tcuq_watch.fleet import Fleet

pandas = pytest.importorskip("pandas", reason="pandas is missing: pip install '.[tables]'")
arrow = pytest.importorskip("pyarrow", reason="pyarrow is missing: pip install '.[tables]'")
parquet = pytest.importorskip("pyarrow.parquet")

SCALE, ZERO = 1 / 32, -7
FILES = ("npz", "csv", "jsonl", "parquet")
QUICK = ("--run-length", "50", "--quiet")
FORM = ("--feature-scale", str(SCALE), "--feature-zero-point", str(ZERO))
COMBINATIONS = list(itertools.product((False, True), repeat=5))
STEPS = 240

Columns = dict[str, Any]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes time and has nothing to do with formats of logs."""
    monkeypatch.setattr("tcuq.fitting.FitOptions", partial(FitOptions, explain=False))
    monkeypatch.setattr("tcuq.fitting.alarms.RESAMPLINGS", 2)
    monkeypatch.setattr("tcuq_watch.sources.streams.PACE", 0.0)


def columns(seed: int, raw: bool, features: bool, labels: bool, shifted: bool) -> Columns:
    """Return the columns of a log: int8 or float, with or without features, labels and kinds of shift."""
    rng = np.random.default_rng(seed)
    probs, values, truth, _ = dwell_stream(STEPS, 3, 2, rng)
    truth = np.where(rng.random(STEPS) < 0.1, (truth + 1) % 3, truth)
    kinds = np.array(["clean", "blur", "clean", "fog"])[np.arange(STEPS) // 60 % 4]
    found: Columns = {"probs": quantize_probs(probs) if raw else probs}
    if features:
        held = quantize_features(values, SCALE, ZERO)
        found["features"] = held if raw else (held.astype(np.float64) - ZERO) * SCALE
    if labels:
        found["label"] = truth
    if shifted:
        found["shifted"] = kinds
    return found


def frame_of(given: Columns) -> Any:
    found: Columns = {}
    for key, values in given.items():
        if values.ndim == 2:
            found |= {f"{key[0]}{place}": values[:, place] for place in range(values.shape[1])}
        else:
            found[key] = values
    return pandas.DataFrame(found)


def save(given: Columns, path: Path) -> Path:
    """Write a log as another program would."""
    if path.suffix == ".npz":
        np.savez(path, **given)
    elif path.suffix == ".csv":
        frame_of(given).to_csv(path, index=False)
    elif path.suffix == ".parquet":
        parquet.write_table(arrow.Table.from_pandas(frame_of(given)), path)
    else:
        rows = zip(*(values.tolist() for values in given.values()), strict=True)
        lines = (json.dumps(dict(zip(given, row, strict=True))) for row in rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def fitted(folder: Path, kind: str, log: Columns, clean: Columns | None, form: tuple[str, ...]) -> Params:
    """Fit to files of one format by the command line; leave them, and params.json, in a folder."""
    folder.mkdir()
    args = ["fit", str(save(log, folder / f"dev.{kind}")), "-o", str(folder / "params.json"), *QUICK, *form]
    if clean is not None:
        args += ["--clean", str(save(clean, folder / f"clean.{kind}"))]
    assert main(args) == 0, args
    return Params.load(folder / "params.json")


def fitted_frame(log: Columns, clean: Columns | None, form: tuple[str, ...]) -> Params:
    """Fit to data frames in Python."""
    more: Columns = {"feature_scale": SCALE, "feature_zero_point": ZERO} if form else {}
    other = None if clean is None else frame_of(clean)
    return fit(frame_of(log), clean=other, run_length=50, options=FitOptions(explain=False, **more))


def live(folder: Path, params: Path, lines: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with lines.open(encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert main(["live", str(params), "-", "--no-page", "--folder", str(folder), "--quiet"]) == 0
    with Fleet.open_read(folder) as fleet:
        return np.concatenate([np.asarray(each.steps) for each in fleet.decisions()])


@pytest.mark.parametrize(
    "case", COMBINATIONS, ids=lambda case: "-".join("ifLcs"[k] if on else "_" for k, on in enumerate(case))
)
def test_every_log_in_every_format(
    case: tuple[bool, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, features, labels, with_clean, shifted = case
    log = columns(0, raw, features, labels, shifted)
    clean = columns(1, raw, features, labels, False) if with_clean else None
    field = columns(2, raw, features, labels, shifted)
    form = FORM if raw and features else ()
    params = fitted_frame(log, clean, form)
    expected = Monitor(params).run(frame_of(field))
    for kind in FILES:
        folder = tmp_path / kind
        assert fitted(folder, kind, log, clean, form).fingerprint == params.fingerprint, kind
        source, decisions = save(field, folder / f"field.{kind}"), folder / f"decisions.{kind}"
        files = [str(folder / "params.json"), str(source)]
        assert main(["run", *files, "-o", str(decisions), "--quiet"]) == 0
        assert same_steps(without_low_mass(read_decisions(decisions).steps), without_low_mass(expected)), kind
        assert main(["audit", str(decisions), files[0], "--log", files[1], "--quiet"]) == 0
    kind = FILES[COMBINATIONS.index(case) % len(FILES)]
    folder = tmp_path / kind
    page = folder / "report.html"
    more = ["--params", str(folder / "params.json"), "--log", str(folder / f"field.{kind}"), "--quiet"]
    assert main(["report", str(folder / f"decisions.{kind}"), "-o", str(page), *more]) == 0
    assert ("fog" in page.read_text(encoding="utf-8")) == shifted
    seen = live(folder / "kept", folder / "params.json", tmp_path / "jsonl" / "field.jsonl", monkeypatch)
    assert same_steps(without_low_mass(seen), without_low_mass(expected))
    told = read_log(folder / f"field.{kind}")
    bank = Bank(params, 3).run(np.full(STEPS, 1), told.probs, told.features if params.features else None)
    assert same_steps(bank, expected)
    if with_clean and shifted and not raw:  # packages do not depend on where the parameters came from
        assert main(["export", str(folder / "params.json"), str(folder / "package"), "--quiet"]) == 0
        source_text = (folder / "package" / "monitor.c").read_text(encoding="utf-8")
        assert all(str(params.integers()[name]) in source_text for name in ("classes", "bias", "reference"))


def without_low_mass(steps: Any) -> Any:
    """Decision files keep the mark of a low mass beside signals alone."""
    found = np.array(steps)
    found["low_mass"] = False
    return found


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("raw", [False, True])
def test_a_clean_log_of_the_other_kind(raw: bool, labels: bool, tmp_path: Path) -> None:
    log, clean = columns(0, raw, True, labels, True), columns(1, not raw, True, labels, False)
    params = fitted_frame(log, clean, FORM)
    same = fitted_frame(columns(0, True, True, labels, True), columns(1, True, True, labels, False), FORM)
    assert params.features == 2 and params.feature_scale == same.feature_scale
    for kind in FILES:
        assert fitted(tmp_path / kind, kind, log, clean, FORM).fingerprint == params.fingerprint, kind


@pytest.mark.parametrize("raw", [False, True])
def test_what_cannot_work_says_so_in_one_line(
    raw: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Int8 features beside floats, and nobody says what a unit of int8 is worth."""
    log, clean = columns(0, raw, True, True, True), columns(1, not raw, True, True, False)
    paths = [str(save(each, tmp_path / f"{name}.npz")) for name, each in (("dev", log), ("clean", clean))]
    told = ["--feature-zero-point", str(ZERO)] if raw else []
    target = tmp_path / "params.json"
    assert main(["fit", paths[0], "--clean", paths[1], "-o", str(target), *QUICK, *told]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and "feature_scale" in said.err.replace("-", "_") and not said.out
    assert not target.exists()
