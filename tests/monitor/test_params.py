"""Params: what is shown is what runs, and a file says clearly what is wrong with it."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from tcuq import SIGNALS, Alarm, AlarmSide, EvidenceHead, Feedback, Monitor, Params
from tcuq.monitor import codec
from tcuq.monitor.codec import row_range
from tcuq.monitor.heads import InstantHead
from tcuq.monitor.params_file import sealed_content
from tcuq.monitor.signals import FEATURE_BASED, SLOW
from tcuq.monitor.state import fingerprint, read_state

side = st.none() | st.builds(
    lambda a, limit, more: AlarmSide(a, limit, limit + more),
    st.floats(0, 1),
    st.floats(0.01, 100),
    st.floats(0, 50),
)


feedback = st.none() | st.builds(
    Feedback,
    st.integers(1, 1024),
    st.none() | st.floats(0.001, 0.999),
    st.floats(0, 1),
    st.floats(1, 30),
    st.sampled_from(["budget", "error"]),
    st.floats(0, 8),
    st.floats(0, 8),
)


@st.composite
def any_params(draw: st.DrawFn) -> Params:
    features = draw(st.integers(0, 256))
    # Those need an instant head, centers and an evidence head.
    left_out = {"distance", "disbelief", *SLOW, *(() if features else FEATURE_BASED)}
    names = [name for name in SIGNALS if name not in left_out]
    signals = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    lags = draw(st.lists(st.integers(1, 64), min_size=1, max_size=8, unique=True))
    steep = draw(st.floats(1e-6, 1))
    return Params(
        classes=draw(st.integers(2, 1000)),
        features=features,
        feature_scale=draw(st.floats(1e-6, 1e6)),
        feature_zero_point=draw(st.integers(-128, 127)),
        signals=tuple(signals),
        lags=tuple(lags),
        lag_weights=tuple(draw(st.floats(0.01, 10)) for _ in lags),
        warmup=draw(st.integers(0, 2**32 - 1)),
        doubt_mix=draw(st.floats(0, 1)),
        blend=draw(st.floats(0, 1)),
        coef={s: draw(st.floats(-64, 63.99)) for s in signals},
        clean_means={s: draw(st.floats(0, 1)) for s in signals},
        bias=draw(st.floats(-256, 256)),
        level=draw(st.floats(0.001, 0.999)),
        reference=draw(st.floats(0, 1)),
        steep_slope=steep,
        slope=steep * draw(st.floats(0, 1)),
        knee=draw(st.floats(0, 16000)),
        budget=draw(st.floats(0, 1)),
        burst=draw(st.integers(1, 10000)),
        alarm=Alarm(draw(st.floats(0, 1)), draw(side), draw(side)),
        feedback=draw(feedback),
        notes={"by": "test"},
    )


@given(any_params())
def test_files_and_pickles_give_the_same_params_and_the_same_core(params: Params) -> None:
    for twin in (Params.from_json(params.to_json()), pickle.loads(pickle.dumps(params)), params.replace()):
        assert twin == params
        assert twin.integers() == params.integers()
        assert twin.to_json() == params.to_json()


def test_what_learns_survives_a_file() -> None:
    params = Params(
        classes=3,
        features=2,
        signals=("odds", "distance", "disbelief"),
        lags=(),
        instant=InstantHead({"odds": 11.1}, -5.5),
        evidence=EvidenceHead({"odds": 2.0}, [0.0] * 3, 2.0, bet=(0.9, 0.25)),
        about="answer",
        anchor="belief",
        centers=((1, 2), (-128, 127), (0, 0)),
        horizon=256,
        expected_start=0.93,
        names=("cat", "Katze, groß", "\u732b"),
    )
    for twin in (Params.from_json(params.to_json()), pickle.loads(pickle.dumps(params))):
        assert twin == params and twin.names == params.names and twin.integers() == params.integers()
    assert params.replace(names=None).fingerprint == params.fingerprint  # the core never sees them


def every_field() -> Params:
    """Return parameters that leave no part of a file empty."""
    head = EvidenceHead({"doubt": 0.5}, [0.25, -0.5, 0.0], clip=2.0, reach=999, bias=-0.5, allowance=0.1)
    rise = AlarmSide(allowance=0.1, limit=2.0, cap=3.0, clear=1.0)
    alarm, names = Alarm(0.2, rise, None, least_raised=5), ("flips", "doubt", "odds")
    labels, notes = Feedback(max_error=0.1, wrong_score=1.5), {"by": ["me", 0.1, None]}
    return Params(classes=3, signals=names, alarm=alarm, evidence=head, feedback=labels, notes=notes)


def test_every_flipped_bit_of_a_file_is_refused_or_gives_the_same_monitor() -> None:
    params, same = every_field(), 0
    content = params.to_json().encode()
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            try:
                found = Params.from_json(flipped.decode())
            except ValueError:  # UnicodeDecodeError is one
                continue
            assert found == params, (place, bit)
            same += 1
    assert same < len(content) / 100, "white space at most"


def test_a_missing_field_is_refused_even_unsealed() -> None:
    for name in (item.name for item in fields(Params) if item.name not in ("sight", "feedback")):
        content = every_field().to_dict()
        del content[name]
        with refused("unknown" if name == "signals" else "missing"):
            Params.from_dict(content, sealed=False)


@pytest.mark.parametrize(
    "path", ["coef doubt", "alarm mean", "alarm rise cap", "evidence clip", "feedback shut"]
)
def test_a_missing_part_of_a_field_is_refused(path: str) -> None:
    content = every_field().to_dict()
    inner: Any = content
    *outer, last = path.split()
    for name in outer:
        inner = inner[name]
    del inner[last]
    with refused("missing"):
        Params.from_dict(content, sealed=False)


def test_the_checksum_does_not_depend_on_order_or_layout_of_a_file() -> None:
    params = every_field()
    turned = dict(reversed(params.to_dict().items()))
    assert Params.from_json(json.dumps(turned, indent=7)) == params


def test_the_fingerprint_is_that_of_states_and_names_what_the_core_is_given() -> None:
    params = every_field()
    assert params.fingerprint == f"{fingerprint(params):08x}"
    assert params.fingerprint == f"{read_state(Monitor(params).save()).fingerprint:08x}"
    assert params.replace(burst=9).fingerprint != params.fingerprint
    assert params.replace(notes={}).fingerprint == params.fingerprint


BAD_VALUES: list[dict[str, Any]] = [
    {"classes": 1001, "features": 257, "feature_zero_point": 128, "warmup": -1, "burst": 0, "level": 0},
    {"classes": 2.5, "blend": float("nan"), "budget": 1.01, "doubt_mix": -0.1, "steep_slope": 0},
    {"classes": True, "blend": "0.5", "anchor": "beliefs", "feature_scale": 0, "slope": 0.5},
]
BAD_FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("value", {"signals": ("instability",)}),
    ("unknown", {"signals": ("hunch",)}),
    ("value", {"lags": (0,)}),
    ("value", {"lags": (1, 1)}),
    ("missing", {"lags": ()}),
    ("value", {"lag_weights": (1, 2)}),
    ("value", {"lag_weights": (0, 0, 0)}),
    ("value", {"lag_weights": (0, 1, 1)}),
    ("conflict", {"anchor": "belief"}),
    ("value", {"coef": {"doubt": 65}}),
    ("unknown", {"coef": {"magnitude": 1}}),
]


def test_bad_values_are_refused() -> None:
    for values in BAD_VALUES:
        for name, value in values.items():
            with refused("value", name):
                Params(**{"classes": 3, name: value})
    for code, options in BAD_FIELDS:
        with refused(code):
            Params(classes=3, **options)


RISE = {"limit": 2, "allowance": 0, "cap": 1}
BAD_FILES: list[tuple[str, dict[str, Any]]] = [
    ("unsupported", {"version": 3}),
    ("unsupported", {"version": 6}),
    ("unsupported", {"version": True}),
    ("damaged", {"format": "other"}),
    ("unknown", {"color": 1}),
    ("unknown", {"alarm": {"mean": 0.1, "rise": None, "fall": None, "side": 1}}),
    ("missing", {"alarm": {"rise": None, "fall": None}}),
    ("missing", {"alarm": {"mean": 0, "fall": None, "rise": {"limit": 1}}}),
    ("value", {"alarm": {"mean": 0, "fall": None, "rise": RISE}}),
    ("value", {"alarm": {"mean": 0, "fall": None, "rise": {**RISE, "limit": 0}}}),
    ("value", {"alarm": 3}),
    ("value", {"lags": 3}),
    ("value", {"coef": [1]}),
    ("missing", {"signals": []}),
    ("value", {"signals": [["doubt"]]}),
    ("value", {"notes": None}),
    ("value", {"level": 10**400}),
    ("value", {"lag_weights": [1e308, 1e308, 1e308]}),
    ("value", {"names": "abc"}),
    ("value", {"names": ["a", "b"]}),
    ("value", {"names": ["a", "b", 3]}),
    ("limit", {"names": ["a", "b", "c" * 65]}),
    ("value", {"names": ["a", "b\x1b[2J", "c"]}),
    ("value", {"names": ["a", " ", "c"]}),
]


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    for code, change in BAD_FILES:
        path.write_text(json.dumps({**Params(classes=3).to_dict(), **change}))
        with refused(code) as error:
            Params.load(path)
        assert error.value.where == str(path)


def test_notes_must_survive_a_file_and_numpy_numbers_are_numbers() -> None:
    assert Params(classes=2, notes={"a": (1, 2)}).notes["a"] == [1, 2]
    for notes in ({"x": float("nan")}, {"x": np.int64(1)}, {"x": object()}, {"x": "\ud800"}):
        with refused("value"):
            Params(classes=2, notes=notes)
    params = Params(classes=np.int64(3), level=np.float32(0.1), budget=np.float64(0.2), lags=np.array([1, 2]))
    assert params == Params(classes=3, level=float(np.float32(0.1)), budget=0.2, lags=(1, 2))
    with refused("value"):
        Alarm(0.1, 0.5)  # type: ignore[arg-type]
    with refused("value"):
        Params(classes=2, signals="doubt")  # type: ignore[arg-type]


def test_a_field_that_comes_twice_is_refused_and_a_byte_order_mark_is_not() -> None:
    text = Params(classes=3).to_json()
    assert Params.from_json("\ufeff" + text) == Params(classes=3)
    with refused("damaged"):
        Params.from_json(text.replace('"classes": 3,', '"classes": 3, "classes": 4,'))
    with refused("limit"):
        Params.from_json("[" * 100_000)


def test_files_that_are_no_json_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    for content in (b"{", b"\xff\xfe", b"[]"):
        path.write_bytes(content)
        with refused("damaged"):
            Params.load(path)
    with pytest.raises(FileNotFoundError):
        Params.load(tmp_path / "none.json")


def test_ranges_are_those_of_the_core() -> None:
    """What Params lets through at its ends, the core takes; beyond them, Params refuses first."""
    for name in ("classes", "features", "burst", "warmup"):
        low, high = row_range(name)
        for value in (low, high):
            assert getattr(Params(**{"classes": 3, name: value}), name) == value
        for value in (low - 1, high + 1):
            with refused("value"):
                Params(**{"classes": 3, name: value})
    for bias in (-256, 256):
        assert Params(classes=3, bias=bias).integers()["bias"] in row_range("bias")


def test_integers_are_made_once_and_handed_out_as_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    made = codec.integers
    monkeypatch.setattr(codec, "integers", lambda p, part: calls.append(part) or made(p, part))
    params = Params(classes=3, signals=("flips", "odds"), evidence=EvidenceHead({"odds": 1.0}, [0.0] * 3))
    fields = params.integers()
    fields["lags"].append(9)
    fields["evidence"]["coef"][0] = 7
    fields["classes"] = 5
    Monitor(params)
    assert params.integers()["lags"] == [1, 2, 4] and params.integers()["classes"] == 3
    assert params.integers()["evidence"]["coef"][0] == 0
    assert params.ring_bytes == params.core().sizes()[0] and calls == ["params", "evidence"]


def of_layout_4(params: Params, **instant: Any) -> dict[str, Any]:
    """Return a parameter file as version 0.3 wrote it."""
    content = params.to_dict() | {"version": 4}
    content["instant"] = content["instant"] and content["instant"] | {"class_mix": None} | instant
    return sealed_content(content)


@pytest.mark.parametrize(
    "params", [Params(classes=3), Params(classes=3, instant=InstantHead({"doubt": 2.0}))]
)
def test_a_file_of_layout_4_loads(params: Params) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Params.from_dict(of_layout_4(params)) == params


def test_a_class_mix_in_use_is_ignored_with_a_warning() -> None:
    params = Params(classes=2, instant=InstantHead({"doubt": 2.0}))
    with pytest.warns(UserWarning, match="^class_mix is ignored, [^\n]*$"):
        assert Params.from_dict(of_layout_4(params, class_mix=[0.25, 0.75])) == params
