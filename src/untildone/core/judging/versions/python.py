"""Settings and documents of Python with two uses: tools in pyproject.toml, examples, settings of Django."""

from __future__ import annotations

import re
from collections import Counter

from untildone.core.judging.checks.scripts import CheckFiles
from untildone.core.judging.documents import Key
from untildone.core.judging.globs import words
from untildone.core.judging.versions.parts import SAME, Comparison, Part, text_of

PYPROJECT: tuple[Key, ...] = (
    *(
        ("tool", name)
        for name in sorted(
            words("pytest coverage tox nox nose nosetests ward behave robot pytest-enabler hypothesis stestr")
        )
    ),
    ("project", "entry-points", "pytest11"),
    ("tool", "poetry", "plugins", "pytest11"),
)

PYPROJECT_OF_TOOLS: dict[str, tuple[Key, ...]] = {
    **{
        tool: (("tool", tool),)
        for tool in words("ruff mypy pyright basedpyright pylint black isort bandit flake8 ty pyrefly vulture")
    },
    "lint-imports": (("tool", "importlinter"),),
    "hatch": tuple(
        ("tool", "hatch", "envs", "*", name)
        for name in ("scripts", "env-vars", "pre-install-commands", "post-install-commands")
    ),
    "poe": (("tool", "poe"),),
    "task": (("tool", "taskipy"),),
    "pdm": (("tool", "pdm", "scripts"),),
    "rye": (("tool", "rye", "scripts"),),
    "pixi": (
        *((("tool", "pixi", name)) for name in ("tasks", "activation")),
        *((("tool", "pixi", "feature", "*", name)) for name in ("tasks", "activation")),
    ),
}

_EXAMPLE = re.compile(r"^[ \t]*>>> (.*(?:\n[ \t]*\.\.\. ?.*)*)((?:\n[ \t]*(?!>>>)\S.*)*)", re.MULTILINE)


def compare_text(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """Examples in documentation that a check runs, and Django's choice of a test runner."""
    if path.endswith("settings.py") and "manage.py" in files.tools and _django(start) != _django(claimed):
        return Comparison(Part.CHANGED, _with_django(start or b"", claimed))
    if path.rpartition("/")[2] == "setup.py" and _plugins(start) != _plugins(claimed):
        return Comparison(Part.CHANGED if start is not None else Part.ADDED)
    if start is None or "doctest" not in files.tools:
        return SAME
    was, now = (Counter(_doctests(content)) for content in (start, claimed or b""))
    return Comparison(Part.CHANGED) if was - now or _rebinds(start, claimed or b"") else SAME


def _plugins(content: bytes | None) -> list[str]:
    """The plugins of pytest that a `setup.py` declares."""
    return re.findall(r"pytest11[^\]]*", text_of(content or b""))


_BINDS = re.compile(r"(\w+)\s*(?::[^=]*)?=(?!=)|(?:def|class|del)\s+(\w+)|(?:from\s.*)?import\s.*\bas\s+(\w+)")


def _rebinds(start: bytes, claimed: bytes) -> bool:
    """Whether a new example gives a name another meaning that an example of the start, later in the same text, uses."""
    known = Counter(_doctests(start))
    for text in re.split(r"\"\"\"|\'\'\'", text_of(claimed)):
        bound: set[str] = set()
        for example in _doctests(text.encode("utf-8", "surrogateescape")):
            if known[example]:
                known[example] -= 1
                if bound.intersection(re.findall(r"\w+", example[0])):
                    return True
            elif binding := _BINDS.match(example[0]):
                bound |= {name for name in binding.groups() if name}
    return False


def _doctests(content: bytes) -> list[tuple[str, ...]]:
    text = text_of(content).replace('"""', "").replace("'''", "")
    return [tuple(" ".join(part.split()) for part in example) for example in _EXAMPLE.findall(text)]


_DJANGO = re.compile(r"^TEST(?:_\w+)?\s*=.*\n?", re.MULTILINE)


def _django(content: bytes | None) -> list[str]:
    return [line.strip() for line in _DJANGO.findall(text_of(content or b""))]


def _with_django(start: bytes, claimed: bytes | None) -> bytes | None:
    kept = "".join(_DJANGO.findall(text_of(start)))
    return (
        None
        if claimed is None
        else (_DJANGO.sub("", text_of(claimed)) + "\n" + kept).encode("utf-8", "surrogateescape")
    )
