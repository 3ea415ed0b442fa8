"""Contact sheets, and the command that lists, draws and makes corruptions."""

import io
import json
import os
import sys

import numpy as np
import pytest

pytest.importorskip("PIL", reason="Pillow is not installed: pip install 'tcuq-lab[vision]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install 'tcuq-lab[vision]'")

from PIL import Image

from tcuq_lab.cli import main
from tcuq_lab.corruptions import Kind, Suite, corrupt, suite
from tcuq_lab.corruptions.sheet import GAP, HEAD, _choice, draw, own_picture, png
from tcuq_lab.corruptions.spectrogram import magnitude, spectrogram
from tcuq_lab.data import Dataset

RNG = np.random.default_rng(2)
DIGITS = RNG.integers(0, 256, (12, 28, 28), dtype=np.uint8)
LABELS = np.array([2, 2, 0, 1, 1, 0, 2, 3, 4, 5, 6, 7])


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Give an empty working folder, and twelve digits in the data folder."""
    (tmp_path / "data").mkdir()
    (tmp_path / "here").mkdir()
    np.savez(tmp_path / "data/mnist_test.npz", x=DIGITS, y=LABELS)
    np.savez(tmp_path / "data/mnist_train.npz", x=DIGITS[:3], y=LABELS[:3])
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def refused(capsys, *args):
    before = sorted(os.listdir())
    assert main(list(args)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("tcuq-lab: ")
    assert sorted(os.listdir()) == before
    return err


def test_examples_are_taken_class_by_class():
    assert _choice(LABELS, 12).tolist() == [2, 3, 0, 7, 8, 9, 10, 11, 5, 4, 1, 6]
    assert _choice(np.zeros(3, np.int64), 2).tolist() == [0, 1]


def test_a_sheet_has_a_row_a_kind_and_a_column_a_severity():
    kinds = {"stripe": Kind("strokes", "stripe", (0.1, 0.3)), "scale": Kind("geometry", "scale", (0.5,))}
    small = Suite("mnist_c", "two of them", "pictures", kinds, ())
    data = Dataset("mnist", "test", DIGITS, LABELS, "", "")
    with pytest.raises(ValueError, match="severity of stripe is 2"):
        draw(data, small)  # severities are those of the suite that has the name
    kinds["stripe"] = Kind("strokes", "stripe", (0.25,))
    sheet = np.asarray(draw(data, small, examples=3, scale=2))
    tile = 2 * 28 + GAP
    left = sheet.shape[1] - 3 * 2 * tile - 2 * 3 * GAP
    assert sheet.shape[0] == HEAD + 2 * tile and 20 < left < 60
    first = sheet[HEAD : HEAD + 56 : 2, left : left + 56 : 2]
    assert np.array_equal(first, np.repeat(DIGITS[2][..., None], 3, axis=2))
    second = sheet[HEAD : HEAD + 56 : 2, left + tile : left + tile + 56 : 2, 0]
    assert np.array_equal(second, corrupt(DIGITS[2:3], "mnist_c", "stripe", 1)[0])
    words = sheet[:, :left]
    assert (words[:HEAD] == 255).all() and (words[HEAD : HEAD + tile] < 100).any()
    assert (sheet[:HEAD, left:] < 100).any()


def test_a_suite_without_kinds_has_no_sheet():
    empty = Suite("mnist_c", "none", "pictures", {}, ())
    with pytest.raises(
        ValueError, match="suite mnist_c has no corruption types, expected at least one for a sheet"
    ):
        draw(Dataset("mnist", "test", DIGITS, LABELS, "", ""), empty)


def test_a_spectrogram_shows_tone_and_loudness():
    time = np.arange(16000) / 16000
    low = (8000 * np.sin(2 * np.pi * 1000 * time)).astype(np.int16)
    high = np.where(time < 0.5, 0, 80 * np.sin(2 * np.pi * 6000 * time)).astype(np.int16)
    sound = np.stack([low, high])
    picture = spectrogram(sound, magnitude(sound).max())
    assert picture.shape == (2, 64, 100) and picture.dtype == np.uint8
    assert picture[0].max() == 255 and abs(int(picture[0, :, 40].argmax()) - (63 - 8)) <= 1
    assert picture[1, :, :40].max() == 0 and abs(int(picture[1].max()) - 109) < 4  # 40 of 70 dB below
    assert abs(int(picture[1, :, 80].argmax()) - (63 - 48)) <= 1


def test_silence_is_drawn_black():
    assert spectrogram(np.zeros((1, 16000), np.int16), 1.0).max() == 0
    assert magnitude(np.zeros((1, 10), np.int16)).shape == (1, 64, 1)


def test_sound_gets_a_sheet_of_spectrograms():
    pytest.importorskip("audiomentations", reason="not installed: pip install 'tcuq-lab[sound]'")
    name, kind = next(iter(suite("speech_c").kinds.items()))
    time = np.arange(16000) / 16000
    tone = (9000 * np.sin(2 * np.pi * 700 * time) * np.exp(-3 * time)).astype(np.int16)
    data = Dataset("speech_commands", "test", np.stack([tone, tone // 2]), np.array([0, 1]), "", "")
    sheet = draw(data, Suite("speech_c", "", "sound", {name: kind}, ()), scale=1)
    assert sheet.size[1] == HEAD + 64 + GAP and sheet.size[0] > (1 + len(kind.settings)) * 100


def test_colors_are_given_up_for_size(monkeypatch):
    monkeypatch.setattr("tcuq_lab.corruptions.sheet.MOST", 1000)
    noise = RNG.integers(0, 256, (100, 120, 3), dtype=np.uint8)
    for pixels, most in ((noise, 64), (noise[..., :1].repeat(3, axis=2), 16)):
        with Image.open(io.BytesIO(png(Image.fromarray(pixels)))) as found:
            assert found.size == (120, 100) and most / 2 < len(found.getcolors()) <= most
    plain = Image.new("RGB", (300, 200), "red")
    assert len(png(plain)) < 1000


def test_list_names_kinds_severities_and_roles(capsys):
    assert main(["corrupt", "list", "mnist_c"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("mnist_c: ") and len(lines) == 17
    assert [line.split()[0] for line in lines[1:]] == list(suite("mnist_c").kinds)
    assert sum(line.endswith(" seen") for line in lines) == 5
    assert sum(line.endswith(" unseen") for line in lines) == 10
    assert main(["corrupt", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["suites"]
    assert found[0]["name"] == "mnist_c" and len(found) == 6
    assert found[0]["kinds"][0] == {"name": "identity", "severities": 1, "role": "clean"}


def test_a_sheet_from_the_command_line(place, capsys):
    assert main(["corrupt", "sheet", "mnist", "--out", "s.png", "--examples", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    with Image.open("s.png") as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
        assert list(sheet.size) == found["size"] and sheet.mode == "P"
    assert found["kinds"] == list(suite("mnist_c").kinds) and found["bytes"] == os.path.getsize("s.png")
    assert len(np.unique(pixels)) > 10 and pixels.shape[0] == HEAD + 16 * (56 + GAP)
    before = (place / "s.png").read_bytes()
    assert main(["corrupt", "sheet", "mnist", "--out", "s.png", "--examples", "2"]) == 0
    assert capsys.readouterr().out.startswith("wrote s.png: 16 corruption types, ")
    assert (place / "s.png").read_bytes() == before and os.listdir() == ["s.png"]


def saved(path, form, size=(50, 40)):
    file = io.BytesIO()
    Image.fromarray(RNG.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)).save(file, form)
    path.write_bytes(file.getvalue())
    return file.getvalue()


def test_a_picture_of_ones_own(place, capsys):
    saved(place / "p.png", "PNG")
    for name, side, kinds in (("mnist", 28, 16), ("cifar10", 32, 19)):
        found = own_picture("p.png", suite(f"{name}_c"))
        assert found.x.shape == ((1, side, side, 3) if side == 32 else (1, side, side))
        assert main(["corrupt", "sheet", name, "--picture", "p.png", "--out", "s.png", "--scale", "1"]) == 0
        assert capsys.readouterr().out.startswith(f"wrote s.png: {kinds} corruption types, ")
    with pytest.raises(ValueError, match="speech_c corrupts sound; a picture is for one of mnist_c, "):
        own_picture("p.png", suite("speech_c"))


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_cut_picture_is_one_line(place, capsys, form):
    whole = saved(place / "p", form)
    for length in (0, 20, len(whole) // 2):
        (place / "p").write_bytes(whole[:length])
        message = refused(capsys, "corrupt", "sheet", "mnist", "--picture", "p", "--out", "s.png")
        assert message.startswith("tcuq-lab: p: is no readable image (")


@pytest.mark.parametrize("most", [1500, 900])  # above it a warning, above twice of it an error
def test_a_picture_that_unpacks_to_far_too_much_is_one_line(place, capsys, monkeypatch, most):
    saved(place / "p.png", "PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
    message = refused(capsys, "corrupt", "sheet", "mnist", "--picture", "p.png", "--out", "s.png")
    assert message.startswith(
        "tcuq-lab: p.png: is no readable image (Image size (2000 pixels) exceeds limit of"
    )


def test_a_picture_is_not_written_over(place, capsys):
    whole = saved(place / "p.png", "PNG")
    (place / "link.png").symlink_to("p.png")
    for out in ("p.png", "./p.png", "link.png"):
        message = refused(capsys, "corrupt", "sheet", "mnist", "--picture", "p.png", "--out", out)
        assert message == f"tcuq-lab: --out is {out!r}, the picture itself; another file is needed\n"
    assert (place / "p.png").read_bytes() == whole


def test_examples_have_a_limit():
    data = Dataset("mnist", "test", DIGITS.repeat(5, axis=0), LABELS.repeat(5), "", "")
    with pytest.raises(ValueError, match=r"^examples is 51"):
        draw(data, suite("mnist_c"), 51)


def test_make_writes_pictures_labels_and_what_was_done(place, capsys):
    command = ["corrupt", "make", "mnist", "--kind", "zigzag", "--seed", "7", "--out", "z.npz"]
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("wrote z.npz: MNIST")
    with np.load("z.npz", allow_pickle=False) as found:
        assert np.array_equal(found["x"], corrupt(DIGITS, "mnist_c", "zigzag", 1, 7))
        assert found["y"].tolist() == LABELS.tolist()
        about = json.loads(str(found["about"]))
    assert about["kind"] == "zigzag" and about["seed"] == 7 and about["split"] == "test"
    assert about["official"] is False and about["setting"] == [2.0, 2.0, 2, 5, 2.3]
    assert main([*command, "--split", "train", "--json", "--severity", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 3


def test_make_takes_an_official_archive_unless_told_not_to(place, capsys):
    archive = place.parent / "data/mnist_c/zigzag"
    archive.mkdir(parents=True)
    np.save(archive / "test_images.npy", DIGITS[..., None] // 2)
    np.save(archive / "test_labels.npy", LABELS)
    command = ["corrupt", "make", "mnist", "--kind", "zigzag", "--out", "z.npz", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["official"] is True and "seed" not in found
    with np.load("z.npz") as file:
        assert np.array_equal(file["x"], DIGITS // 2)
    assert "seed is -1, expected 0 to" in refused(capsys, *command, "--seed", "-1")
    assert "workers is 0" in refused(capsys, *command, "--workers", "0")
    assert main([*command, "--own"]) == 0
    assert json.loads(capsys.readouterr().out)["official"] is False
    np.save(archive / "test_labels.npy", LABELS[::-1])
    before = (place / "z.npz").read_bytes()
    assert "test_labels.npy: row 0 is 7" in refused(capsys, *command)
    assert (place / "z.npz").read_bytes() == before


MAKE = ["make", "mnist", "--out", "a.npz"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["list", "mnistc"], "suite 'mnistc' is unknown; did you mean mnist_c?"),
        (["sheet", "minst", "--out", "a.png"], "dataset 'minst' is unknown; did you mean mnist?"),
        (["sheet", "svhn", "--out", "a.png"], "dataset 'svhn' has no corruptions, expected one of mnist, "),
        (["sheet", "mnist", "--out", "-"], "--out is '-'"),
        (["sheet", "mnist", "--out", "none/a.png"], "none/a.png: folder none does not exist"),
        (["sheet", "mnist", "--out", "a.png", "--examples", "0"], "examples is 0"),
        (["sheet", "mnist", "--out", "a.png", "--scale", "99"], "scale is 99"),
        (["sheet", "mnist", "--out", "a.png", "--seed", "-1"], "seed is -1"),
        (
            ["sheet", "mnist", "--out", "a.png", "--picture", ""],
            "--picture is '', expected a file name",
        ),
        (
            ["sheet", "mnist", "--out", "a.png", "--picture", "-"],
            "--picture is '-'",
        ),
        (["sheet", "mnist", "--out", "a.png", "--picture", "b.png"], "b.png: No such file or directory"),
        (["sheet", "mnist"], "the following arguments are required: --out"),
        ([*MAKE], "the following arguments are required: --kind"),
        ([*MAKE, "--kind", "zigzak"], "corruption of mnist_c 'zigzak' is unknown; did you mean zigzag?"),
        ([*MAKE, "--kind", "zigzag", "--severity", "2"], "severity of zigzag is 2"),
        ([*MAKE, "--kind", "zigzag", "--severity", "x"], "argument --severity: 'x', expected a whole number"),
        (
            [*MAKE, "--kind", "zigzag", "--split", "val"],
            "split 'val' of mnist is unknown, expected one of train, test",
        ),
        ([*MAKE, "--kind", "zigzag", "--workers", "0"], "workers is 0"),
        (
            ["make", "mnist", "--kind", "zigzag", "--out", "."],
            ".: is a folder",
        ),
        (["make", "mnist", "--kind", "zigzag", "--out", "none/a.npz"], "folder none does not exist"),
    ],
)
def test_user_errors_are_one_line_and_leave_nothing(place, capsys, args, message):
    assert message in refused(capsys, "corrupt", *args)


@pytest.mark.parametrize("args", [["sheet", "mnist"], ["make", "mnist", "--kind", "zigzag"]])
def test_a_missing_data_folder_is_one_line(place, capsys, monkeypatch, args):
    monkeypatch.delenv("TCUQ_DATA")
    assert "TCUQ_DATA is not set" in refused(capsys, "corrupt", *args, "--out", "a")
    monkeypatch.setenv("TCUQ_DATA", str(place))
    assert "mnist test is not in" in refused(capsys, "corrupt", *args, "--out", "a")


def test_a_failing_write_leaves_the_old_file(place, capsys, monkeypatch):
    (place / "z.npz").write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    message = refused(capsys, "corrupt", "make", "mnist", "--kind", "stripe", "--out", "z.npz")
    assert message == "tcuq-lab: z.npz: No space left on device; free some space, or write elsewhere\n"
    assert (place / "z.npz").read_bytes() == b"old"


def test_without_pillow_a_sheet_is_one_line(place, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    message = refused(capsys, "corrupt", "sheet", "mnist", "--out", "a.png")
    assert message == "tcuq-lab: Pillow is needed for a contact sheet: pip install 'tcuq-lab[vision]'\n"


def test_help_has_examples(capsys):
    for action in ("list", "sheet", "make"):
        assert main(["corrupt", action, "--help"]) == 0
        assert f"example:\n  tcuq-lab corrupt {action}" in capsys.readouterr().out


@pytest.mark.skipif(not os.environ.get("TCUQ_DATA"), reason="TCUQ_DATA names no folder of real data")
def test_the_sheet_of_real_digits_is_small(tmp_path, capsys):
    code = main(["corrupt", "sheet", "mnist", "--out", str(tmp_path / "s.png"), "--examples", "8"])
    if code == 2 and "is not in" in capsys.readouterr().err:
        pytest.skip("MNIST is not in TCUQ_DATA; 'tcuq-lab data get mnist' fetches it")
    assert code == 0 and (tmp_path / "s.png").stat().st_size < 150_000
