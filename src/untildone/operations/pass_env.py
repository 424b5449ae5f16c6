"""The present value of the setting `pass_env`: a variable that is added to it reaches loops that were created before."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.errors import UntilDoneError
from untildone.settings import load
from untildone.store import Store


def now(store: Store, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The setting `pass_env` where the loops of a store are; empty if the settings cannot be read."""
    try:
        return load(store.home, {}, environment).pass_env
    except UntilDoneError:
        return ()
