"""The declaration of a setting: its value, its flags, its form field.

Standard library only: the command line reads declarations before it loads anything else, and the stop hook has nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from untildone.core.values.value import dataclass, replace

T = TypeVar("T")
PREFIX = "UNTILDONE_"


class Command(StrEnum):
    """The commands that take settings as flags."""

    RUN = "run"
    HOOK = "hook start"
    """Also `/until-done` in an agent's session."""
    WRAP = "wrap"
    SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A flag without a value, which stands for one value of a setting: `--quick` for `--route direct`."""

    name: str
    value: str | bool
    help: str


@dataclass(frozen=True, slots=True)
class Flag:
    """How the command line sets a setting."""

    help: str
    metavar: str = ""
    """How help shows the value."""
    names: tuple[str, ...] = ()
    """Empty: made from the name of the setting. A switch has one name with a slash: `--interactive/--auto`."""
    commands: tuple[Command, ...] = (Command.RUN,)
    other_help: Mapping[Command, str] | None = None
    """For commands in which the flag means something more special."""


@dataclass(frozen=True, slots=True)
class Group:
    """A card of the settings page."""

    title: str
    icon: str = ""
    in_new_loop: str = "open"
    """In the form for a new loop: `open`, `folded` or `absent`."""


@dataclass(frozen=True, slots=True)
class FormField:
    """What the form shows instead of the title and help of the setting."""

    title: str = ""
    help: str = ""
    placeholder: str = ""
    secret: bool = False
    only_with: str = ""
    """Another setting without which this one has no effect: its name, or `name=value`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The form that a text must have."""

    pattern: str
    noun: str
    hint: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. The file key is its name, the environment variable is UNTILDONE_NAME.

    Title and help are shown by the JSON Schema, the form and the API; they are also the keys of the translations. `{agents}`
    in a text stands for the names of the agents, `{modes}` for those of the modes.
    """

    default: Any
    title: str
    help: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    """Other names in files and in the environment."""
    group: Group = Group("More")
    flag: Flag | None = None
    shortcuts: tuple[Shortcut, ...] = ()
    implies: tuple[str, str] | None = None
    """Another setting and the value that it gets if a flag sets this one and no flag sets the other."""
    switch: bool = False
    """Whether it is true, false or not set. One whose default is true or false need not say so."""
    choices: tuple[str, ...] = ()
    unit: str = ""
    """What a number counts. Only numbers have one."""
    whole: bool = False
    unlimited: bool = False
    """Whether the word `none` is allowed in place of a number."""
    above: float | None = None
    lowest: float | None = None
    highest: float | None = None
    shape: Shape | None = None
    filled: bool = False
    """Whether an empty text is refused."""
    check: Callable[..., Any] | None = None
    """Raises ValueError with a sentence about a value (of a list: about an entry; of a table: about a name and its text)."""
    form: FormField = FormField()

    @property
    def variable(self) -> str:
        return f"{PREFIX}{self.name.upper()}"

    @property
    def is_switch(self) -> bool:
        return self.switch or isinstance(self.default, bool)

    @property
    def flag_names(self) -> tuple[str, ...]:
        """The names of its flag, as click takes them."""
        if self.flag is None or self.flag.names:
            return () if self.flag is None else self.flag.names
        word = self.name.replace("_", "-")
        return (f"--{word}/--no-{word}",) if self.is_switch else (f"--{word}",)

    def is_flag_of(self, command: Command) -> bool:
        return self.flag is not None and command in self.flag.commands


def setting(default: T, title: str, help: str, **more: Any) -> T:
    """Declares a field of a class: for type checkers its default, at run time a Setting that `declares` collects."""
    return Setting(default, title, help, **more)  # type: ignore[return-value]


def declares(table: dict[str, Setting]) -> Callable[[type[T]], type[T]]:
    """A decorator that gives a class plain defaults and puts the declarations of its fields into `table`, by name."""

    def collect(kind: type[T]) -> type[T]:
        for name, declared in list(vars(kind).items()):
            if isinstance(declared, Setting):
                table[name] = replace(declared, name=name)
                setattr(kind, name, declared.default)
        return kind

    return collect
