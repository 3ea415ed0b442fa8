"""Methods whose networks say several things of one example: members, exits, heads, passes, a Dirichlet."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from ..detectors.scores import Doubles, entropy, softmax, unsure
from ..harness.types import Outputs
from .belief import BYTES, STAYS, believed
from .method import Answer, Floats, Method

if TYPE_CHECKING:
    from torch import nn

    from ..zoo.heads import Heads


class Rowwise(Method):
    """A method that records a risk an example and setting, in `extra["risks"]` (n, settings)."""

    reads_features = False
    columns: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Settings that are recorded, where a method shares the bank of one with more of them; else the grid."""

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Return the column of the setting."""
        if setting not in self.grid:
            raise ValueError(f"setting {dict(setting)} is unknown, expected one of the grid of {self.name}")
        return Answer(seen.probs, seen.extra["risks"][:, (self.columns or self.grid).index(setting)])


KINDS = ("max", "entropy", "information", "disagreement")
GRID: tuple[Mapping[str, Any], ...] = tuple(
    {"kind": kind, "temperature": warm} for warm in (1.0, 2.0) for kind in KINDS
)
"""Kinds of risk, each of the members' posteriors as they are and of warmer ones."""


def together(
    logits: npt.NDArray[Any], features: npt.NDArray[Any], grid: Sequence[Mapping[str, Any]] = GRID
) -> Outputs:
    """Return the mean posterior of members and the risks of all settings."""
    probs = softmax(logits).mean(axis=1)
    risks = np.stack([risk(logits, probs.argmax(axis=1), **setting) for setting in grid], axis=1)
    return Outputs(probs.astype(np.float32), features, {"risks": risks})


def risk(
    logits: npt.NDArray[Any],
    answer: npt.NDArray[np.int64],
    kind: str,
    temperature: float = 1.0,
    final: bool = True,
) -> Doubles:
    """Return the risk of answers."""
    each = softmax(logits if final else logits[:, :-1], temperature)
    mean = each.mean(axis=1)
    if kind == "max":
        return unsure(mean, answer)
    if kind == "entropy":
        return entropy(mean)
    if kind == "information":
        # Never below 0 but by rounding.
        return np.asarray(np.maximum(entropy(mean) - entropy(each).mean(axis=1), 0.0))
    return np.asarray(each[np.arange(len(each)), :, answer].std(axis=1))


class Deep(Rowwise):
    """The mean posterior of five networks, and the settings of `members.risk`; features are of the first."""

    name = "deep"
    members = 5
    bank = "deep"
    grid = GRID

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
        """Run every member."""
        found = [self.heard(each, x, device) for each in self.loaded()]
        return together(
            np.stack([each.logits for each in found], axis=1), found[0].features, self.columns or self.grid
        )


class EarlyExit(Rowwise):
    """The mean posterior of all exits and the head, which the risk may leave out.

    What tells members apart keeps the head, since a network may have a single exit.
    """

    name = "early_exit"
    recipe = "early_exit"
    bank = "early_exit"
    grid = (
        *({"kind": kind} for kind in KINDS),
        *({"kind": kind, "final": False} for kind in KINDS[:2]),
        *({"kind": kind, "temperature": 2.0} for kind in KINDS[2:]),
    )

    def members_of(self, final: Floats, exits: list[Floats]) -> list[Floats]:
        """Return the logits of the members, from those of the head and of the exits."""
        return [*exits, final]

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
        """Run the network once, with its exits."""
        from ..zoo.outputs import parts

        final, features, *exits = parts(self.network, x, device)
        return together(np.stack(self.members_of(final, exits), axis=1), features, self.grid)


class ExitsAlone(EarlyExit):
    """The mean posterior of the exits without the head, which shows what the head is worth to them."""

    name = "exits_alone"
    bank = "exits_alone"
    grid = GRID

    def members_of(self, final: Floats, exits: list[Floats]) -> list[Floats]:
        """Return the logits of the exits."""
        return exits


FEWER = 3
"""Heads of the smaller ensemble that is tried beside all heads."""


