"""The laboratory has the version of the product it was made for, and needs that very version.

In a checkout, version, archives and links come from the product beside it. A source archive of the lab alone
carries version and description in its own metadata.
"""

import importlib.util
import re
from email import message_from_string
from pathlib import Path

from setuptools import setup
from setuptools.command.egg_info import egg_info

HERE = Path(__file__).parent
PRODUCT = HERE.parent / "src" / "tcuq" / "_version.py"


def product():
    """Return what builds the product."""
    spec = importlib.util.spec_from_file_location("product_setup", HERE.parent / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def about() -> tuple[str, str, dict[str, type]]:
    """Return version and description, and the commands that write archives."""
    if not PRODUCT.exists():
        packed = message_from_string((HERE / "PKG-INFO").read_text(encoding="utf-8"))
        return str(packed["Version"]), str(packed.get_payload()), {}
    found = re.search(r'^VERSION = "([^"]+)"', PRODUCT.read_text(encoding="utf-8"), re.M)
    if found is None:
        raise SystemExit(f"{PRODUCT} names no version")
    beside = product()
    page = (HERE / "README.md").read_text(encoding="utf-8")
    described = beside.absolute(page, "lab/README.md", found[1])
    return found[1], described, {"sdist": beside.Sdist, "bdist_wheel": beside.Wheel}


VERSION, DESCRIPTION, COMMANDS = about()


class Info(egg_info):
    """Metadata whose description reads well away from the repository."""

    def finalize_options(self):
        """Take the description with absolute links."""
        super().finalize_options()
        self.distribution.metadata.long_description = DESCRIPTION


if __name__ == "__main__":
    setup(
        version=VERSION,
        install_requires=[f"tcuq=={VERSION}", "numpy>=1.24"],
        cmdclass={"egg_info": Info, **COMMANDS},
    )
