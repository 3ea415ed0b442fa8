"""What a folder in an official layout holds, and how far that is from the official archive."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .official import KEYWORDS, LISTS, NOISE, tiny_classes

CLASSES, TRAIN, VAL = 200, 500, 50
"""Of TinyImageNet-200: classes, pictures of each to train on, and of each in val."""
ADDED = ("backward", "follow", "forward", "learn", "visual")
"""Words that only version 0.02 of Speech Commands has."""
CLIPS = {"v0.01": (64_721, 6_798, 6_835), "v0.02": (105_829, 9_981, 11_005)}
"""Clips of each version, and those that its validation and testing lists name."""
BUCKETS = 2**27 - 1
"""Speakers are dealt to the splits by a hash modulo one more than this."""


class Census(NamedTuple):
    """What was counted, and what differs from the official archive."""

    version: str
    counts: dict[str, int]
    differences: list[str]

    @property
    def line(self) -> str:
        """As `data check` prints it."""
        counted = ", ".join(f"{count:,} {what}" for what, count in self.counts.items())
        return f"{self.version}: {counted}; {'; '.join(self.differences) or 'as the official archive'}"


def tiny(folder: Path) -> Census:
    """Count the pictures of TinyImageNet-200."""
    names = tiny_classes(folder)
    train = {path.name: len(list(path.glob("images/*.JPEG"))) for path in sorted(folder.glob("train/*"))}
    lines = (folder / "val" / "val_annotations.txt").read_text().splitlines()
    val = Counter(line.split("\t")[1] for line in lines if "\t" in line)
    there = {path.name for path in folder.glob("val/images/*.JPEG")}
    found = [_off(f"classes in wnids.txt, official {CLASSES}", len(names), CLASSES)]
    found += [
        _off(f"train pictures of {name}, official {TRAIN}", train.get(name, 0), TRAIN) for name in names
    ]
    found += [_off(f"val pictures of {name}, official {VAL}", val[name], VAL) for name in names]
    found.append(
        _off(
            "pictures of val_annotations.txt missing",
            sum(line.split("\t")[0] not in there for line in lines),
            0,
        )
    )
    strange = sorted({*train, *val} - set(names))
    found += [f"not official: {', '.join(strange)}, left out"] if strange else []
    counts = {"classes": len(names), "train pictures": sum(map(train.__getitem__, train.keys() & set(names)))}
    return Census(
        "TinyImageNet-200", {**counts, "val pictures": sum(val[name] for name in names)}, _few(found)
    )


def bucket(name: str) -> str:
    """Return the split that the speaker of a clip WORD/SPEAKER_nohash_N.wav belongs to, by the official rule.

    Examples
    --------
    >>> bucket("yes/a69b9b3e_nohash_0.wav"), bucket("no/a69b9b3e_nohash_3.wav")
    ('validation', 'validation')
    """
    speaker = speaker_of(name)
    share = int(hashlib.sha1(speaker.encode()).hexdigest(), 16) % (BUCKETS + 1) * (100 / BUCKETS)
    return "validation" if share < 10 else "test" if share < 20 else "train"


def speaker_of(name: str) -> str:
    """Return the speaker of a clip, which its file is named after."""
    return name.rpartition("/")[2].partition("_nohash_")[0].removesuffix(".wav")


def speech(folder: Path) -> Census:
    """Count clips and speakers of Speech Commands, and compare its lists with the rule of speakers."""
    every = [path.relative_to(folder).as_posix() for path in folder.glob("*/*.wav")]
    clips = {name for name in every if not name.startswith((NOISE, "."))}
    words = {name.partition("/")[0] for name in clips}
    version = "v0.02" if words & set(ADDED) else "v0.01"
    listed = {split: set((folder / file).read_text().split()) for split, file in LISTS.items()}
    wanted = dict(zip(("clips", *LISTS), CLIPS[version], strict=True))
    counts = {"clips": len(clips), "words": len(words), "speakers": len(set(map(speaker_of, clips)))}
    found = [_off(f"clips, official {wanted['clips']:,}", len(clips), wanted["clips"])]
    for split, names in listed.items():
        found.append(
            _off(f"clips in the list of {split}, official {wanted[split]:,}", len(names), wanted[split])
        )
        found.append(_off(f"clips that the list of {split} names missing", len(names - clips), 0))
    where = {name: split for split, names in listed.items() for name in names}
    odd = sum(bucket(name) != where.get(name, "train") for name in clips)
    found.append(_off("clips in another split than their speaker's", odd, 0))
    missing = sorted(set(KEYWORDS) - words)
    found += [f"no clips of {', '.join(missing)}"] if missing else []
    noise = sum(1 for name in every if name.startswith(NOISE))
    return Census(f"Speech Commands {version}", {**counts, "noise recordings": noise}, _few(found))


READERS = {"tinyimagenet": tiny, "speech_commands": speech, "speech_commands_v2": speech}
"""Datasets whose official layout is a folder, and who counts it."""


def _off(what: str, count: int, wanted: int) -> str:
    return "" if count == wanted else f"{count:,} {what}"


def _few(found: Sequence[str], most: int = 4) -> list[str]:
    kept = [each for each in found if each]
    return kept[:most] + ([f"{len(kept) - most} differences more"] if len(kept) > most else [])
