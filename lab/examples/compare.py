"""Compare three monitors of a real network on real streams, and draw what happened.

    python lab/examples/compare.py lab/weights/resnet8-0.npz --out out/compare

Needs the network's dataset (TCUQ_DATA) and the extra all; about four minutes on two cores. Every
monitor is fitted on the dev part under four kinds of corruption, and judged on the test part under others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

import tcuq
from tcuq.monitor.monitor import run_over
from tcuq_lab.corruptions import suite_of
from tcuq_lab.data.parts import load_part
from tcuq_lab.detectors.run_lengths import arm, trials
from tcuq_lab.experiments.drops import Ranking, drops, interval
from tcuq_lab.metrics.drops import clean_band
from tcuq_lab.streams import Description, Geometric, Segments, Shift, Stationary, Stream, build
from tcuq_lab.zoo.examples import Bank, record
from tcuq_lab.zoo.weights import load_weights

SEVERITIES = (2, 4)
Floats = npt.NDArray[Any]


def described(dataset: str, part: str, seed: int, kinds: tuple[str, ...], steps: int) -> Description:
    """Return a stream of dwell 16: segments under some kinds, or clean throughout."""
    layout = Segments() if kinds else Stationary()
    shifts = tuple(Shift(kind, SEVERITIES) for kind in kinds)
    fixed = {"dataset": dataset, "part": part, "seed": seed, "steps": steps, "dwell": Geometric(16)}
    return Description(**fixed, layout=layout, shifts=shifts)


class Watched(NamedTuple):
    """What was shown on a stream, and the risk that every method gives its steps."""

    kinds: Floats
    right: Floats
    risks: dict[str, Floats]


def watched(stream: Stream, bank: Bank, params: tcuq.Params) -> Watched:
    """Let every method watch a stream; all of them answer with the network's class."""
    log = stream.log(bank)
    said, doubt = log.predictions(), 1 - log.confidence()
    # What many devices do: the mean of the last four posteriors, at the current prediction.
    recent = np.stack([np.concatenate([log.probs[:1].repeat(n, 0), log.probs])[: len(log)] for n in range(4)])
    vote = 1 - recent.mean(0)[np.arange(len(log)), said]
    risks = {"BASE": doubt, "vote of 4": vote, "TCUQ": run_over(tcuq.Monitor(params), log)["risk"]}
    return Watched(stream.shift, ~log.errors(), risks)


def soonest(risk: Mapping[str, list[Floats]], dev: Watched, tests: list[Watched]) -> tuple[str, float]:
    """Return the statistic that finds shifts of development data soonest, and its median delay on the tests.

    Limits give one false alarm in 1,000 clean development steps.
    """
    armed = arm(risk["clean"])
    costs = {
        name: trials(each, risk["shifted"][0], dev.kinds).restricted.mean() for name, each in armed.items()
    }
    best = min(costs, key=lambda name: costs[name])
    found = [
        trials(armed[best], given, each.kinds).delays
        for given, each in zip(risk["tests"], tests, strict=True)
    ]
    return best, float(np.median(np.concatenate(found)))


