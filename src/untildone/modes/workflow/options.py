"""Texts of a project that replace the instructions of the mode workflow: one file for each action."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.model import EMPTY
from untildone.core.plugins.mode import FromFiles
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass, field

FILE = ".loop/actions/*.md"
ACTIONS = "actions"
"""The name of the option in the journal that holds the texts."""


@dataclass(frozen=True, slots=True)
class WorkflowOptions:
    """The options of one loop."""

    actions: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Instructions that replace those of this package, by action."""


def options_of(kept: Mapping[str, Any]) -> WorkflowOptions:
    """The options in the journal as a typed value."""
    return WorkflowOptions(kept.get(ACTIONS) or EMPTY)


def from_files(texts: Mapping[str, str]) -> FromFiles:
    """The texts of the project, without empty ones."""
    named = {path.rpartition("/")[2].removesuffix(".md"): text for path, text in texts.items()}
    return FromFiles(options={ACTIONS: {name: text for name, text in named.items() if text.strip()}})
