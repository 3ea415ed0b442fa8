"""The forms of a package: one module a platform, and the list of them."""

from __future__ import annotations

from ...base.generated import PLATFORMS
from .arduino import ARDUINO
from .c import C
from .cmake import CMAKE
from .espidf import ESPIDF
from .form import Form
from .micropython import MICROPYTHON
from .platformio import PLATFORMIO
from .rust import RUST
from .zephyr import ZEPHYR

_ALL = {form.name: form for form in (C, ARDUINO, PLATFORMIO, ZEPHYR, ESPIDF, CMAKE, MICROPYTHON, RUST)}

FORMS: dict[str, Form] = {name: _ALL[name] for name in PLATFORMS}
"""Every form by its name, in the order of the help."""

__all__ = ["FORMS", "Form"]
