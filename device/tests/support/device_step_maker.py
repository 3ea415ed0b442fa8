"""Graphs of steps without weights in TFLite's arithmetic, made at random for tests."""

from __future__ import annotations

import numpy as np
from device_graphs import Maker

from tcuq_device.graph.model import Graph, Tensor
from tcuq_device.graph.steps import (
    Concat,
    Constant,
    FixedSoftmax,
    Keep,
    MeanPool,
    Mul,
    Pad,
    Pool,
    Strided,
    Table,
    TableAdd,
    View,
)

GraphCase = tuple[Graph, np.ndarray]


class StepMaker(Maker):
    """Adds steps without weights to a graph."""

    def like(self, source: str, shape: tuple[int, ...]) -> str:
        """Add a tensor with the scale and the zero of another."""
        tensor = self.tensors[source]
        return self._tensor(shape, tensor.zero, tensor.scale)

    def ends(self) -> tuple[int, int]:
        low, high = (int(each) for each in np.sort(self.draw.integers(-128, 128, 2)))
        return (low, high) if self.draw.random() < 0.3 else (-128, 127)

    def both(self, first: str, second: str) -> tuple[str, tuple[int, int]]:
        shapes = [self.tensors[name].shape for name in (first, second)]
        return self._tensor(np.broadcast_shapes(*shapes)), self.ends()

    def table_add(self, first: str, second: str, curved: bool = False) -> str:
        target, (low, high) = self.both(first, second)
        byte = np.arange(-128, 128)
        tables = [(byte - int(z)) << 19 for z in self.draw.integers(-128, 128, 2)]
        tables[int(self.draw.integers(2))] = np.rint((byte - 5) * 2**19 * self.draw.uniform(0.05, 1)).astype(
            int
        )
        if curved:
            tables = [self.draw.integers(-(2**26), 2**26, 256) for _ in range(2)]
        left, right = (each.astype(np.int32) for each in tables)
        shift = int(self.draw.choice([0, -1, -10] if self.extreme else [-17, -18, -19, -20]))
        multiplier = int(self.draw.integers(2**30, 2**31))
        return self._add(TableAdd(first, second, target, left, right, multiplier, shift, low, high))

    def mul(self, first: str, second: str) -> str:
        target, (low, high) = self.both(first, second)
        shift = int(self.draw.choice([15, 1, 0, -1, -31] if self.extreme else [-5, -6, -7, -8]))
        multiplier = int(self.draw.integers(2**30, 2**31))
        return self._add(Mul(first, second, target, multiplier, shift, low, high))

    def strided(self, source: str) -> str:
        """Turn the dimensions of a picture around, some of them backwards, some cut or repeated."""
        shape = self.tensors[source].shape
        order = [int(each) for each in self.draw.permutation(3)]
        offset, lengths, strides = 0, [], []
        for axis in order:
            stride = int(np.prod(shape[axis + 1 :]))
            kind = int(self.draw.integers(4))
            lengths.append((shape[axis] + 1) // 2 if kind == 1 else shape[axis])
            strides.append((-stride, 2 * stride, 0, stride)[kind])
            offset += (shape[axis] - 1) * stride if kind == 0 else 0
        return self._add(
            Strided(source, self.like(source, tuple(lengths)), offset, tuple(lengths), tuple(strides))
        )

    def state(self, source: str, value: int) -> str:
        """Add a state and keep a tensor in it; return what it was before."""
        shape = self.tensors[source].shape
        name = self.like(source, shape)
        self.states[name] = value
        before = self._add(Strided(name, self.like(source, shape), 0, (self.tensors[name].size,), (1,)))
        self._add(Keep(source, name))
        return before

    def means(self, source: str, outer: int, shape: tuple[int, ...], tail: int = 1) -> str:
        target = self._tensor(shape)
        count = self.tensors[source].size // self.tensors[target].size
        multiplier = int(self.draw.integers(2**30, 2**31))
        shift = 2 if self.extreme else -(count.bit_length() - 1)
        bias = int(self.draw.integers(-999, 999))
        return self._add(MeanPool(source, target, bias, multiplier, shift, *self.ends(), outer, tail))

    def pool(
        self,
        source: str,
        kind: str,
        window: tuple[int, int],
        stride: tuple[int, int] = (1, 1),
        padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> str:
        height, width, channels = self.tensors[source].shape
        rows = (height + padding[0] + padding[2] - window[0]) // stride[0] + 1
        columns = (width + padding[1] + padding[3] - window[1]) // stride[1] + 1
        target = self.like(source, (rows, columns, channels))
        return self._add(Pool(source, target, kind, window, stride, padding, *self.ends()))

    def table(self, source: str) -> str:
        return self._add(Table(source, self._tensor(self.tensors[source].shape), self.int8(256)))

    def pad(self, source: str, before: tuple[int, ...], after: tuple[int, ...]) -> str:
        sides = zip(before, self.tensors[source].shape, after, strict=True)
        target = self.like(source, tuple(sum(each) for each in sides))
        return self._add(Pad(source, target, before, after, int(self.draw.integers(-128, 128))))

    def concat(self, sources: tuple[str, ...], axis: int) -> str:
        shapes = [self.tensors[name].shape for name in sources]
        length = sum(shape[axis] for shape in shapes)
        target = self.like(sources[0], (*shapes[0][:axis], length, *shapes[0][axis + 1 :]))
        return self._add(Concat(sources, target, axis))

    def view(self, source: str, shape: tuple[int, ...]) -> str:
        return self._add(View(source, self.like(source, shape)))

    def constant(self, shape: tuple[int, ...], like: str) -> str:
        return self._add(Constant(self.like(like, shape), self.int8(*shape)))

    def fixed_softmax(self, source: str, scale: float = 0.1) -> str:
        e = np.minimum(np.floor(2**31 * np.exp(-scale * np.arange(256))), 2**31 - 1)
        e[int(self.draw.integers(100, 256)) :] = 0
        target = self._tensor(self.tensors[source].shape, -128, 1 / 256)
        return self._add(FixedSoftmax(source, target, e.astype(np.int32)))


def fixed(extreme: bool) -> GraphCase:
    """Every kind once or more, with all shapes of broadcast, and views of everything."""
    make = StepMaker((6, 7, 5), 3, extreme, f"f{int(extreme)}_")
    curve = make.table("input")
    again = make.view(make.view(curve, (42, 5)), (6, 7, 5))
    total = make.table_add(again, make.table_add(curve, "input"), curved=True)
    row = make.constant((7, 1), "input")
    x = make.table_add(row, make.mul(total, row))
    x = make.table_add(make.view(row, (1, 7, 1)), x)
    x = make.mul(make.constant((1,), "input"), x)
    mean = make.pool(x, "mean", (3, 2), (2, 1), (1, 0, 1, 1))
    largest = make.pool(x, "max", (2, 3), (1, 2), (0, 1, 1, 1))
    eight = make.concat((x, x, x), 2)
    wide = [make.pool(eight, kind, (2, 2), (2, 2)) for kind in ("mean", "max")]
    framed = make.pad(largest, (1, 0, 2), (0, 3, 1))
    joined = make.concat((largest, make.concat((largest, largest), 1)), 1)
    height, width, channels = make.tensors[joined].shape
    means = [
        make.means(framed, 1, make.tensors[framed].shape[2:]),
        make.means(joined, height, (height, 1, channels)),
        make.means(joined, 1, (width,), tail=channels),
        make.means(joined, height * width, (height, width)),
    ]
    rows, one = make.fixed_softmax(joined), make.fixed_softmax(means[0], 0.01)
    outputs = [mean, *wide, *means, rows, make.view(one, (1, make.tensors[one].size))]
    return make.graph(**{f"out_{at}": name for at, name in enumerate(outputs)}), make.input(2)


def random_steps(seed: int) -> GraphCase:
    """Return a few steps of any kind in a row, some of whose values are asked for."""
    draw = np.random.default_rng(4000 + seed)
    shape = tuple(int(each) for each in draw.integers(3, 7, 3))
    make = StepMaker(shape, seed, seed % 5 == 4, f"r{seed}_")
    x, kept = "input", {}
    for number in range(7):
        height, width, channels = make.tensors[x].shape
        kind = int(draw.integers(12))
        if kind == 0:
            x = make.table(x)
        elif kind == 1:
            x = make.table_add(x, make.table(x))
        elif kind == 2:
            x = make.table_add(make.table(x), x, curved=True)
        elif kind == 3:
            some = tuple(int(side) if draw.random() < 0.5 else 1 for side in make.tensors[x].shape)
            pair = (x, make.constant(some[int(draw.integers(3)) :], x))
            x = (make.mul if draw.random() < 0.5 else make.table_add)(*pair[:: int(draw.choice([1, -1]))])
        elif kind == 4:
            x = make.mul(x, make.table(x))
        elif kind == 5 and min(height, width) > 2:
            window = tuple(int(each) for each in draw.integers(1, 4, 2))
            padding = tuple(int(draw.integers(0, side)) for side in (*window, *window))
            stride = tuple(int(each) for each in draw.integers(1, 3, 2))
            x = make.pool(x, str(draw.choice(["mean", "max"])), window, stride, padding)
        elif kind == 6 and max(height, width) < 9:
            before, after = (tuple(int(each) for each in draw.integers(0, 2, 3)) for _ in range(2))
            x = make.pad(x, before, after)
        elif kind == 7 and max(height, width, channels) < 9:
            x = make.concat(
                (x, make.view(make.view(x, (height * width, channels)), (height, width, channels))),
                int(draw.integers(3)),
            )
        elif kind == 9:
            x = make.strided(x)
        elif kind == 10:
            x = make.mul(make.state(x, int(draw.integers(-128, 128))), x)
        elif kind == 8:
            x = make.view(x, (width, height, channels))
        else:
            x = make.fixed_softmax(x)
        if draw.random() < 0.2:
            kept[f"kept_{number}"] = x
    features = make.means(x, 1, make.tensors[x].shape[2:])
    return make.graph(probs=make.fixed_softmax(features), features=features, **kept), make.input(3)


def halves() -> GraphCase:
    """Sums and products that lie half way between two integers, on both sides of zero, at every shift."""
    x = np.arange(-128, 128).astype(np.int8)
    tensors = {"input": Tensor("input", (256,), 1.0, 0)}
    steps: list[TableAdd | Mul] = []
    line = np.arange(-128, 128).astype(np.int32)
    for shift in (0, -1, -2, -3, -8):
        for multiplier in (2**30, 2**31 - 1, 0):
            for kind in ("sum", "product"):
                name = f"h{len(steps)}"
                tensors[name] = Tensor(name, (256,), 1.0, -3)
                if kind == "sum":
                    steps.append(
                        TableAdd("input", "input", name, line, line * 3, multiplier, shift, -100, 100)
                    )
                else:
                    steps.append(Mul("input", "input", name, multiplier, shift))
    graph = Graph("halves", tensors, steps, "input", {f"out_{at}": s.target for at, s in enumerate(steps)})
    return graph, x[None]


def cases() -> list[GraphCase]:
    """Return what compilers and boards run."""
    return [halves(), fixed(False), fixed(True), *(random_steps(seed) for seed in range(24))]
