"""Options of operators, from their tables."""

from __future__ import annotations

from collections.abc import Callable

from tcuq.base.errors import InputError, wrong_value

from .flatbuffer import Table
from .model import Options
from .schema import ACTIVATIONS, PADDINGS

MOST = 65_535
"""Largest stride, dilation or window."""


def _named(table: Table, field: int, what: str, names: tuple[str, ...]) -> str:
    found = int(table.number(field, "<i1", 0))
    if not 0 <= found < len(names):
        raise InputError("damaged", f"{what} is number {found}, expected one of {', '.join(names)}")
    return names[found]


def _padding(table: Table) -> str:
    return _named(table, 0, "padding", PADDINGS)


def _activation(table: Table, field: int) -> str:
    return _named(table, field, "the fused activation", ACTIVATIONS)


def _pair(table: Table, what: str, height: int, width: int, default: int = 0) -> tuple[int, int]:
    found = table.number(height, "<i4", default), table.number(width, "<i4", default)
    if not all(1 <= each <= MOST for each in found):
        raise wrong_value(what, found, f"1 to {MOST}")
    return found


def _conv(table: Table) -> Options:
    return Options(
        padding=_padding(table),
        stride=_pair(table, "stride", 2, 1),
        activation=_activation(table, 3),
        dilation=_pair(table, "dilation", 5, 4, 1),
    )


def _depthwise(table: Table) -> Options:
    return Options(
        padding=_padding(table),
        stride=_pair(table, "stride", 2, 1),
        multiplier=table.number(3, "<i4", 0),
        activation=_activation(table, 4),
        dilation=_pair(table, "dilation", 6, 5, 1),
    )


def _pool(table: Table) -> Options:
    return Options(
        padding=_padding(table),
        stride=_pair(table, "stride", 2, 1),
        window=_pair(table, "window", 4, 3),
        activation=_activation(table, 5),
    )


def _dense(table: Table) -> Options:
    layout = table.number(1, "<i1", 0)
    if layout:
        raise InputError("unsupported", f"weights are in layout {layout}, expected 0, row by row")
    return Options(activation=_activation(table, 0), keep=bool(table.number(2, "<u1", 0)))


def _sum(table: Table) -> Options:
    return Options(activation=_activation(table, 0))


def _mean(table: Table) -> Options:
    return Options(keep=bool(table.number(0, "<u1", 0)))


def _joined(table: Table) -> Options:
    return Options(axis=table.number(0, "<i4", 0), activation=_activation(table, 1))


def _factor(table: Table) -> Options:
    return Options(beta=table.number(0, "<f4", 0.0))


def _variable(table: Table) -> Options:
    return Options(state=f"{table.text(0)}/{table.text(1)}")


def _flags(kind: str, first: int, last: int) -> Callable[[Table], Options]:
    return lambda table: Options(flags=tuple(int(table.number(at, kind, 0)) for at in range(first, last)))


READERS: dict[str, tuple[int, Callable[[Table], Options]]] = {
    "ADD": (11, _sum),
    "AVERAGE_POOL_2D": (5, _pool),
    "CALL_ONCE": (103, _flags("<i4", 0, 1)),
    "CONCATENATION": (10, _joined),
    "CONV_2D": (1, _conv),
    "DEPTHWISE_CONV_2D": (2, _depthwise),
    "DEPTH_TO_SPACE": (94, _flags("<i4", 0, 1)),
    "FULLY_CONNECTED": (8, _dense),
    "GATHER": (23, _flags("<i4", 0, 2)),
    "GELU": (116, _flags("<u1", 0, 1)),
    "LEAKY_RELU": (75, _factor),
    "MAX_POOL_2D": (5, _pool),
    "MEAN": (27, _mean),
    "MUL": (21, _sum),
    "PACK": (59, _flags("<i4", 0, 2)),
    "REDUCE_MAX": (27, _mean),
    "REDUCE_MIN": (27, _mean),
    "RESIZE_NEAREST_NEIGHBOR": (74, _flags("<u1", 0, 2)),
    "SOFTMAX": (9, _factor),
    "SPACE_TO_DEPTH": (19, _flags("<i4", 0, 1)),
    "STRIDED_SLICE": (32, _flags("<i4", 0, 5)),
    "SUB": (28, _sum),
    "UNPACK": (64, _flags("<i4", 0, 2)),
    "VAR_HANDLE": (111, _variable),
}
"""Operators whose options matter: their type, and what reads them."""


def options_of(code: str, kind: int, table: Table | None) -> Options:
    """Return the options of an operator."""
    if code not in READERS:
        return Options()
    wanted, reader = READERS[code]
    if kind != wanted or table is None:
        raise InputError("damaged", f"options are of type {kind} or missing, expected type {wanted}")
    return reader(table)
