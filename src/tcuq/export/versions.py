"""The version of a package in the words of each manifest: Python's own form is not valid everywhere."""

from __future__ import annotations

import re

from ..base.errors import wrong_value

_PARTS = re.compile(
    r"(?P<release>\d+(?:\.\d+)*)"
    r"(?:(?P<pre>a|b|rc)(?P<pre_number>\d+))?"
    r"(?:\.post(?P<post>\d+))?"
    r"(?:\.dev(?P<dev>\d+))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:\.[a-z0-9]+)*))?"
)


def release_of(version: str) -> str:
    """Return the three numbers of a version, for manifests that take nothing else.

    Examples
    --------
    >>> release_of("1.4.0rc1"), release_of("1.2")
    ('1.4.0', '1.2.0')
    """
    numbers = [*_parsed(version)["release"].split("."), "0", "0"][:3]
    return ".".join(str(int(number)) for number in numbers)


def semver_of(version: str) -> str:
    """Return a version as semantic versioning writes it.

    Examples
    --------
    >>> [semver_of(version) for version in ("1.4.0", "1.4.0.dev4", "1.4.0rc1", "1.4.0.post1")]
    ['1.4.0', '1.4.0-dev.4', '1.4.0-rc.1', '1.4.0+post.1']
    """
    found = _parsed(version)
    before = [f"{found['pre']}.{int(found['pre_number'])}"] if found["pre"] else []
    before += [f"dev.{int(found['dev'])}"] if found["dev"] else []
    after = [f"post.{int(found['post'])}"] if found["post"] else []
    after += [found["local"]] if found["local"] else []
    return (
        release_of(version)
        + (f"-{'.'.join(before)}" if before else "")
        + (f"+{'.'.join(after)}" if after else "")
    )


def _parsed(version: str) -> dict[str, str]:
    found = _PARTS.fullmatch(version)
    if found is None:
        raise wrong_value("version", version, "numbers with dots, as 1.4.0 or 1.4.0rc1")
    return found.groupdict()
