"""The figures of ``/metrics`` for OpenTelemetry: OTLP over HTTP, as JSON."""

from __future__ import annotations

import re
from typing import Any

from tcuq._version import VERSION

PATH = "/v1/metrics"
CUMULATIVE = 2  # AGGREGATION_TEMPORALITY_CUMULATIVE

_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def metrics_url(url: str) -> str:
    """Return where a collector takes metrics."""
    return url if url.rstrip("/").endswith(PATH) else url.rstrip("/") + PATH


def otlp_metrics(text: str, began: float, now: float, instance: str) -> dict[str, Any]:
    """Return our own Prometheus text as a request of OTLP.

    `began` is when the counters were 0, in seconds since 1970: a restart does not change it, as they go on.
    """
    metrics: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    help, start = "", {}
    for line in text.split("\n"):
        if line.startswith("# HELP "):
            help = line.split(" ", 3)[3]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            points = []
            start = {"startTimeUnixNano": _nano(began)} if kind == "counter" else {}
            data = {"aggregationTemporality": CUMULATIVE, "isMonotonic": True} if start else {}
            key = "sum" if start else "gauge"
            metrics.append({"name": name, "description": help, key: {**data, "dataPoints": points}})
        elif sample := _SAMPLE.fullmatch(line):
            labels = {name: _plain(value) for name, value in _LABEL.findall(sample[2] or "")}
            point = {"attributes": _attributes(labels), "timeUnixNano": _nano(now)}
            points.append({**point, **start, "asDouble": float(sample[3])})
    resource = {"service.name": "tcuq", "service.version": VERSION, "service.instance.id": instance}
    scope = {"scope": {"name": "tcuq", "version": VERSION}, "metrics": metrics}
    return {"resourceMetrics": [{"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [scope]}]}


def _plain(value: str) -> str:
    return re.sub(r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), value)


def _nano(seconds: float) -> str:
    return str(round(seconds * 1e9))


def _attributes(values: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
