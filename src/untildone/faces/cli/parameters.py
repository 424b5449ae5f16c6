"""What several commands take: the folder, the loop, JSON, and amounts that are checked where they are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from untildone.core.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])
LARGEST_ROUNDS = 1_000_000
LARGEST = 10**15
_WHOLE = re.compile(r"[0-9]{1,18}")
_DECIMAL = re.compile(r"([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})(e[+-]?[0-9]{1,3})?", re.IGNORECASE)


def folder(command: Command) -> Command:
    return click.option("--dir", "folder", metavar="D", default=".", help="The workspace (this folder).")(command)


def as_json(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line on standard output.")(command)


def loop_name(command: Command) -> Command:
    """The loop must be named."""
    return click.argument("name", metavar="LOOP", shell_complete=_loops)(command)


def loop_or_last(command: Command) -> Command:
    return click.argument("name", metavar="[LOOP]", default="last", shell_complete=_loops)(command)


def loop_or_unfinished(command: Command) -> Command:
    return click.argument("name", metavar="[LOOP]", required=False, shell_complete=_loops)(command)


def _loops(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from untildone.store import layout

    root = layout.find_root(Path(context.params.get("folder") or ".").resolve())
    return [name for name in (*reversed(layout.ids(root)), "last") if name.startswith(incomplete)]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a limit: raised by an amount, set to it, or (None) taken away."""

    amount: float | None
    add: bool


class Amount(click.ParamType[Any]):
    """A number above zero; with `unlimited`, also the word `none`."""

    name = "amount"

    def __init__(self, unit: str, *, whole: bool = False, unlimited: bool = False) -> None:
        self.unit = unit
        self.whole = whole
        self.unlimited = unlimited

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        return self._no_limit() if self.unlimited and value.strip().lower() == "none" else self.number(value, param)

    def _no_limit(self) -> Any:
        return "none"

    def number(self, text: str, param: click.Parameter | None) -> float:
        if not (_WHOLE if self.whole else _DECIMAL).fullmatch(text):
            raise self._wrong(text, param)
        number = int(text) if self.whole else float(text)
        if not 0 < number <= (LARGEST_ROUNDS if self.unit == "rounds" else LARGEST):
            raise self._wrong(text, param)
        return number

    def _wrong(self, text: str, param: click.Parameter | None) -> UsageError:
        kind = "a whole number" if self.whole else "a number"
        bound = f"from 1 to {LARGEST_ROUNDS:,}" if self.unit == "rounds" else "above 0"
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
