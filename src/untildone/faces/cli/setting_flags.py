"""Options of the command line that set settings, made from their declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from untildone.core.errors import UsageError
from untildone.core.limits import MOST
from untildone.core.values.value import dataclass
from untildone.faces.cli.parameters import Amount
from untildone.settings import names
from untildone.settings.declared import every
from untildone.settings.setting import Command, Setting

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _OptionArguments:
    """The arguments of `click.option`."""

    names: tuple[str, ...]
    arguments: Mapping[str, Any]


class _Option(click.Option):
    """An option whose help may list agents and modes. They are looked up only when help is shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = names.put_in(self.help or "")
        return super().get_help_record(ctx)


def setting_flags(command: Command, **instead: Mapping[str, Any]) -> Callable[[Decorated], Decorated]:
    """Adds the flags of a command. `instead` holds, by setting, arguments of click that replace the declared ones."""

    def add(function: Decorated) -> Decorated:
        for declared in reversed(tuple(every(names.own_modes()).values())):
            for option in reversed(_options(declared, command, instead.get(declared.name, {}))):
                function = click.option(*option.names, cls=_Option, **option.arguments)(function)
        return function

    return add


def flags_of_plugin(command: Command, arguments: Sequence[str]) -> list[click.Parameter]:
    """The flags of the mode that the arguments choose, if a plugin brings it: flags are made before plugins are loaded."""
    words = iter(arguments)
    mode = next((word.partition("=")[2] or next(words, "") for word in words if word.split("=")[0] == "--mode"), "")
    own = names.own_modes()
    if not mode or mode in own or mode not in names.all_modes():
        return []
    declared = [each for name, each in every((mode,)).items() if name not in every(own) and each.is_flag_of(command)]
    options = (option for each in declared for option in _options(each, command, {}))
    return [_Option(option.names, **option.arguments) for option in options]


def given(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that flags set, with those that they imply. A flag that was not given is None or an empty tuple."""
    values = {name: value for name, value in flags.items() if value is not None and value != () and value != {}}
    known = every(names.own_modes())
    for declared in known.values():
        _take_shortcuts(declared, values)
    for name in tuple(values):
        implied = known[name].implies if name in known else None
        if implied is not None and values.setdefault(*implied) != implied[1]:
            setting, value = implied
            raise UsageError(
                f"{known[name].flag_names[0]} belongs to {setting} {value}, not to {setting} {values[setting]}.",
                f"leave out one of them, or choose --{setting} {value}",
            )
    return values


def _take_shortcuts(declared: Setting, values: dict[str, Any]) -> None:
    """Put the value of a shortcut in the place of its setting. Two flags that set different values are refused."""
    given = {
        each.name: values.pop(_kept_as(declared, each.name))
        for each in declared.shortcuts
        if _kept_as(declared, each.name) in values
    }
    if declared.name in values:
        given[declared.flag_names[0]] = values[declared.name]
    chosen = list(given.values())
    if any(value != chosen[0] for value in chosen):
        first, second, *_ = given
        raise UsageError(f"{first} and {second} contradict each other.", "give one of them")
    values.update(dict.fromkeys((declared.name,) if given else (), next(iter(given.values()), None)))


def _kept_as(declared: Setting, shortcut: str) -> str:
    """The name under which click keeps a shortcut, apart from its setting: so two of them do not overwrite each other."""
    return f"{declared.name}__{shortcut.strip('-').replace('-', '_')}"


def _options(declared: Setting, command: Command, instead: Mapping[str, Any]) -> tuple[_OptionArguments, ...]:
    """The options of click for one setting: its flag, then its shortcuts."""
    flag = declared.flag
    if flag is None or command not in flag.commands:
        # A shortcut of a setting without a flag is a flag of `run`.
        return _shortcuts(declared) if flag is None and command is Command.RUN else ()
    wording = (flag.other_help or {}).get(command, flag.help)
    arguments = {"help": wording, "metavar": flag.metavar or None, **_type(declared), **instead}
    return _OptionArguments((*declared.flag_names, declared.name), arguments), *_shortcuts(declared)


def _shortcuts(declared: Setting) -> tuple[_OptionArguments, ...]:
    return tuple(
        _OptionArguments(
            (each.name, _kept_as(declared, each.name)),
            {"flag_value": each.value, "type": type(each.value), "default": None, "help": each.help},
        )
        for each in declared.shortcuts
    )


def _type(declared: Setting) -> dict[str, Any]:
    if declared.choices:
        return {"type": click.Choice(declared.choices)}
    if declared.unit:
        most = MOST if declared.highest is None else int(declared.highest)
        return {"type": Amount(declared.unit, whole=declared.whole, unlimited=declared.unlimited, most=most)}
    if declared.is_switch:
        return {"default": None}
    if isinstance(declared.default, Mapping):
        return {"multiple": True, "callback": _as_table}
    return {"multiple": True} if isinstance(declared.default, tuple) else {}


def _as_table(_context: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    """`NAME=TEXT`, given several times, as a table. Without a text, it is empty."""
    return {name: text for name, _, text in (pair.partition("=") for pair in pairs)}
