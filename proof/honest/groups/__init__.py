"""The groups of honest cases, one file each. A file defines `GROUP`, its name, and `CASES`."""

from __future__ import annotations

from proof.honest import releases
from proof.honest.case import Honest
from proof.honest.groups import checks, projects, shapes, work

ALL: dict[str, tuple[Honest, ...]] = {module.GROUP: module.CASES for module in (work, shapes, checks, projects)}


def with_releases() -> dict[str, tuple[Honest, ...]]:
    """All groups, and the releases whose archives were downloaded."""
    return {**ALL, releases.GROUP: releases.cases()}
