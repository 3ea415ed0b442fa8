"""Configurations that come with the package: one matrix of backbones and variants.

`configs.json` holds what each variant changes, and for each backbone its plain configuration and the variants
that it has. A name is that of the backbone, or backbone and variant joined by an underscore. Fields of a
backbone's own entry win over those of the variant, which win over the plain ones.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "configs.json"
PLAIN = "plain"
BACKBONE = "{backbone}"
"""Stands for the name of the plain configuration in settings of a variant: the teacher, for instance."""


def shipped() -> dict[str, dict[str, Any]]:
    """Return the content of every configuration, by name."""
    return {name: json.loads(content) for name, content in _expanded().items()}


@cache
def _expanded() -> dict[str, str]:
    matrix = json.loads(FILE.read_text(encoding="utf-8"))
    found = {}
    for backbone, cells in matrix["backbones"].items():
        for variant, own in cells.items():
            plain = variant == PLAIN
            name = backbone if plain else f"{backbone}_{variant}"
            shared = {} if plain else matrix["variants"][variant]
            content = {"name": name, "backbone": backbone, **cells[PLAIN], **shared, **own}
            found[name] = json.dumps(content).replace(BACKBONE, backbone)
    return found
