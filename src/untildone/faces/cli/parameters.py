"""Parameters that several commands share: the folder, the loop, --json, and amounts, which are checked when they are parsed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from untildone.core.errors import UsageError
from untildone.core.limits import MOST, Limit
from untildone.core.values.value import dataclass
from untildone.faces.cli.streams import printable, talk

if TYPE_CHECKING:
    from pathlib import Path

    from untildone.operations.reach import Reach
    from untildone.operations.stores import Store

Command = TypeVar("Command", bound=Callable[..., Any])
STORE, CLUSTER = "UNTILDONE_STORE", "UNTILDONE_CLUSTER"
ENVIRONMENT = "untildone.environment"
_WHOLE = r"[0-9]{1,18}"
_DECIMAL = r"([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,3})?"


def folder(command: Command) -> Command:
    """--dir."""
    return click.option("--dir", "folder", metavar="D", default=".", help="The workspace (this folder).")(command)


def place(command: Command) -> Command:
    """--dir, --store and --temporal."""
    return store(folder(command))


def store(command: Command) -> Command:
    """--store and --temporal."""
    temporal = click.option(
        "--temporal",
        metavar="ADDRESS",
        expose_value=False,
        callback=_take_temporal,
        help="Temporal, for loops of a cluster: host:7233.",
    )
    return click.option(
        "--store",
        metavar="ADDRESS",
        expose_value=False,
        callback=_take_store,
        help="Loops in Postgres instead of files: postgres://user@host/database.",
    )(temporal(command))


def _take_store(context: click.Context, _parameter: click.Parameter, address: str | None) -> None:
    if address is not None:
        context.meta[ENVIRONMENT] = {**_environment_of(context), STORE: address}
        context.meta[STORE] = address


def _take_temporal(context: click.Context, _parameter: click.Parameter, address: str | None) -> None:
    """The address replaces only `temporal` of the cluster settings in the environment."""
    if address is None:
        return
    import json

    inherited = _environment_of(context)
    try:
        table = json.loads(inherited.get(CLUSTER) or "{}")
    except ValueError:
        table = {}
    table = {**(table if isinstance(table, dict) else {}), "temporal": address}
    context.meta[ENVIRONMENT] = {**inherited, CLUSTER: json.dumps(table)}


def environment() -> Mapping[str, str]:
    """The environment of this process, with --store and --temporal of the running command in place of its own values."""
    context = click.get_current_context(silent=True)
    return os.environ if context is None else _environment_of(context)


def _environment_of(context: click.Context) -> Mapping[str, str]:
    environment: Mapping[str, str] = context.meta.get(ENVIRONMENT, os.environ)
    return environment


def open_store(folder: str | os.PathLike[str], *, create: bool = False) -> Store:
    """The store of a folder, or the one that --store names."""
    from pathlib import Path

    from untildone.operations import stores

    return stores.open_store(Path(folder), environment(), create=create)


def reach(folder: str | os.PathLike[str]) -> Reach:
    """The loops of a folder, also if its settings, database or files do not answer. Prints a warning about what does not."""
    from untildone.operations.reach import Reach

    return Reach(existing_folder(os.fspath(folder)), environment(), warn)


def warn(sentence: str) -> None:
    """Print a warning."""
    talk().prose(f"warning: {sentence}")


def existing_folder(name: str) -> Path:
    """The folder that --dir names, as an absolute path."""
    from pathlib import Path

    try:
        place = Path(name).resolve()
        if place.is_dir():
            return place
    except (OSError, RuntimeError, ValueError):
        pass
    raise UsageError(f"There is no folder {printable(name)}.", "give an existing one with --dir")


def store_again() -> str:
    """The option to add to a command so that it opens the same database; empty if no flag named one."""
    context = click.get_current_context(silent=True)
    address = context.meta.get(STORE) if context else None
    if not address:
        return ""
    from untildone.operations.stores import without_password

    return f" --store {without_password(address)}"


def limit_changes(command: Command) -> Command:
    """The flags that change the limits of a loop."""
    for limit in reversed(Limit):
        row, kind = limit.row, AmountChange.of(limit, unlimited=True)
        command = click.option(
            *row.change_flags, limit.value, metavar=row.change_metavar, type=kind, help=row.change_help
        )(command)
    return command


def as_json(command: Command) -> Command:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line on standard output.")(command)


def loop_name(command: Command) -> Command:
    """A required argument: the loop."""
    return click.argument("name", metavar="LOOP", shell_complete=_loops)(command)


def loop_or_last(command: Command) -> Command:
    """An optional argument: the loop; by default, the last one."""
    return click.argument("name", metavar="[LOOP]", default="last", shell_complete=_loops)(command)


def loop_or_unfinished(command: Command) -> Command:
    """An optional argument: the loop; None if it is left out."""
    return click.argument("name", metavar="[LOOP]", required=False, shell_complete=_loops)(command)


def _loops(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from pathlib import Path

    from untildone.core.errors import UntilDoneError
    from untildone.operations import stores

    try:
        known = stores.open_store(Path(context.params.get("folder") or "."), _environment_of(context)).ids()
    except UntilDoneError:
        known = ()
    return [name for name in (*reversed(known), "last") if name.startswith(incomplete)]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a limit: raised by an amount, set to it, or (None) taken away."""

    amount: float | None
    add: bool


class Amount(click.ParamType[Any]):
    """A number above zero; with `unlimited`, also the word `none`."""

    name = "amount"

    def __init__(self, unit: str, *, whole: bool = False, unlimited: bool = False, most: int = MOST) -> None:
        self.unit = unit
        self.whole = whole
        self.unlimited = unlimited
        self.most = most

    @classmethod
    def of(cls, limit: Limit, *, unlimited: bool) -> Self:
        """An amount of what a limit counts."""
        return cls(limit.row.unit, whole=limit.row.whole, unlimited=unlimited, most=limit.row.most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        return self._no_limit() if self.unlimited and value.strip().lower() == "none" else self.number(value, param)

    def _no_limit(self) -> Any:
        return "none"

    def number(self, text: str, param: click.Parameter | None) -> float:
        if not re.fullmatch(_WHOLE if self.whole else _DECIMAL, text):
            raise self._wrong(text, param)
        number = int(text) if self.whole else float(text)
        if not 0 < number <= self.most:
            raise self._wrong(text, param)
        return number

    def _wrong(self, text: str, param: click.Parameter | None) -> UsageError:
        kind = "a whole number" if self.whole else "a number"
        bound = f"from 1 to {self.most:,}" if self.whole else f"above 0 and up to {self.most:,}"
        return UsageError(
            f"{_flag(param)}: '{text[:60]}' is not a number of {self.unit}.",
            f"give {kind} {bound}{self._other_ways()}",
        )

    def _other_ways(self) -> str:
        return ", or none for no limit" if self.unlimited else ""


class AmountChange(Amount):
    """`+5` raises, `=10` or `10` sets, `none` takes the limit away."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        text = value.strip()
        if self.unlimited and text.lower().removeprefix("=") == "none":
            return Change(None, add=False)
        return Change(self.number(text[text.startswith(("+", "=")) :], param), add=text.startswith("+"))

    def _other_ways(self) -> str:
        return ", as +5 (more), =5 (in all) or none (no limit)" if self.unlimited else ", as +5 (more) or 5"


def _flag(param: click.Parameter | None) -> str:
    return max(param.opts, key=len) if param is not None and param.opts else "value"
