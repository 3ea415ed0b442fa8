"""Pages of the Python reference, from what packages offer: a table of names, then each with its docstring."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

KINDS = ("autofunction", "autoclass", "data")


def api_page(module: str, names: list[str]) -> str:
    """Return Markdown that documents names of a module.

    Parameters
    ----------
    module : str
        Where the names are imported from.
    names : list of str
        All that the module offers where the list is empty.
    """
    home = import_module(module)
    names = names or offered(home)
    lines = ["```{eval-rst}", f".. currentmodule:: {module}", ""]
    objects = {name: getattr(home, name) for name in names}
    called = [name for name, value in objects.items() if callable(value)]
    if len(called) > 1:
        lines += [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in called), ""]
    for name in called:
        if inspect.isclass(objects[name]):
            members = [each for each in vars(objects[name]) if not each.startswith("_")]
            lines += [f".. autoclass:: {name}", *(["   :members:"] if members else []), ""]
        else:
            lines += [f".. autofunction:: {name}", ""]
    for name in (each for each in names if each not in called):
        lines += [
            f".. py:data:: {name}",
            "",
            *(f"   {line}" for line in said_of(home, name).splitlines()),
            "",
        ]
    return "\n".join([*lines, "```", ""])


def offered(module: ModuleType) -> list[str]:
    """Return the public names of a module: those of ``__all__`` but its version."""
    return [name for name in module.__all__ if not name.startswith("_")]


def said_of(module: ModuleType, name: str) -> str:
    """Return the docstring below a value, in the module that assigns it.

    Examples
    --------
    >>> said_of(import_module("tcuq_watch.spark"), "SETTINGS").endswith(".")
    True
    """
    path = Path(inspect.getsourcefile(module) or "")
    path = (
        path.with_suffix(".pyi") if path.with_suffix(".pyi").exists() else path
    )  # names that come when asked for
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for statement in ast.walk(ast.Module(body, [])):
        if isinstance(statement, ast.ImportFrom) and name in {each.name for each in statement.names}:
            package = module.__name__ if path.stem == "__init__" else module.__name__.rpartition(".")[0]
            for _ in range(statement.level - 1):
                package = package.rpartition(".")[0]
            home = f"{package}.{statement.module}" if statement.level else str(statement.module)
            return said_of(import_module(home), name)
    for statement, following in pairwise(body):
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if any(isinstance(each, ast.Name) and each.id == name for each in targets) and isinstance(
            following, ast.Expr
        ):
            return inspect.cleandoc(str(ast.literal_eval(following.value)))
    raise ValueError(f"{module.__name__}.{name} has no docstring, expected one below it")
