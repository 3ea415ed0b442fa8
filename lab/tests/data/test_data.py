"""The datasets: formats on small made files, downloads from a local server, and the real packed files."""

import contextlib
import errno
import gzip
import hashlib
import http.server
import io
import os
import re
import tarfile
import threading
import zipfile

import numpy as np
import pytest
from sounds import write_wav

from tcuq_lab.cli import main
from tcuq_lab.data import download, load
from tcuq_lab.data.dataset import Archive, present
from tcuq_lab.data.download import fetch, unpack
from tcuq_lab.data.official import read_cifar, read_idx, read_noise, read_svhn
from tcuq_lab.data.parts import load_part

RNG = np.random.default_rng(7)
IMAGES = RNG.integers(0, 256, (5, 28, 28), dtype=np.uint8)
COLORS = RNG.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)


def idx_bytes(array):
    head = bytes([0, 0, 8, array.ndim])
    return head + np.array(array.shape, ">u4").tobytes() + array.astype(np.uint8).tobytes()


@pytest.mark.parametrize("end", ["", ".gz"])
def test_mnist_from_idx_files_before_packed_ones(data_home, end):
    (data_home / "mnist").mkdir()
    squeeze = gzip.compress if end else bytes
    (data_home / f"mnist/t10k-images-idx3-ubyte{end}").write_bytes(squeeze(idx_bytes(IMAGES)))
    (data_home / f"mnist/t10k-labels-idx1-ubyte{end}").write_bytes(squeeze(idx_bytes(np.arange(5))))
    np.savez(data_home / "mnist_test.npz", x=np.zeros((1, 28, 28), np.uint8), y=[0])
    found = load("mnist", "test")
    assert np.array_equal(found.x, IMAGES) and found.y.dtype == np.int64
    assert found.y.tolist() == [0, 1, 2, 3, 4] and "official idx" in found.source


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx_bytes(IMAGES)[:-1], "holds 3919 bytes after its header, expected 3920"),
        (b"\0\0\x09\x03" + idx_bytes(IMAGES)[4:], "begins with 00000903, expected 00000803"),
        (b"\0\0\x08", "has 3 bytes"),
        (gzip.compress(idx_bytes(IMAGES))[:-9], "damaged gzip"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "holds 0 bytes after its header"),
    ],
)
def test_a_damaged_idx_file_is_refused(tmp_path, content, message):
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_idx(path, 3)
    assert str(caught.value).startswith(str(path))


def flat(images):
    return images.transpose(0, 3, 1, 2).reshape(len(images), -1)


def test_cifar_binary(tmp_path):
    for part, name in ((COLORS[:3], "a"), (COLORS[3:], "b")):
        rows = np.hstack([np.full((len(part), 1), 7, np.uint8), flat(part)])
        (tmp_path / name).write_bytes(rows.tobytes())
    x, y = read_cifar(tmp_path / "a", tmp_path / "b")
    assert np.array_equal(x, COLORS) and y.tolist() == [7] * 4
    (tmp_path / "b").write_bytes(rows.tobytes()[:-1])
    with pytest.raises(ValueError, match="has 3072 bytes, expected a multiple of 3073"):
        read_cifar(tmp_path / "b")
    (tmp_path / "b").write_bytes(b"\x0a" + rows.tobytes()[1:])
    with pytest.raises(ValueError, match="the label 10"):
        read_cifar(tmp_path / "b")


PIXELS = COLORS.transpose(1, 2, 3, 0)
DIGITS = np.array([[1], [10], [9], [2]], np.uint8)


@pytest.fixture
def speech(data_home):
    root = data_home / "speech_commands_v0.01"
    for number, name in enumerate(["yes/a", "down/a", "marvin/a", "yes/b", "no/b", "bed/c"]):
        write_wav(root / f"{name}.wav", np.full(16000 - number, number + 1))
    write_wav(root / "_background_noise_/tap.wav", np.arange(40000) % 7)
    (root / "validation_list.txt").write_text("yes/b.wav\n")
    (root / "testing_list.txt").write_text("no/b.wav\nbed/c.wav\n")
    return root


def test_speech_is_split_by_the_official_lists(speech):
    train, validation, test = (load("speech_commands", split) for split in ("train", "validation", "test"))
    assert train.y.tolist() == [0, 10, 9] and train.x[:, 0].tolist() == [2, 3, 1]
    assert validation.y.tolist() == [9] and test.y.tolist() == [10, 3]
    assert test.x.shape == (2, 16000) and test.x.dtype == np.int16
    assert test.x[0, -6:].tolist() == [6, 0, 0, 0, 0, 0]  # padded at the end
    noise, recording = read_noise(speech)
    assert noise.shape == (2, 16000) and recording.tolist() == [0, 0]


