"""A `dataclass` decorator for frozen values that are cheap to define.

The standard `dataclass` generates and compiles source for every class at every start of the program. In the stop hook and the command
line that took longer than the work itself. These classes look the same to readers, type checkers and `dataclasses.replace`, but
consist of closures.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace

    __all__ = ["dataclass", "field", "replace"]
else:
    _MISSING = object()
    _set = object.__setattr__

    class _Factory:
        """A default that is computed for each new value."""

        __slots__ = ("make",)

        def __init__(self, make):
            self.make = make

    def field(*, default=_MISSING, default_factory=_MISSING):
        return default if default_factory is _MISSING else _Factory(default_factory)

    def dataclass(cls=None, /, *, frozen=True, slots=True):
        """A frozen class with slots and the fields that `cls` annotates. `frozen` and `slots` must be true; they document that."""
        if not (frozen and slots):
            raise TypeError("values are frozen and have slots")
        return _made if cls is None else _made(cls)

    def replace(value, /, **changes):
        kind = value.__class__
        copy = kind.__new__(kind)
        for name in kind.__match_args__:
            _set(copy, name, changes.pop(name) if name in changes else getattr(value, name))
        if changes:
            raise TypeError(f"{kind.__name__} has no {', '.join(changes)}")
        return copy

    def _made(cls):
        inherited = getattr(cls, "__match_args__", ())
        own = tuple(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063 (inspect is what this spares)
        names = (*inherited, *(name for name in own if name not in inherited))
        defaults = {
            **getattr(cls, "__defaults_of_fields__", {}),
            **{name: cls.__dict__[name] for name in own if name in cls.__dict__},
        }
        body = {name: entry for name, entry in cls.__dict__.items() if name not in (*own, "__dict__", "__weakref__")}
        body |= {
            "__slots__": tuple(name for name in own if name not in inherited),
            "__match_args__": names,
            "__defaults_of_fields__": defaults,
            "__dataclass_fields__": _StandardFields(),
            "__init__": _init(names, defaults),
            "__repr__": _repr,
            "__eq__": _eq(names),
            "__hash__": _hash,
            "__setattr__": _refuse,
            "__delattr__": _refuse,
            "__getstate__": _state,
            "__setstate__": _restore,
            "__qualname__": cls.__qualname__,
        }
        return type(cls)(cls.__name__, cls.__bases__, body)

    def _init(names, defaults):
        def __init__(self, *given, **named):
            if len(given) > len(names):
                raise TypeError(f"{type(self).__name__} takes {len(names)} values, not {len(given)}")
            for name, entry in zip(names, given):  # noqa: B905 (strict costs a third of all this)
                _set(self, name, entry)
            for name in names[len(given) :]:
                _set(self, name, named.pop(name) if name in named else _default(self, name, defaults))
            if named:
                raise TypeError(_unfit(type(self).__name__, names, named))

        return __init__

    def _unfit(kind, names, named):
        twice = [name for name in named if name in names]
        return f"{kind} got two values for {twice[0]}" if twice else f"{kind} has no {', '.join(named)}"

    def _default(value, name, defaults):
        default = defaults.get(name, _MISSING)
        if default is _MISSING:
            raise TypeError(f"{type(value).__name__} needs {name}")
        return default.make() if type(default) is _Factory else default

    def _fields(value):
        return tuple([getattr(value, name) for name in value.__match_args__])

    def _repr(self):
        named = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({named})"

    def _eq(names):
        # Snapshots are compared file by file: this takes a quarter of the time of a loop over the names.
        fields = attrgetter(*names) if names else _fields

        def __eq__(self, other):
            if self is other:
                return True
            return fields(self) == fields(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    def _hash(self):
        return hash(_fields(self))

    def _refuse(self, name, *_value):
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be changed")

    def _state(self):
        return _fields(self)

    def _restore(self, state):
        for name, entry in zip(self.__match_args__, state, strict=True):
            _set(self, name, entry)

    _KNOWN = {}

    class _StandardFields:
        """`__dataclass_fields__`, computed at the first access, for functions of the standard `dataclasses`."""

        def __get__(self, _value, kind):
            if kind in _KNOWN:
                return _KNOWN[kind]
            import dataclasses

            fields = [(name, object, _standard(kind, name)) for name in kind.__match_args__]
            made = dataclasses.make_dataclass(kind.__name__, fields)
            _KNOWN[kind] = made.__dataclass_fields__
            return _KNOWN[kind]

    def _standard(kind, name):
        import dataclasses

        default = kind.__defaults_of_fields__.get(name, _MISSING)
        if default is _MISSING:
            return dataclasses.field()
        return dataclasses.field(default_factory=default.make if type(default) is _Factory else lambda: default)
