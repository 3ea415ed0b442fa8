"""Reading logs, writing decisions, and refusing what is not one."""

import io
import json
import os
import pickle
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from streams import learned_params

from tcuq import SIGNALS, STEP_DTYPE, EvidenceHead, Log, Monitor, Params
from tcuq.io import Decisions, format_of, read_decisions, read_log, write_decisions, write_log
from tcuq.io.decisions import COLUMNS
from tcuq.io.sources import check_target, put
from tcuq.monitor.heads import InstantHead


def stream(steps=40, classes=4, width=3, seed=0):
    rng = np.random.default_rng(seed)
    return Log(
        rng.dirichlet(np.ones(classes), steps),
        rng.normal(size=(steps, width)),
        rng.integers(-1, classes, steps),
        np.repeat(np.arange(4), steps // 4),
        rng.integers(0, 2, steps),
    )


def as_int8(log):
    rng = np.random.default_rng(1)
    probs = rng.integers(-128, 128, log.probs.shape).astype(np.int8)
    features = rng.integers(-128, 128, log.features.shape).astype(np.int8)
    return Log(probs, features, log.labels, log.segments, log.shifted)


def csv_text(log):
    names = [f"p{i}" for i in range(log.classes)] + [f"f{i}" for i in range(log.width)]
    lines = [",".join([*names, "step", "label", "segment", "shifted"])]
    for t in range(len(log)):
        row = [*log.probs[t].tolist(), *log.features[t].tolist(), f"t{t}"]
        row += [int(log.labels[t]), int(log.segments[t]), int(log.shifted[t])]
        lines.append(",".join(map(str, row)))
    return "\n".join(lines) + "\n"


def jsonl_text(log):
    lines = []
    for t in range(len(log)):
        row = {"probs": log.probs[t].tolist(), "features": log.features[t].tolist()}
        row |= {"label": int(log.labels[t]), "segment": int(log.segments[t]), "shifted": bool(log.shifted[t])}
        lines.append(json.dumps(row))
    return "\n".join(lines) + "\n"


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def npz_bytes(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def same_log(a, b):
    assert a.names == b.names
    for name in ("probs", "features", "labels", "segments", "shifted"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype, name
        np.testing.assert_array_equal(left, right, name)


@pytest.mark.parametrize("make", [stream, lambda: as_int8(stream())], ids=["float", "int8"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "ndjson", "npz"])
def test_a_log_survives_every_format(tmp_path, make, kind):
    log = make()
    if kind == "npz":
        columns = ("probs", "features", "labels", "segments", "shifted")
        content = npz_bytes(**{name: getattr(log, name) for name in columns})
    else:
        content = csv_text(log) if kind == "csv" else jsonl_text(log)
    same_log(read_log(write(tmp_path, f"log.{kind}", content)), log)


def rows_as(kind, rows):
    """Return rows of texts, posteriors then one feature where there is a third column, in a text format."""
    if kind == "csv":
        head = ["p0", "p1", "f0"][: len(rows[0])]
        return "\n".join(",".join(row) for row in [head, *rows]) + "\n"
    lines = []
    for row in rows:
        more = f', "features": [{row[2]}]' if len(row) > 2 else ""
        lines.append(f'{{"probs": [{row[0]}, {row[1]}]{more}}}\n')
    return "".join(lines)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("row", "probs", "features"),
    [
        (["1", "0", "3"], np.float64, np.int8),
        (["1", "1", "3"], np.int8, np.int8),
        (["1.0", "0.0", "300"], np.float64, np.float64),
        (["0", "0", "1e1"], np.int8, np.float64),
    ],
)
def test_how_the_first_row_is_written_tells_int8_from_float(tmp_path, kind, row, probs, features):
    log = read_log(write(tmp_path, f"a.{kind}", rows_as(kind, [row])))
    assert (log.probs.dtype, log.features.dtype) == (probs, features)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("text", ["0", "1"])
def test_a_lone_sigmoid_output_of_0_or_1_is_a_float(tmp_path, kind, text):
    content = f"p\n{text}\n0.25\n" if kind == "csv" else f'{{"probs": [{text}]}}\n{{"probs": [0.25]}}\n'
    log = read_log(write(tmp_path, f"a.{kind}", content))
    assert log.probs.dtype == np.float64 and log.probs[:, 1].tolist() == [float(text), 0.25]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "rows",
    [
        [["1", "0"], ["-128", "127"]],
        [["-128", "127"], ["0.5", "0.5"]],
        [["-128", "127"], ["-128", "300"]],
        [["0.5", "0.5", "3"], ["0.5", "0.5", "2.5"]],
        [["200", "56"]],
    ],
)
def test_a_later_row_that_contradicts_is_told_since_when(tmp_path, kind, rows):
    with refused("value") as error:
        read_log(write(tmp_path, f"a.{kind}", rows_as(kind, rows)))
    first = 2 if kind == "csv" else 1
    assert error.value.where.endswith(f"line {first + len(rows) - 1}")
    assert len(rows) == 1 or f"from line {first} on" in str(error.value)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_bad_row_does_not_change_what_the_others_mean(tmp_path, kind):
    told = []
    for bad in (["0.5", "9"], ["300", "0"], ["-1.5", "0"]):
        for place in (0, 1, 2):
            rows = [["-128", "127", "4"], ["0", "0", "5"]]
            rows.insert(place, [*bad, "0.5"])
            log = read_log(write(tmp_path, f"a.{kind}", rows_as(kind, rows)), on_bad=told.append)
            assert log.probs.dtype == np.int8 and log.probs.tolist() == [[-128, 127], [0, 0]]
            assert log.features.dtype == np.int8
    assert len(told) == 9


def test_an_unclosed_quote_spoils_its_own_line_only(tmp_path):
    told = []
    path = write(tmp_path, "a.csv", 'p0,p1\n0.5,0.5\n0.5,"0.5\n0.25,0.75\n0.5,"0.5"\n')
    assert read_log(path, on_bad=told.append).probs.tolist() == [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]
    assert len(told) == 1 and "line 3: " in told[0]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz"])
@pytest.mark.parametrize("names", [("label", "segment"), ("labels", "segments")])
def test_singular_and_plural_names_are_the_same(tmp_path, kind, names):
    if kind == "npz":
        content = npz_bytes(probs=EVEN[:1], **{names[0]: [1], names[1]: [7]})
        twice = npz_bytes(probs=EVEN[:1], label=[1], labels=[1])
    elif kind == "csv":
        content, twice = f"p0,p1,{names[0]},{names[1]}\n0.5,0.5,1,7\n", "p0,p1,label,labels\n0.5,0.5,1,1\n"
    else:
        content = f'{{"probs": [0.5, 0.5], "{names[0]}": 1, "{names[1]}": 7}}\n'
        twice = '{"probs": [0.5, 0.5], "label": 1, "labels": 1}\n'
    log = read_log(write(tmp_path, f"a.{kind}", content))
    assert log.labels.tolist() == [1] and log.segments.tolist() == [7]
    with refused("conflict"):
        read_log(write(tmp_path, f"b.{kind}", twice))


def test_a_log_of_another_shape_than_the_parameters_is_refused(tmp_path):
    params, bad = Params(classes=3, features=2), []
    lines = ['{"probs": [0.5, 0.5], "features": [1, 2]}', '{"probs": [0.5, 0.25, 0.25]}']
    lines += ['{"probs": [0.5, 0.25, 0.25], "features": [1]}']
    lines += ['{"probs": [0.5, 0.25, 0.25], "features": [1, 2]}'] * 2
    path = write(tmp_path, "a.jsonl", "\n".join(lines))
    assert len(read_log(path, on_bad=bad.append, params=params)) == 2
    assert [text.split(": ", 1)[1].split()[0] for text in bad] == ["probs", "features", "features"]
    with refused("value"):
        read_log(write(tmp_path, "b.npz", npz_bytes(probs=EVEN)), params=params)
    two = read_log(write(tmp_path, "c.jsonl", '{"probs": [0.25]}\n'), params=Params(classes=2))
    assert two.probs.tolist() == [[0.75, 0.25]]


def test_csv_takes_a_byte_order_mark_blank_lines_quotes_crlf_and_words(tmp_path):
    content = b'\xef\xbb\xbf\r\n"p0", p1,shifted\r\n0.5,"0.5",True\r\n\r\n0.25,0.75,false\r\n'
    log = read_log(write(tmp_path, "a.csv", content))
    assert len(log) == 2 and log.shifted.tolist() == [True, False]


BAD_CSV = [
    ("", "missing"),
    ("p0,p1\n", "missing"),
    ("f0,label\n1,0\n", "missing"),
    ("p0,p1,p0\n1,0,1\n", "conflict"),
    ("p0,p1\n0.5,0.5\n0.5\n", "value"),
    ("p0,p1\n0.5,\n", "value"),
    ("p0,p1\n0.5,0.5\n\nnan,0.5\n", "value"),
    ("p0,p1\n0.5,0.5\n0.5,0.25\n", "value"),
    ("p0,p1,f0\n0.5,0.5,1e300\n", "value"),
    ("p0,p1,label\n0.5,0.5,2\n", "value"),
    ("p0,p1,shifted\n0.5,0.5,-2\n", "value"),
    ('p0,p1\n0.5,"0.5\n', "damaged"),
    (b"p0,p1\n0.5,\xff\n", "value"),
    ("p0;p1\n0.5;0.5\n", "unsupported"),
    ("0.5,0.5\n0.25,0.75\n", "missing"),
]


@pytest.mark.parametrize(("content", "code"), BAD_CSV)
def test_bad_csv_names_line_value_and_what_is_accepted(tmp_path, content, code: str):
    with refused(code) as error:
        read_log(write(tmp_path, "bad.csv", content))
    assert "bad.csv" in str(error.value)


GOOD = '{"probs": [0.5, 0.5], "label": 1}\n'
BAD_JSONL = [
    ("", "missing"),
    (GOOD + "{\n", "damaged"),
    (GOOD + "[0.5, 0.5]\n", "value"),
    (GOOD + '{"label": 1}\n', "missing"),
    (GOOD + '{"probs": [0.5, 0.5]}\n', "value"),
    (GOOD + '{"probs": [0.5, 0.5], "label": 1, "segment": 1}\n', "value"),
    (GOOD + '{"probs": [0.5, 0.25, 0.25], "label": 1}\n', "value"),
    (GOOD + '{"probs": [0.5, NaN], "label": 1}\n', "value"),
    (GOOD + '{"probs": [0.5, "x"], "label": 1}\n', "value"),
    (GOOD + '{"probs": 0.5, "label": 1}\n', "value"),
    (GOOD + '{"probs": [0.5, 0.5], "label": 2}\n', "value"),
    (GOOD + '{"probs": [0.5, 0.5], "label": null}\n', "value"),
    (GOOD + '{"probs": [0.5, 0.5], "label": 1, "label": 0}\n', "conflict"),
    (GOOD + "[" * 100000 + "\n", "limit"),
    ('{"probs": [0.5, 0.5], "shifted": 256}\n', "value"),
    ('{"probs": [0.5, 1%s]}\n' % ("0" * 400), "limit"),
    ('{"probs": [0.5, 0.5], "features": [1e39]}\n', "value"),
    (b'{"probs": [0.5, 0.5\xff]}\n', "damaged"),
]


@pytest.mark.parametrize(("content", "code"), BAD_JSONL)
def test_bad_json_lines_name_line_value_and_what_is_accepted(tmp_path, content, code: str):
    with refused(code) as error:
        read_log(write(tmp_path, "bad.jsonl", content))
    assert "bad.jsonl" in str(error.value)


EVEN = np.full((3, 2), 0.5)
BAD_NPZ = [
    (b"", "damaged"),
    (b"something else", "damaged"),
    (pickle.dumps([1]), "damaged"),
    (npz_bytes(probs=EVEN)[:-40], "damaged"),
    (npz_bytes(labels=[0]), "missing"),
    (npz_bytes(probs=np.array([[0.5, None]], dtype=object)), "damaged"),
    (npz_bytes(probs=EVEN, features=np.zeros((2, 4))), "value"),
    (npz_bytes(probs=EVEN, labels=[0, 1, 2]), "value"),
    (npz_bytes(probs=EVEN, labels=[0, 1, np.nan]), "value"),
    (npz_bytes(probs=EVEN, shifted=[0, 1, 256]), "value"),
    (npz_bytes(probs=EVEN.astype(np.int64)), "value"),
    (npz_bytes(probs=EVEN[None]), "value"),
    (npz_bytes(probs=np.empty((0, 2))), "missing"),
    (npz_bytes(probs=np.array([[0.5, 0.5], [0.5, np.nan]])), "value"),
    (npz_bytes(probs=np.array([[0.5, 0.5], [np.inf, -np.inf]])), "value"),
    (npz_bytes(probs=EVEN, features=np.array([[0.0], [1.0], [np.inf]])), "value"),
    (npz_bytes(probs=EVEN, labels=np.array([0, 1, 2**64 - 1], dtype=np.uint64)), "value"),
    (npz_bytes(probs=EVEN, segments=np.array([0.0, -1e300, 0.0])), "value"),
]


def zipped(name, content, flags=0, method=0):
    """Return a zip of one stored file, with other flags or another method than it was packed with."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    data = bytearray(file.getvalue())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.index(magic) + at
        data[start : start + 4] = flags.to_bytes(2, "little") + method.to_bytes(2, "little")
    return bytes(data)


def npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        zipped("probs.npy", npy_bytes(EVEN), flags=1),
        zipped("probs.npy", npy_bytes(EVEN).replace(b"{'descr'", b"{('descr'")),
        zipped("probs.npy", npy_bytes(EVEN).replace(b"}", b"'")),
        zipped("probs.npy", b"\x93NUMPY\x09\x09"),
    ],
    ids=["encrypted", "bracket", "quote", "version"],
)
def test_any_damage_of_an_npz_is_told(tmp_path, content):
    with refused("damaged"):
        read_log(write(tmp_path, "bad.npz", content))


def test_an_odd_compression_is_named(tmp_path):
    with refused("unsupported"):
        read_log(write(tmp_path, "bad.npz", zipped("probs.npy", npy_bytes(EVEN), method=99)))


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">f2"])
def test_the_byte_order_of_an_npz_does_not_matter(tmp_path, dtype):
    rows = EVEN.astype(dtype)
    content = npz_bytes(probs=rows, features=rows, labels=np.array([0, 1, 0], ">i4"))
    log = read_log(write(tmp_path, "a.npz", content))
    np.testing.assert_array_equal(log.probs, EVEN)
    assert log.probs.dtype.isnative and log.labels.tolist() == [0, 1, 0]
    assert Monitor(Params(classes=2, features=2)).run(log.probs, log.features)["risk"].shape == (3,)


@pytest.mark.parametrize(("content", "code"), BAD_NPZ)
def test_bad_npz_says_what_is_wrong(tmp_path, content, code: str):
    with refused(code) as error:
        read_log(write(tmp_path, "bad.npz", content))
    assert "bad.npz" in str(error.value)


def test_formats_by_extension_and_choice():
    assert format_of("a.CSV") == "csv" and format_of("a.csv", "npz") == "npz"
    for path, chosen, code in [("a", None, "unknown"), ("a.csv", "xml", "value")]:
        with refused(code):
            format_of(path, chosen)


def decisions(signals=True, steps=60):
    params = Params(classes=4, features=3, warmup=5, budget=0.3, level=0.3)
    log = stream(steps)
    result, values = Monitor(params).run(log.probs, log.features, signals=True)
    return Decisions(result, 7, values, params.signals) if signals else Decisions(result, 7)


def same_decisions(a, b, columns=STEP_DTYPE.names):
    for name in columns:
        np.testing.assert_array_equal(a.steps[name], b.steps[name], name)
    np.testing.assert_array_equal(a.step_numbers(), b.step_numbers())


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz"])
@pytest.mark.parametrize("signals", [False, True])
def test_decisions_come_back_exactly(tmp_path, kind, signals):
    path = tmp_path / f"d.{kind}"
    wanted = decisions(signals)
    write_decisions(path, wanted)
    found = read_decisions(path)
    same_decisions(found, wanted)
    if signals:
        assert found.used == wanted.used
        np.testing.assert_array_equal(found.signals, wanted.signals)
    else:
        assert found.signals is None


@given(
    st.lists(st.integers(0, 65535), min_size=1, max_size=20),
    st.integers(-(2**31) + 1, 2**31 - 1),
    st.sampled_from(["csv", "jsonl", "npz"]),
)
def test_every_integer_of_the_core_survives_six_decimals(tmp_path_factory, units, threshold, kind):
    steps = np.zeros(len(units), dtype=STEP_DTYPE)
    steps["risk"] = steps["uncertainty"] = np.array(units) / 65536
    steps["threshold"] = threshold / 65536
    steps["flagged"] = steps["risk"] >= steps["threshold"]
    path = tmp_path_factory.mktemp("d") / f"d.{kind}"
    write_decisions(path, Decisions(steps))
    same_decisions(read_decisions(path), Decisions(steps))


HEAD = ",".join(COLUMNS)
FINE = "0,1,1,0.250000,0.500000,0.250000,0,0,1,doubt,0.000000,0.000000,0.000000,,act,0,255"
BAD_DECISIONS = [
    ("", "missing"),
    (HEAD + "\n", "missing"),
    (HEAD + ",doubt\n", "missing"),
    (HEAD.replace("risk,", "") + "\n", "missing"),
    (HEAD.replace("prediction", "label") + "\n", "missing"),
    (f"{HEAD}\n{FINE}\n1,2\n", "value"),
    (f"{HEAD}\n{FINE.replace('doubt', 'mood')}\n", "value"),
    (f"{HEAD}\n{FINE.replace('0.500000', 'x')}\n", "value"),
    (f"{HEAD}\n\n{FINE.replace('0,1,1,0.25', '0,1,1,1.25')}\n", "value"),
    (f"{HEAD}\n{FINE.replace('0.500000', '0.500005')}\n", "value"),
    (f"{HEAD}\n{FINE.replace('0,0,1,d', '0,4,1,d')}\n", "value"),
    (f"{HEAD}\n{FINE.replace('0,1,1,0.25', '0,1.5,1,0.25')}\n", "value"),
    (f"{HEAD}\n{FINE.replace('act', 'sleep')}\n", "value"),
    (f"{HEAD}\n{FINE.replace('act,0,255', 'act,0,256')}\n", "value"),
    (f"{HEAD}\n-{FINE.replace('0,1,1,0.25', '1,1,1,0.25')}\n", "value"),
]


@pytest.mark.parametrize(("content", "code"), BAD_DECISIONS)
def test_bad_decisions_are_refused(tmp_path, content, code: str):
    with refused(code):
        read_decisions(write(tmp_path, "d.csv", content))


def test_a_label_beside_decisions_is_the_truth_and_not_read(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_decisions(write(tmp_path, "d.csv", f"{HEAD},label\n{FINE},0\n"))
    assert found.steps["prediction"].tolist() == [1]


def test_bad_decisions_in_json_lines_and_npz_are_refused(tmp_path):
    write_decisions(tmp_path / "d.jsonl", decisions(False, 4))
    lines = (tmp_path / "d.jsonl").read_text().splitlines()
    for change, code in [
        (("true", "1"), "value"),
        (('"step"', '"stop"'), "value"),
        (('"alarm": 0', '"alarm": 0.5'), "value"),
        (("}", ""), "damaged"),
    ]:
        changed = "\n".join([lines[0], lines[1].replace(*change), *lines[2:]])
        with refused(code) as error:
            read_decisions(write(tmp_path, "e.jsonl", changed))
        assert "e.jsonl, line 2: " in str(error.value)
    arrays = decisions(False, 4).arrays()
    for name, values in [
        ("risk", arrays["risk"][:2]),
        ("risk", arrays["risk"].astype(str)),
        ("reason", np.array([0, 10, 0, 0])),
        ("answer", np.array([0, 0, 1000, 0])),
        ("persistence", np.array([0, 0, np.nan, 0])),
        ("degradation", np.array([0, 256.5, 0, 0])),
        ("expected_accuracy", np.array([0, 1.0, 0, 0])),
        ("names", np.array(["a", "b\n"])),
        ("names", np.array([1, 2])),
    ]:
        with refused("value"):
            read_decisions(write(tmp_path, "e.npz", npz_bytes(**arrays | {name: values})))


FULL = learned_params(4, names=("cat", 'a "big" dog, wild', "emu", "\u732b"))


def learned_decisions():
    log = stream(200)
    result, values = Monitor(FULL).run(log.probs, signals=True)
    return Decisions(result, 0, values, FULL.signals, fingerprint=FULL.fingerprint, names=FULL.names)


def test_a_name_that_changes_or_cannot_be_shown_is_refused(tmp_path):
    write_decisions(tmp_path / "d.jsonl", learned_decisions())
    text = (tmp_path / "d.jsonl").read_text()
    cat = '"answer_name": "cat"'
    line = next(number for number, row in enumerate(text.splitlines(), 1) if cat in row)
    second = [number for number, row in enumerate(text.splitlines(), 1) if cat in row][1]
    other = text.splitlines()
    other[second - 1] = other[second - 1].replace(cat, '"answer_name": "cow"')
    with refused("value", "answer_name"):
        read_decisions(write(tmp_path, "e.jsonl", "\n".join(other)))
    for name, code in (("cat\\u0007", "value"), ("c" * 65, "limit")):
        with refused(code) as error:
            read_decisions(write(tmp_path, "e.jsonl", text.replace(cat, f'"answer_name": "{name}"')))
        assert error.value.where.endswith(f"line {line}")


NAMED = ("cat", "dog, big")
NAMED_LOGS = {
    "csv": '# names: cat,"dog, big"\np0,p1,label\n0.75,0.25,0\n0.5,0.5,"dog, big"\n0.5,0.5,-1\n',
    "jsonl": '{"names": ["cat", "dog, big"]}\n{"probs": [0.75, 0.25], "label": "cat"}\n'
    '{"probs": [0.5, 0.5], "label": 1}\n{"probs": [0.5, 0.5], "label": -1}\n',
    "npz": npz_bytes(probs=[[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]], labels=[0, 1, -1], names=NAMED),
}


@pytest.mark.parametrize("kind", NAMED_LOGS)
def test_a_log_names_its_classes_and_labels_may_be_names(tmp_path, kind):
    log = read_log(write(tmp_path, f"log.{kind}", NAMED_LOGS[kind]))
    assert log.names == NAMED and log.labels.tolist() == [0, 1, -1]
    assert log.take(slice(1, 2)).names == NAMED
    write_log(tmp_path / "again.npz", log)
    assert read_log(tmp_path / "again.npz").names == NAMED
    words = npz_bytes(probs=log.probs, labels=["dog, big", "cat", "cat"], names=NAMED)
    assert read_log(write(tmp_path, "words.npz", words)).labels.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.csv", "# names: cat\np0,p1\n0.5,0.5\n", "value"),
        ("a.csv", "# names: cat,\np0,p1\n0.5,0.5\n", "value"),
        ("a.csv", "# names: cat,dog\n", "missing"),
        ("a.csv", "# names: cat,dog\np0,p1,label\n0.5,0.5,cow\n", "value"),
        ("a.csv", "# names: x,x\np0,p1,label\n0.5,0.5,x\n", "value"),
        ("a.csv", "p0,p1,label\n0.5,0.5,cow\n", "value"),
        ("a.jsonl", '{"probs": [0.5, 0.5]}\n{"names": ["a", "b"]}\n', "value"),
        ("a.jsonl", '{"names": ["a"]}\n{"probs": [0.5, 0.5]}\n', "value"),
        ("a.jsonl", '{"names": "ab"}\n', "value"),
        ("a.jsonl", '{"names": ["a", 1]}\n', "value"),
        ("a.npz", npz_bytes(probs=[[0.5, 0.5]], names=["a"]), "value"),
        ("a.npz", npz_bytes(probs=[[0.5, 0.5]], names=[["a", "b"]]), "value"),
        ("a.npz", npz_bytes(probs=[[0.5, 0.5]], labels=["a"]), "value"),
    ],
)
def test_bad_names_of_classes_are_refused(tmp_path, name, content, code: str):
    with refused(code):
        read_log(write(tmp_path, name, content))


def test_decisions_of_another_shape_are_refused():
    steps = decisions(False).steps
    for wrong in ({"steps": np.zeros(3)}, {"signals": np.zeros((2, 9))}, {"numbers": np.zeros(2, int)}):
        with refused("value"):
            Decisions(**{"steps": steps} | wrong)


def test_nothing_is_left_when_writing_fails(tmp_path, monkeypatch):
    path = write(tmp_path, "d.csv", "old")

    def fail(*_):
        raise OSError(28, "No space left on device", ".d.csv.tmp")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left") as error:
        write_decisions(path, decisions())
    assert error.value.filename == str(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["d.csv"]


def test_targets_that_cannot_be_are_refused(tmp_path):
    write(tmp_path, "file", "x")
    for path, code in [
        (tmp_path / "missing" / "d.csv", "missing"),
        (tmp_path / "file" / "d.csv", "missing"),
        (tmp_path, "value"),
    ]:
        with refused(code):
            put(path, b"x")
    assert os.listdir(tmp_path) == ["file"]


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    link = tmp_path / "nowhere"
    link.symlink_to(os.devnull)
    put(link, b"x")
    assert link.is_symlink()


def test_a_device_in_a_folder_that_cannot_be_written_to_is_a_target(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    check_target(os.devnull)
    with refused("failed"):
        check_target("new.csv")


def test_all_signals_are_accepted_as_columns(tmp_path):
    heads = {"instant": InstantHead({}), "evidence": EvidenceHead({"odds": 5.0}, [-2.0] * 4)}
    params = Params(classes=4, features=3, signals=SIGNALS, centers=((0, 0, 0),) * 4, **heads)
    log = stream()
    result, values = Monitor(params).run(log.probs, log.features, signals=True)
    write_decisions(tmp_path / "d.csv", Decisions(result, 0, values, params.signals))
    np.testing.assert_array_equal(read_decisions(tmp_path / "d.csv").signals, values)