def draw_stream(
    path: Path, risk: Floats, threshold: Floats, right: Floats, shifted: Floats, title: str
) -> None:
    """Draw risk and accuracy, as means of 100 steps, over tinted shifts."""
    figure = Figure(figsize=(9, 4.6), dpi=150, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    at = np.arange(len(risk))
    counts = np.minimum(at + 1, 100)
    means = [np.convolve(each, np.ones(100))[: len(at)] / counts for each in (risk, right)]
    for axis in (upper, lower):
        axis.fill_between(
            at, 0, 1, shifted, transform=axis.get_xaxis_transform(), color="#F6DFC4", label="shifted"
        )
    upper.plot(at, means[0], color="#0072B2", label="risk, mean of 100 steps")
    upper.plot(at, threshold, "k--", linewidth=1, label="threshold")
    lower.plot(at, means[1], color="#009E73", label="accuracy, last 100 steps")
    upper.set(title=title, ylabel="risk")
    lower.set(xlabel="step", ylabel="accuracy", ylim=(-0.02, 1.02))
    figure.legend(handles=[*upper.get_legend_handles_labels()[0], lower.lines[0]], loc="outside right upper")
    figure.savefig(path)


def draw_bars(path: Path, bars: list[dict[str, Any]], prevalence: float) -> None:
    """Draw a dot a method, with its interval, beside what a score without any sense gets."""
    figure = Figure(figsize=(7.5, 2.3), dpi=150, layout="constrained")
    axis = figure.subplots()
    rows = sorted(bars, key=lambda row: row["value"])
    for at, row in enumerate(rows):
        axis.hlines(at, row["low"], row["high"], color="#0072B2", alpha=0.55)
    axis.plot([row["value"] for row in rows], range(len(rows)), "o", color="#0072B2")
    axis.axvline(prevalence, color="k", linestyle="--", label="prevalence")
    axis.set_yticks(range(len(rows)), [row["method"] for row in rows])
    axis.set_xlabel("drop AUPRC (own predictions, smoothed, all kinds)")
    axis.legend()
    figure.savefig(path)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights")
    parser.add_argument("--out", default="out/compare")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    network, card = load_weights(args.weights)
    name = card["config"]["dataset"]
    suite = suite_of(name)
    unseen = suite.unseen[::3]
    dev, test = load_part(name, "dev"), load_part(name, "test")
    banks = {
        part.split: record(
            network,
            part,
            ["clean", *(f"{kind}/{s}" for kind in kinds for s in SEVERITIES)],
            workers=args.workers,
            progress=lambda done, all_, source: print(f"{done}/{all_} {source}", flush=True),
        )
        for part, kinds in ((dev, suite.seen), (test, unseen))
    }

    def stream(part: str, seed: int, kinds: tuple[str, ...] = (), steps: int = 10_000) -> Stream:
        return build(described(name, part, seed, kinds, steps), (dev if part == "dev" else test).y)

    learned = [stream("dev", seed, suite.seen) for seed in range(3)]
    logs = [each.log(banks["dev"]) for each in learned]
    joined = tcuq.Log(
        np.concatenate([log.probs for log in logs]),
        labels=np.concatenate([log.labels for log in logs]),
        segments=np.repeat(np.arange(len(logs)), [len(log) for log in logs]),
        shifted=np.concatenate([log.kinds for log in logs]),
    )
    params = tcuq.fit(joined, about="prediction", budget=0.1, run_length=1000)

    clean = watched(stream("dev", 10, steps=50_000), banks["dev"], params)
    shifted = watched(learned[0], banks["dev"], params)
    tests = {
        f"{kind} {seed}": watched(stream("test", 20 + seed, (kind,)), banks["test"], params)
        for kind in unseen
        for seed in range(2)
    }
    band = clean_band([clean.right])
    kinds = [each.kinds for each in tests.values()]
    bars: list[dict[str, Any]] = []
    share = 0.0
    for method in clean.risks:
        ranked: list[Ranking] = [drops(each.risks[method], each.right, band) for each in tests.values()]
        found = interval([ranked], "auprc", kinds, np.random.default_rng(0), 200)
        share = float(np.mean([each.share for each in ranked]))
        bars.append({"method": method, "value": found.estimate, "low": found.low, "high": found.high})
        risk = {
            "clean": [clean.risks[method]],
            "shifted": [shifted.risks[method]],
            "tests": [each.risks[method] for each in tests.values()],
        }
        bars[-1]["statistic"], bars[-1]["median delay"] = soonest(risk, shifted, list(tests.values()))
        print(f"{method:<10} drop AUPRC {found.estimate:.3f} (prevalence {share:.3f})")
    for bar in bars:
        print(f"{bar['method']:<10} median delay {bar['median delay']:.0f} steps with {bar['statistic']}")
    content = {"streams": list(tests), "prevalence": share, "methods": bars}
    (out / "records.json").write_text(json.dumps(content, indent=1) + "\n")

    shown = stream("test", 20, unseen[:1])
    log = shown.log(banks["test"])
    steps = run_over(tcuq.Monitor(params), log)
    part = slice(0, 3000)
    draw_stream(
        out / "stream.png",
        steps["risk"][part],
        steps["threshold"][part],
        ~log.errors()[part],
        shown.shift[part] > 0,
        f"{name}, {unseen[0]}, dwell 16",
    )
    draw_bars(out / "comparison.png", bars, share)
    print(f"wrote {out}/records.json, stream.png, comparison.png")


if __name__ == "__main__":
    main()
