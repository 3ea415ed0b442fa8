"""A firmware before it is built: networks, passes, a rule, and the C that connects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tcuq.base.checks import integer
from tcuq.base.errors import InputError

from ..generate.source import takes_random
from ..graph.gauges import gauges_of
from ..graph.model import Graph
from .decision import Prediction, Rule, Watch

SEED = 1
"""First state of the generator of dropped values."""

MOST_MEMBERS = 257
"""Posteriors whose sum of bytes stays within 16 bits."""


@dataclass(frozen=True, eq=False)
class Firmware:
    """What runs on the board at every step.

    The posterior is the mean over all outputs "probs", "probs_1" and so on of all networks, and over all
    passes (1 to 100; more than one makes sense with dropout). Features are those of the only network. Without
    any network, an input is a posterior and its features, of `shape`, and the gauges of the rule in 16 bits.
    """

    name: str
    graphs: Sequence[Graph] = ()
    passes: int = 1
    rule: Rule = field(default_factory=Prediction)
    shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        integer("passes", self.passes, 1, 100)
        if not self.graphs and self.shape is None:
            problem = f"firmware {self.name} has neither graphs nor a shape; one of them is needed"
            raise InputError("missing", problem, "shape")
        for graph in self.graphs:
            if "probs" not in graph.outputs:
                raise InputError(
                    "missing",
                    f"outputs of graph {graph.name} are {', '.join(graph.outputs)}; "
                    "probs is needed in a firmware (`tcuq device import --softmax` makes it from logits)",
                    "probs",
                )
        sizes = {
            (graph.tensors[graph.input].size, graph.tensors[graph.outputs[name]].size)
            for graph in self.graphs
            for name in posteriors(graph)
        }
        if len(sizes) > 1:
            problem = f"graphs of {self.name} have {sorted(sizes)} inputs and classes, expected one pair"
            raise InputError("conflict", problem)
        if self.members > MOST_MEMBERS:
            problem = f"firmware {self.name} averages {self.members} posteriors, expected 1 to {MOST_MEMBERS}"
            raise InputError("limit", problem)
        if self.keeps_input and any(graph.states for graph in self.graphs):
            problem = f"a graph of {self.name} keeps a state between runs, expected it alone, with one pass"
            raise InputError("unsupported", problem)
        self.rule.check(self.name, self.classes, self.features)
        if isinstance(self.rule, Watch) and self.graphs:
            gauges_of(self.graphs[0], self.rule.params)

    @staticmethod
    def _classes(graph: Graph) -> int:
        return graph.tensors[graph.outputs["probs"]].size

    @property
    def classes(self) -> int:
        """Classes of the posterior."""
        return self._classes(self.graphs[0]) if self.graphs else self.shape[0]  # type: ignore[index]

    @property
    def members(self) -> int:
        """Posteriors that are averaged."""
        outputs = sum(len(posteriors(graph)) for graph in self.graphs)
        return max(1, outputs * self.passes)

    @property
    def features(self) -> int:
        """Features that the rule can read, 0 for none."""
        if not self.graphs:
            return self.shape[1]  # type: ignore[index]
        graph = self.graphs[0]
        # Those of several members would have to be kept while the arena is used again.
        if self.members > 1 or "features" not in graph.outputs:
            return 0
        return graph.tensors[graph.outputs["features"]].size

    @property
    def input_bytes(self) -> int:
        """Bytes of an input."""
        if self.graphs:
            return self.graphs[0].tensors[self.graphs[0].input].size
        return self.classes + self.features + 2 * len(self.rule.gauges())

    @property
    def keeps_input(self) -> bool:
        """Whether several runs read one input, which then has a buffer beside the arena."""
        return len(self.graphs) > 1 or self.passes > 1

    def names(self) -> list[str]:
        """Return a C name for every network, unique also where two graphs have one."""
        return [f"network{number}" for number in range(len(self.graphs))]


def posteriors(graph: Graph) -> list[str]:
    """Return the outputs of a graph that are posteriors, "probs" first."""
    return sorted(name for name in graph.outputs if name == "probs" or name.startswith("probs_"))


def plan_header(firmware: Firmware) -> str:
    """Return plan.h: sizes and the rule, for the preprocessor."""
    constants = {
        "MONITORS": int(firmware.rule.monitors),
        "INPUT": firmware.input_bytes,
        "CLASSES": firmware.classes,
        "FEATURES": firmware.features,
        "GAUGES": len(firmware.rule.gauges()),
        **firmware.rule.macros(),
    }
    lines = [f"#define PLAN_{name} {value}u" for name, value in constants.items()]
    return "\n".join(["#ifndef PLAN_H", "#define PLAN_H", *lines, "#endif", ""])


def plan_source(firmware: Firmware, arena: int) -> str:
    """Return plan.c: where an input goes, and the function that runs the networks in one shared arena."""
    names = firmware.names()
    lines = ['#include "rule.h"', *(f'#include "{name}.h"' for name in names), ""]
    if not names and firmware.rule.gauges():
        lines = ["#include <string.h>", "", *lines]  # for _look()
    apart = not names or firmware.keeps_input
    if apart:
        # Words, because a network may read several bytes at once.
        lines.append("static uint32_t input[(PLAN_INPUT + 3u) / 4u];")
    if not names:
        second = "(const int8_t *)input + PLAN_CLASSES" if firmware.features else "NULL"
        body = ["*probs = (const int8_t *)input;", f"*features = {second};"]
    else:
        lines += ["static union {", "    uint32_t words;", f"    int8_t bytes[{arena}];", "} arena;"]
        if any(takes_random(graph) for graph in firmware.graphs):
            lines.append(f"static uint32_t random_state = {SEED}u;")
        body = _several(firmware, lines) if firmware.members > 1 else _one(firmware)
    place = "(int8_t *)input" if apart else f"arena.bytes + {names[0].upper()}_INPUT_AT"
    lines += ["", "int8_t *network_input(void)", "{", f"    return {place};", "}"]
    lines += ["", "void network_run(const int8_t **probs, const int8_t **features)", "{"]
    lines += [*(f"    {line}" for line in body), "}"]
    if firmware.rule.gauges():
        lines += [
            "",
            "void network_gauges(int16_t gauges[TCUQ_MAX_GAUGES])",
            "{",
            f"    {_look(firmware)}",
            "}",
        ]
    return "\n".join([*lines, ""])


def _look(firmware: Firmware) -> str:
    """Return the statement that fills the gauges, from the input that lies where the next run reads it."""
    if isinstance(firmware.rule, Watch) and firmware.graphs:
        found = gauges_of(firmware.graphs[0], firmware.rule.params)
        assert found is not None
        return found.call("gauges", "network_input()")
    return "memcpy(gauges, network_input() + PLAN_CLASSES + PLAN_FEATURES, 2u * PLAN_GAUGES);"


def _call(name: str, graph: Graph, apart: bool) -> str:
    given = "(const int8_t *)input, " if apart else ""
    random = ", &random_state" if takes_random(graph) else ""
    return f"{name}_run({given}arena.bytes, &{name}_out{random});"


def _one(firmware: Firmware) -> list[str]:
    (name,), (graph,) = firmware.names(), firmware.graphs
    once = ["static int begun;", f"if (!begun) {{ {name}_reset(arena.bytes); }}", "begun = 1;"]
    return [
        f"{name}_outputs {name}_out;",
        *(once if graph.states else ()),
        _call(name, graph, firmware.keeps_input),
        f"*probs = {name}_out.probs;",
        f"*features = {f'{name}_out.features' if firmware.features else 'NULL'};",
    ]


def _several(firmware: Firmware, lines: list[str]) -> list[str]:
    """Return the body that averages; what it needs beside it goes to `lines`."""
    lines += [
        "static uint16_t sums[PLAN_CLASSES];",
        "static int8_t mean[PLAN_CLASSES];",
        "",
        "static void add(const int8_t *probs)",
        "{",
        "    uint32_t i;",
        "    for (i = 0; i < PLAN_CLASSES; i++) {",
        "        sums[i] = (uint16_t)(sums[i] + (uint32_t)(probs[i] + 128));",
        "    }",
        "}",
    ]
    pairs = list(zip(firmware.names(), firmware.graphs, strict=True))
    body = [f"{name}_outputs {name}_out;" for name, _ in pairs]
    body += ["uint32_t i;", "for (i = 0; i < PLAN_CLASSES; i++) {", "    sums[i] = 0;", "}"]
    if firmware.passes > 1:
        body.append(f"for (i = 0; i < {firmware.passes}u; i++) {{")
    for name, graph in pairs:
        run = _call(name, graph, firmware.keeps_input)
        calls = [run, *(f"add({name}_out.{output});" for output in posteriors(graph))]
        body += [f"    {call}" for call in calls] if firmware.passes > 1 else calls
    if firmware.passes > 1:
        body.append("}")
    half = firmware.members // 2
    return [
        *body,
        "for (i = 0; i < PLAN_CLASSES; i++) {",
        f"    mean[i] = (int8_t)((int32_t)((sums[i] + {half}u) / {firmware.members}u) - 128);",
        "}",
        "*probs = mean;",
        "*features = NULL;",
    ]
