"""Files by which one step of a command could steer a test runner in the next one: hooks and settings that it loads by itself.

No build has a reason to write them while a check judges. Of a file with two uses only what runners read counts.
"""

from __future__ import annotations

import json
import re

from untildone.core.judging import globs
from untildone.core.judging.tables import BUILD_FOLDERS, TEXT_FOLDERS

_JS = "{js,jsx,ts,tsx,mjs,cjs,mts,cts}"
_WHOLE = globs.of_names(
    (
        "conftest.py",
        "{.,}pytest.{ini,toml}",
        "{site,user}customize.py",
        "{pytest,unittest}.py",
        f"{{jest,vitest,ava}}.config.{{json,{_JS[1:]}",
        ".mocharc*",
        ".rspec",
        "phpunit.xml{,.dist}",
    )
)
_TABLES = re.compile(rb"^\[(?:tool[.:])?(?:pytest|coverage|tox|jest)[^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE)
_KEYS = ("jest", "vitest", "mocha", "ava", "c8", "nyc", "tap", "jasmine", "scripts")
_WITH_TABLES = ("pyproject.toml", "setup.cfg", "tox.ini")
_LEFT_OUT = BUILD_FOLDERS | TEXT_FOLDERS | globs.words("tmp temp target node_modules vendor generated")


def may_steer(path: str) -> bool:
    """Whether a test runner may read a file of this name by itself."""
    *folders, name = path.split("/")
    is_known = name in (*_WITH_TABLES, "package.json") or _WHOLE.match(path) is not None
    return is_known and _LEFT_OUT.isdisjoint(folder.lower() for folder in folders)


def steering_part(path: str, content: bytes) -> bytes:
    """What test runners read of a file that may steer them. Empty if there is nothing."""
    name = path.rpartition("/")[2]
    if name in _WITH_TABLES:
        return b"".join(_TABLES.findall(content))
    if name != "package.json":
        return content.strip()
    try:
        document = json.loads(content or b"{}")
        return json.dumps({key: document[key] for key in _KEYS if key in document}, sort_keys=True).encode()
    except (ValueError, TypeError, RecursionError):
        return content
