"""Finds an agent, a mode or a gate by its name.

Three sources, in this order: the packages in the folder of their kind, the entry points of installed packages, and `module:NAME`.
A plugin can add a name, it cannot replace one of the folder. A package of the folder may have variants, which are called `package:REST`.
"""

from __future__ import annotations

import sys

from untildone.core.errors import UnknownName, UsageError
from untildone.core.values.hints import Any, Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint
    from types import ModuleType

T = TypeVar("T")


class Registry(Generic[T]):
    """All implementations of one kind, such as "agent".

    Each has a package in `untildone.agents` that defines AGENT, in its `__init__` or in its module `agent`.
    """

    def __init__(self, kind: str, protocol: type | str) -> None:
        """`protocol` declares the attributes that a plugin's object must have: a class, or `module:NAME` to import it late."""
        self._kind = kind
        self._protocol = protocol
        self._room = f"untildone.{kind}s"
        self._loaded: dict[str, T] = {}
        self._own_names: tuple[str, ...] = ()

    def find(self, name: str) -> T:
        """The implementation called `name`. Raises UsageError if there is none, or if a plugin cannot be loaded."""
        if name not in self._loaded:
            self._loaded[name] = self._own(name) or self._plugin(name)
        return self._loaded[name]

    def names(self) -> tuple[str, ...]:
        """The names in the folder and those of installed plugins, sorted."""
        return tuple(sorted({*self.own_names(), *(point.name for point in self._entry_points())}))

    def own_names(self) -> tuple[str, ...]:
        """The names in the folder, sorted. Cheaper than `names`: reads no metadata of installed packages, and the folder once."""
        if not self._own_names:
            import pkgutil

            found = (module.name for module in pkgutil.iter_modules(sys.modules[self._room].__path__))
            self._own_names = tuple(sorted(name for name in found if not name.startswith("_")))
        return self._own_names

    def variants(self, name: str) -> tuple[str, ...]:
        """The names of the variants that a package of the folder knows, such as `package:REST`. It may make others too."""
        known = _attribute(f"{self._room}.{name}", "variants")
        return tuple(f"{name}:{rest}" for rest in known()) if known else ()

    def _own(self, name: str) -> T | None:
        package, _, rest = name.partition(":")
        if rest and package.isidentifier() and not package.startswith("_"):
            make = _attribute(f"{self._room}.{package}", "variant")
            return make(rest) if make else None
        if not name.isidentifier() or name.startswith("_"):
            return None
        module = f"{self._room}.{name}"
        own: T | None = _attribute(module, self._kind.upper()) or self.part(name, self._kind, self._kind.upper())
        return own

    def part(self, name: str, module: str, attribute: str) -> Any:
        """An attribute of one module in the package called `name`; None if the package has no such module."""
        return _attribute(f"{self._room}.{name}.{module}", attribute)

    def _plugin(self, name: str) -> T:
        installed = (point.value.partition("[")[0].strip() for point in self._entry_points() if point.name == name)
        reference = next(installed, name if ":" in name else None)
        if reference is None:
            known = ", ".join((*self.names(), f"MODULE:{self._kind.upper()}"))
            raise UnknownName(f"There is no {self._kind} named '{name[:60]}'.", f"choose one of: {known}")
        try:
            return self._checked(_load(reference))
        except Exception as problem:
            raise UsageError(
                f"The {self._kind} '{name[:60]}' cannot be loaded from {reference[:200]}: {_described(problem)}.",
                "fix or uninstall the package that defines it, or choose another",
            ) from None

    def _entry_points(self) -> Iterable[EntryPoint]:
        from importlib.metadata import entry_points

        _add_site_packages()
        return entry_points(group=self._room)

    def _checked(self, plugin: T) -> T:
        """The plugin's object. Raises TypeError if it lacks an attribute that the protocol declares."""
        protocol = _load(self._protocol) if isinstance(self._protocol, str) else self._protocol
        expected = {*getattr(protocol, "__annotations__", ()), *vars(protocol)}
        missing = sorted(name for name in expected if not name.startswith("_") and not hasattr(plugin, name))
        if missing:
            raise TypeError(f"it is no {self._kind}: it has no {', '.join(missing)}")
        return plugin


def _attribute(module: str, name: str) -> Any:
    """An attribute of a module; None if there is no such module, or none with that attribute."""
    try:
        return getattr(_import_module(module), name, None)
    except ModuleNotFoundError as problem:
        # If the missing module is neither this module nor a package around it, an import inside of it failed.
        if problem.name is None or not f"{module}.".startswith(f"{problem.name}."):
            raise
        return None


def _import_module(name: str) -> ModuleType:
    """Like `importlib.import_module`, which the stop hook avoids because it imports `warnings`."""
    __import__(name)
    return sys.modules[name]


def _load(reference: str) -> Any:
    """The object that `module:NAME` refers to."""
    module, _, name = reference.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ValueError("the reference is not of the form module:NAME")
    return getattr(_import_module(module), name)


def _described(problem: Exception) -> str:
    """The exception in one line, with its type unless the message is ours."""
    text = " ".join(str(problem).split())[:300].rstrip(".")
    return text if type(problem) in (TypeError, ValueError) else f"{type(problem).__name__}: {text}"


def _add_site_packages() -> None:
    """Make installed packages importable in the stop hook, which runs with `-S`. Only plugins need that."""
    if sys.flags.no_site and "site" not in sys.modules:
        import site

        site.main()