class Hydra(Method):
    """The mean posterior of all heads or the first `FEWER`, for the answer, the risk and the cost alike."""

    name = "hydra"
    recipe = "hydra"
    bank = "hydra"
    reads_features = False
    grid = (
        *({"kind": kind, "heads": None, "temperature": 1.0} for kind in KINDS),
        {"kind": "information", "heads": None, "temperature": 2.0},
        {"kind": "max", "heads": FEWER, "temperature": 1.0},
        {"kind": "information", "heads": FEWER, "temperature": 1.0},
        {"kind": "information", "heads": FEWER, "temperature": 2.0},
    )

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
        """Run the body once and all heads."""
        from ..zoo.outputs import parts

        _, features, *heads = parts(self.network, x, device)
        logits = np.stack(heads, axis=1)
        probs = softmax(logits).mean(axis=1).astype(np.float32)
        return Outputs(probs, features, {"heads": logits})

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Return the mean posterior of the heads that are used, and its risk."""
        used = seen.extra["heads"][:, : setting["heads"]]
        probs = softmax(used).mean(axis=1)
        return Answer(probs, risk(used, probs.argmax(axis=1), setting["kind"], setting["temperature"]))

    def deployed(self) -> Sequence[nn.Module]:
        """Return the body with the heads that are used."""
        cut = cast("Heads", copy.deepcopy(self.network))
        more = None if self.setting["heads"] is None else self.setting["heads"] - 1
        cut.tails, cut.classifiers = cut.tails[:more], cut.classifiers[:more]
        return [cut]


class McDropout(Rowwise):
    """The mean posterior of passes with dropout.

    What is dropped depends on seed, row, pass and layer, not on batches, so that row k of two sources meets
    the same masks. Features are the mean over passes.
    """

    name = "mc_dropout"
    recipe = "dropout"
    bank = "mc_dropout"
    grid = GRID
    passes, seed = 10, 0
    needs = MappingProxyType({"repeats": passes})  # masks are drawn by the device and are not counted

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
        """Run the network `passes` times, each with masks of its own."""
        import torch

        from ..zoo.outputs import batches, sampled
        from ..zoo.recipes import Dropped

        network = self.network
        assert isinstance(network, Dropped)
        logits, features = [], []
        with torch.inference_mode():
            for first, inputs in batches(network, x, device):
                found = [sampled(network, inputs, first, each, self.seed) for each in range(self.passes)]
                logits.append(torch.stack([each[0].float() for each in found], dim=1).cpu().numpy())
                features.append(torch.stack([each[1].float() for each in found]).mean(0).cpu().numpy())
        return together(np.concatenate(logits), np.concatenate(features), self.grid)


POSTNET_KINDS = ("max", "evidence", "differential", "entropy", "expected", "information", "deviation",
                 "winner")  # fmt: skip


class PostNet(Rowwise):
    """The mean alpha / alpha0 of a Dirichlet as the posterior, and kinds of its uncertainty as risks.

    "max": 1 minus the largest mean; "evidence": classes / alpha0; "differential" entropy of the Dirichlet;
    "entropy" of the mean; "expected" entropy of a drawn posterior; "information": the difference of these
    two; "deviation" of the posterior of the answer; "winner": 1 / the largest alpha.
    """

    name = "postnet"
    recipe = "postnet"
    bank = "postnet"
    grid = tuple({"kind": kind} for kind in POSTNET_KINDS)

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Outputs:
        """Run the network once."""
        from ..zoo.outputs import parts

        _, features, alpha = parts(self.network, x, device)
        mean = alpha / alpha.sum(axis=1, keepdims=True)
        return Outputs(mean, features, {"risks": risks(alpha)})

    @property
    def needs(self) -> Mapping[str, Any]:
        """Leave out the linear head, which is not used; a flow measures and moves a point a class."""
        from ..zoo.heads import Posterior
        from ..zoo.outputs import parameters

        network = self.network
        assert isinstance(network, Posterior)
        depth, classes, latent = network.flows.center.shape
        # A distance and a move a flow, and the square of the end point.
        flows = (2 * depth + 1) * classes * latent
        return {"more": flows, "stored": -parameters(network.backbone.head)}


def risks(alpha: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return a column for each of `POSTNET_KINDS` of risk, from parameters (n, classes)."""
    import torch

    from ..zoo.outputs import differential_entropy, expected_entropy

    exact = np.asarray(alpha, dtype=np.float64)
    wide = torch.from_numpy(exact)
    total, classes = exact.sum(axis=1), exact.shape[1]
    mean = exact / total[:, None]
    expected = expected_entropy(wide).numpy() / np.log(classes)
    whole, doubt = entropy(mean), unsure(mean)
    columns = (
        doubt,
        classes / total,
        differential_entropy(wide).numpy(),
        whole,
        expected,
        np.maximum(whole - expected, 0.0),
        np.sqrt(mean.max(axis=1) * doubt / (total + 1)),
        1 / exact.max(axis=1),
    )
    return np.stack(columns, axis=1)


class DeepBelief(Deep):
    """The mean posterior of five networks under a Bayes filter with a fixed stay, the best of eight."""

    name = "deep_belief"
    own_answer = True
    grid = STAYS
    columns = GRID

    def score(self, seen: Outputs, setting: Mapping[str, Any]) -> Answer:
        """Answer with the belief."""
        found = believed(seen, setting)
        return Answer(found, unsure(found))

    @property
    def needs(self) -> Mapping[str, Any]:
        """Store the stay, and keep a belief a class."""
        return {"stored": 1, "state": BYTES * self.body.classes}
