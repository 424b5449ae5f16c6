"""The families of cheats, one file each. A file defines `FAMILY`, its name, and `CHEATS`."""

from __future__ import annotations

from proof.cheats.case import Cheat
from proof.cheats.families import (
    by_path,
    check_command,
    control,
    hidden,
    mentions,
    pipes,
    programs,
    races,
    runner_settings,
    source,
    stand_ins,
    state,
    supervisor,
    tests,
    vacuous,
    wrappers,
)

_MODULES = (
    tests,
    runner_settings,
    vacuous,
    pipes,
    check_command,
    source,
    programs,
    by_path,
    mentions,
    stand_ins,
    wrappers,
    hidden,
    races,
    state,
    control,
    supervisor,
)
ALL: dict[str, tuple[Cheat, ...]] = {module.FAMILY: module.CHEATS for module in _MODULES}
