"""Tables in memory as input of a fit and of a run, and steps as tables."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from refusals import refused

import tcuq
from tcuq import Monitor, Params
from tcuq.io import InputNote

COUNT = 400


def make(kind: str, columns: dict[str, Any]) -> Any:
    """Return a table of one kind, or skip where its package is missing."""
    if kind == "pandas":
        return pytest.importorskip("pandas", reason="pip install pandas").DataFrame(columns)
    if kind == "polars":
        return pytest.importorskip("polars", reason="pip install polars").DataFrame(columns)
    arrow = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    table = arrow.table({name: arrow.array(values) for name, values in columns.items()})
    if kind == "batch":
        return table.combine_chunks().to_batches()[0]
    return {"arrow": table, "reader": table.to_reader(), "capsule": Capsule(table)}[kind]


class Capsule:
    """What is known of it is that Arrow can read it."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def stream() -> tcuq.Log:
    rng = np.random.default_rng(3)
    truth = np.repeat(rng.integers(0, 3, COUNT // 8), 8)
    weight = np.exp(rng.normal(0, 1, (COUNT, 3)) + 2.5 * np.eye(3)[truth])
    return tcuq.Log(
        (weight / weight.sum(1, keepdims=True)).astype(np.float32),
        rng.normal(size=(COUNT, 2)).astype(np.float32),
        truth,
        np.repeat([5, 6], COUNT // 2),
    )


LOG = stream()


def columns(lists: bool = False) -> dict[str, Any]:
    assert LOG.features is not None
    if lists:
        found: dict[str, Any] = {"probs": LOG.probs.tolist(), "features": LOG.features.tolist()}
    else:
        found = {f"p{i}": LOG.probs[:, i] for i in range(3)} | {f"f{i}": LOG.features[:, i] for i in (0, 1)}
    found |= {"label": LOG.labels, "segment": LOG.segments}
    return {"time": np.arange(COUNT) * 0.5, **found, "device": ["a", "b"] * (COUNT // 2)}


KINDS = ["pandas", "polars", "arrow", "batch", "reader", "capsule"]


@pytest.mark.parametrize("lists", [False, True], ids=["columns", "lists"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_the_same_log(kind: str, lists: bool) -> None:
    log = tcuq.Log.from_frame(make(kind, columns(lists)))
    for name in ("probs", "features", "labels", "segments"):
        np.testing.assert_allclose(getattr(log, name), getattr(LOG, name), rtol=1e-6)
    assert log.notes == ("columns 'time', 'device' are not used",)


@pytest.fixture(scope="module")
def params() -> tcuq.Params:
    return tcuq.fit(LOG, run_length=50, options=tcuq.FitOptions(explain=False, drop_unused=False))


@pytest.mark.parametrize("kind", KINDS)
def test_fit_and_run_take_tables(kind: str, params: tcuq.Params) -> None:
    fitted = tcuq.fit(
        make(kind, columns()), run_length=50, options=tcuq.FitOptions(explain=False, drop_unused=False)
    )
    assert fitted.replace(notes={}) == params.replace(notes={})
    with pytest.warns(InputNote, match="'time', 'device' are not used"):
        steps = tcuq.Monitor(params).run(make(kind, columns()))
    expected = tcuq.monitor.monitor.run_over(tcuq.Monitor(params), LOG)
    for name in tcuq.STEP_DTYPE.names or ():
        assert np.array_equal(steps[name], expected[name], equal_nan=True), name


def test_a_run_over_a_log_forgets_at_segments(params: tcuq.Params) -> None:
    monitor = tcuq.Monitor(params)
    half = COUNT // 2
    assert LOG.features is not None
    first = monitor.run(LOG.probs[:half], LOG.features[:half])
    monitor.reset()
    second = monitor.run(LOG.probs[half:], LOG.features[half:])
    steps, signals = tcuq.Monitor(params).run(LOG, signals=True)
    assert np.array_equal(steps["risk"], np.concatenate([first["risk"], second["risk"]]))
    assert signals.shape == (COUNT, len(tcuq.SIGNALS))
    with refused("conflict"):
        monitor.run(LOG, LOG.features)


def test_pandas_works_without_pyarrow() -> None:
    pytest.importorskip("pandas", reason="pip install pandas")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas, tcuq\n"
        "frame = pandas.DataFrame({'probs': [[0.5, 0.5], [0.75, 0.25]], 'label': [0, 1]})\n"
        "steps = tcuq.Monitor(tcuq.Params(classes=2)).run(frame)\n"
        "print(tcuq.Log.from_frame(frame).probs.tolist(), len(steps.to_pandas()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[[0.5, 0.5], [0.75, 0.25]] 2\n", done.stderr


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_empty_cells_are_named_by_row(kind: str) -> None:
    frame = make(kind, {"p0": [0.5, 0.5], "p1": [0.5, 0.5], "label": [0, None]})
    with refused("missing"):
        tcuq.Log.from_frame(frame)
    lists = make(kind, {"probs": [[0.5, 0.5], None]})
    # Earlier releases of polars give an empty list.
    with refused("missing"):
        tcuq.Log.from_frame(lists)
    ragged = make(kind, {"probs": [[0.5, 0.5], [0.2, 0.3, 0.5]]})
    with refused("value"):
        tcuq.Log.from_frame(ragged)


def test_types_of_pandas_that_may_be_missing() -> None:
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    frame = pandas.DataFrame({"p0": [0.5, 0.25], "p1": [0.5, 0.75], "label": [1, 0]}).convert_dtypes()
    assert tcuq.Log.from_frame(frame).probs.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    frame.loc[1, "label"] = pandas.NA
    with refused("missing"):
        tcuq.Log.from_frame(frame)
    named = frame.assign(label=pandas.Categorical(["dog", "cat"]))
    assert tcuq.Log.from_frame(named, names=["cat", "dog"]).labels.tolist() == [1, 0]  # type: ignore[union-attr]


def test_steps_are_an_array(params: tcuq.Params) -> None:
    steps = tcuq.Monitor(params.replace(names=("cat", "dog", "owl"))).run(LOG)
    assert isinstance(steps, np.ndarray) and steps.dtype == tcuq.STEP_DTYPE
    assert type(steps["risk"]) is np.ndarray and type(steps[["risk", "prediction"]]) is np.ndarray
    flagged = steps[steps["flagged"]]
    assert isinstance(flagged, tcuq.Steps) and flagged.class_names == ("cat", "dog", "owl")
    assert (steps == steps).all() and type(steps == steps) is np.ndarray
    again = pickle.loads(pickle.dumps(steps))
    assert np.array_equal(again["risk"], steps["risk"]) and isinstance(again, tcuq.Steps)
    with refused("value"):
        tcuq.Steps.of(steps["risk"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_steps_as_a_table_beside_the_input(kind: str, params: tcuq.Params) -> None:
    frame = make(kind, columns())
    steps = tcuq.Monitor(params.replace(names=("cat", "dog", "owl"))).run(LOG)
    table = getattr(steps, f"to_{kind}")(frame)
    names = list(table.column_names if kind == "arrow" else table.columns)
    assert names[:3] == ["time", "label", "device"] and names[-2:] == ["answer_name", "moved_name"]
    assert "p0" not in names and "segment" not in names and len(table) == COUNT
    assert np.array_equal(np.asarray(table["risk"]), steps["risk"])
    assert np.asarray(table["label"]).tolist() == LOG.labels.tolist()  # type: ignore[union-attr]
    assert np.asarray(table["reason"]).tolist() == tcuq.reason_names(steps["reason"])
    bare = getattr(steps, f"to_{kind}")()
    own = [*tcuq.step_columns(steps, "abc"), "moved_name"]
    assert list(bare.column_names if kind == "arrow" else bare.columns) == own
    some = getattr(steps, f"to_{kind}")(make(kind, {"when": np.arange(COUNT), "step": np.arange(COUNT)}))
    assert (some.column_names if kind == "arrow" else list(some.columns))[:2] == ["when", "risk"]
    with refused("conflict"):
        getattr(steps[:10], f"to_{kind}")(frame)
    with refused("conflict"):
        getattr(steps, f"to_{kind}")(make(kind, {**columns(), "risk": np.zeros(COUNT)}))


def test_an_unknown_accuracy_is_null_where_tables_have_that() -> None:
    steps = tcuq.Monitor(tcuq.Params(classes=3)).run(LOG.probs)
    assert np.isnan(steps["expected_accuracy"]).all()
    polars = pytest.importorskip("polars", reason="pip install polars")
    assert steps.to_polars()["expected_accuracy"].null_count() == COUNT
    assert isinstance(steps.to_polars(), polars.DataFrame)
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    assert steps.to_arrow()["expected_accuracy"].null_count == COUNT


def test_columns_beside_the_steps_are_kept_or_refused_by_name() -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    steps = Monitor(Params(classes=2, reference=0.3)).run(np.full((3, 2), 0.5))
    plain = pandas.DataFrame({"p0": [0.5] * 3, "p1": [0.5] * 3, 2024: [7, 8, 9]})
    assert steps.to_pandas(plain)["2024"].tolist() == [7, 8, 9]
    with refused("conflict"):
        steps.to_pandas(pandas.DataFrame({"label": [0] * 3, "labels": [1] * 3}))
    twice = pandas.concat([plain, plain[[2024]]], axis=1)
    with refused("conflict"):
        steps.to_pandas(twice)
    with refused("conflict"):
        steps.to_pandas(plain[["p0", "p1"]][:2])
    polars = pytest.importorskip("polars", reason="needs polars")
    other = polars.DataFrame({"p0": [0.5] * 3, "p1": [0.5] * 3, "place": ["a", "b", "c"]})
    assert steps.to_pandas(other)["place"].tolist() == ["a", "b", "c"]
    assert steps.to_pandas(other.to_arrow())["place"].tolist() == ["a", "b", "c"]