def test_the_test_set_of_twelve_classes_is_read_by_its_folders(data_home):
    root = data_home / "speech_commands_test_set_v0.02"
    for number, word in enumerate(("_silence_", "_unknown_", "yes", "down")):
        write_wav(root / word / "a.wav", [number] * 3)
    found = load("speech_commands_test", "test")
    assert sorted(zip(found.x[:, 0].tolist(), found.y.tolist(), strict=True)) == [
        (0, 11),
        (1, 10),
        (2, 9),
        (3, 0),
    ]
    (root / "yes" / "a.wav").write_bytes(b"RIFF")
    with pytest.raises(ValueError, match=r"yes/a\.wav: is not a readable wav file"):
        load("speech_commands_test", "test")


def test_check_says_how_far_speech_is_from_the_official_lists(speech, capsys):
    assert main(["data", "check", "speech_commands"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("speech_commands: Speech Commands v0.01: 6 clips, ")
    assert "6 clips, official 64,721" in line and "2 clips in the list of test, official 6,835" in line
    write_wav(speech / "visual" / "a.wav", [1])
    main(["data", "check", "speech_commands"])
    assert "Speech Commands v0.02: 7 clips" in capsys.readouterr().out
    (speech / "bed" / "c.wav").unlink()
    assert main(["data", "check", "speech_commands"]) == 1
    assert "1 clips that the list of test names missing" in capsys.readouterr().out


def test_all_classes_of_tinyimagenet_and_what_differs_from_the_official_archive(data_home, capsys):
    image = pytest.importorskip("PIL.Image")
    root = data_home / "tiny-imagenet-200"
    (root / "val" / "images").mkdir(parents=True)
    for name in ("n1", "n2", "n9"):  # the last one is in no list
        (root / "train" / name / "images").mkdir(parents=True)
        for number in (0, 449, 450):
            place = root / "train" / name / "images" / f"{name}_{number}.JPEG"
            image.fromarray(np.full((64, 64, 3), number % 256, np.uint8)).save(place)
    image.fromarray(np.zeros((64, 64, 3), np.uint8)).save(root / "val" / "images" / "val_0.JPEG")
    (root / "wnids.txt").write_text("n2\nn1\n")
    (root / "val" / "val_annotations.txt").write_text("val_0.JPEG\tn2\t0\t0\t1\t1\n")
    sizes = {part: load_part("tinyimagenet", part).y.tolist() for part in ("train", "dev", "test")}
    assert sizes == {"train": [0, 0, 1, 1], "dev": [0, 1], "test": [1]}
    assert main(["data", "check", "tinyimagenet"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert "2 classes, 6 train pictures, 1 val pictures; 2 classes in wnids.txt, official 200" in line
    assert "differences more" in line


BODY = RNG.integers(0, 256, 1 << 20, dtype=np.uint8).tobytes()
MD5 = hashlib.md5(BODY).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    files: dict
    asked: list

    def do_GET(self):
        kind, _, name = self.path.lstrip("/").partition("/")
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
        self.asked.append((kind, start))
        body = self.files.get(name)
        if body is None:
            return self.send_error(404)
        if start >= len(body):
            return self.send_error(416)
        ranged = start and kind != "plain"
        self.send_response(206 if ranged else 200)
        rest = body[start:] if ranged else body
        if ranged:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if kind != "endless":
            self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # of a reader who has left
            self.wfile.write(rest[: len(rest) // 2] if kind == "cut" else rest)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    handler = type("Local", (Handler,), {"files": {"f.bin": BODY}, "asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as local:
        thread = threading.Thread(target=local.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        handler.root = f"http://127.0.0.1:{local.server_port}"
        yield handler
        local.shutdown()
        thread.join()


def silent(*_):
    pass


def test_a_file_is_fetched_whole(server, tmp_path):
    seen = []
    fetch(Archive(f"{server.root}/ok/f.bin", MD5), tmp_path / "f.bin", lambda *now: seen.append(now))
    assert (tmp_path / "f.bin").read_bytes() == BODY and os.listdir(tmp_path) == ["f.bin"]
    assert seen[-1] == (len(BODY), len(BODY), "f.bin")
    fetch(Archive(f"{server.root}/endless/f.bin", None), tmp_path / "g.bin", silent)
    assert (tmp_path / "g.bin").read_bytes() == BODY


def test_a_download_that_was_cut_is_gone_on_with(server, tmp_path):
    for kind in ("cut", "ok", "plain"):
        place, part = tmp_path / "f.bin", tmp_path / "f.bin.part"
        if kind == "cut":
            with pytest.raises(ValueError, match=r"f\.bin: cannot be fetched .* run this again"):
                fetch(Archive(f"{server.root}/cut/f.bin", MD5), place, silent)
            half = part.read_bytes()
            assert 0 < len(half) < len(BODY) and BODY.startswith(half)
            continue
        part.write_bytes(half)
        fetch(Archive(f"{server.root}/{kind}/f.bin", MD5), place, silent)
        assert place.read_bytes() == BODY and os.listdir(tmp_path) == ["f.bin"]
        place.unlink()
    part.write_bytes(BODY + b"more")  # of another file
    fetch(Archive(f"{server.root}/ok/f.bin", MD5), place, silent)
    assert place.read_bytes() == BODY
    assert [start for _, start in server.asked] == [0, len(half), len(half), len(BODY) + 4, 0]


@pytest.mark.parametrize(
    ("url", "digest", "message"),
    [
        ("{}/ok/f.bin", "0" * 64, rf"expected sha256:0+ but got {hashlib.sha256(BODY).hexdigest()}"),
        ("{}/ok/none.bin", MD5, r"answered 404 Not Found; put none\.bin into "),
        (
            "http://127.0.0.1:1/f.bin",
            MD5,
            r"cannot be fetched \(.*refused.*\); put f\.bin into .* run this again",
        ),
        ("{}/full/f.bin", MD5, r"f\.bin: No space left on device"),
    ],
)
def test_a_failed_download_is_one_line_and_leaves_nothing(
    data_home, monkeypatch, capsys, server, url, digest, message
):
    def full(self, *_):
        self.part.write_bytes(b"begun")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "archives", lambda _: (Archive(url.format(server.root), digest, "mnist"),))
    if "full" in url:
        monkeypatch.setattr(download.Resumed, "__call__", full)
    assert main(["data", "get", "mnist"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and re.search(message, err), err
    assert os.listdir(data_home / "mnist") == []


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "split", "shape", "first"),
    [
        ("mnist", "test", (10000, 28, 28), [7, 2, 1, 0, 4]),
        ("fashion_mnist", "test", (10000, 28, 28), [9, 2, 1, 1, 6]),
        ("cifar10", "test", (10000, 32, 32, 3), [3, 8, 8, 0, 6]),
        ("svhn", "test", None, None),
    ],
)
def test_real_images(name, split, shape, first):
    if present(name, split) is None:
        pytest.skip(f"{name} {split} is not in the folder that TCUQ_DATA names")
    found = load(name, split)
    assert found.x.dtype == np.uint8 and found.y.dtype == np.int64 and len(found.x) == len(found.y)
    assert set(found.y.tolist()) == set(range(10))
    if shape:
        assert found.x.shape == shape and found.y[:5].tolist() == first
    if name == "cifar10":
        assert np.bincount(found.y).tolist() == [1000] * 10
    if name == "mnist":
        assert hashlib.md5(idx_bytes(found.x)).hexdigest() == "2646ac647ad5339dbf082846283269ea"


def test_tasks_of_few_and_many_classes_are_made_from_parts(data_home):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (300, 28, 28), dtype=np.uint8), rng.integers(0, 10, 300)
    np.savez(data_home / "mnist_test.npz", x=x, y=y.astype(np.uint8))
    made = load_part("mnist_pairs", "test")
    assert made.x.shape == (300, 28, 56) and (made.y // 10 == y).all()
    assert np.array_equal(made.x[:, :, :28], x)
    rights = 255 - made.x[:, :, 28:]
    places = [int((x == each).all(axis=(1, 2)).argmax()) for each in rights]
    assert sorted(places) == list(range(300)) and (made.y % 10 == y[places]).all()
    assert np.array_equal(load_part("mnist_pairs", "test").x, made.x)


@pytest.mark.parametrize("squeeze", [False, True])
def test_svhn_as_scipy_writes_it(tmp_path, squeeze):
    scipy_io = pytest.importorskip("scipy.io", reason="scipy is not installed")
    for labels in (DIGITS, DIGITS.astype(float), DIGITS.astype(np.int64)):
        scipy_io.savemat(tmp_path / "a.mat", {"X": PIXELS, "y": labels}, do_compression=squeeze)
        x, y = read_svhn(tmp_path / "a.mat")
        assert np.array_equal(x, COLORS) and y.tolist() == [1, 0, 9, 2]


def tar_of(name, kind):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("y"))
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, "" if kind == tarfile.REGTYPE else "/etc/passwd"
        archive.addfile(info)
    return file.getvalue()


def zip_of(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (tar_of("../x", tarfile.REGTYPE), r"'\.\./x' would be extracted to .*outside"),
        (tar_of("x", tarfile.SYMTYPE), "'x' is a link to an absolute path"),
        (b"no archive", "cannot be unpacked"),
        (zip_of(b"1" * 99)[:-30] + bytes(30), "cannot be unpacked"),
    ],
    ids=range(4),
)
def test_a_bad_archive_leaves_nothing(tmp_path, content, message):
    archive, place = tmp_path / "set.tar.gz", tmp_path / "in/place"
    archive.write_bytes(content)
    place.mkdir(parents=True)
    with pytest.raises(ValueError, match=message):
        unpack(archive, place / "set")
    assert os.listdir(place) == [] and sorted(os.listdir(tmp_path)) == ["in", "set.tar.gz"]
    assert os.listdir(tmp_path / "in") == ["place"]
