"""Run the Python blocks of one page in their order, in one process that keeps their names.

A block comes as a line of JSON on standard input, an answer goes out as one.
"""

from __future__ import annotations

import ast
import contextlib
import json
import linecache
import os
import sys
import tempfile
import traceback
from typing import Any


def executed(code: str, place: str, names: dict[str, Any]) -> int:
    """Run a block among the names of those before it and return its status."""
    # Tracebacks then show the lines of the page.
    linecache.cache[place] = (len(code), None, code.splitlines(True), place)
    try:
        tree = ast.parse(code, place)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, place, "exec", dont_inherit=True), names)
        shown = None if last is None else eval(compile(ast.Expression(last.value), place, "eval"), names)
        if shown is not None:  # as the prompt of Python and a notebook show it
            print(repr(shown))
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    """Take blocks until there are no more."""
    import __main__

    answers = os.fdopen(os.dup(1), "w")
    names = vars(__main__)
    sys.path.insert(0, "")  # modules of the page's folder, as in a session of one's own
    for line in sys.stdin:
        told = json.loads(line)
        os.chdir(told["folder"])
        with tempfile.TemporaryFile("w+") as printed:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            status = executed(told["code"], told["place"], names)
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            printed.seek(0)
            answers.write(json.dumps({"status": status, "printed": printed.read()}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
