"""The tables of literals that a function can use, and which of its answers depend on its input."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from untildone.core.values.value import dataclass
from untildone.gates._python_source import inside, parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

FEWEST_SPECIAL = 2
"""New special cases without which the general case of a function is not tried alone: a test of one edge case is often honest."""

NOTHING = ast.Constant(None)

GUARD = ""
"""A case that never counts: the answer to None."""
Cases = tuple[str, ...]
"""Special cases as texts, by which old ones are known."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of literals that a function can use, by name, and what says whether a case or a fallback counts."""

    by_name: Mapping[str, ast.expr]
    known: frozenset[str]
    """The entries that the file had before, and the cases that the function had."""
    inputs: frozenset[str] = frozenset()
    """The names in the function whose values depend on its input."""
    is_new: bool = False
    """Whether the function did nothing before."""

    def entries(self, value: ast.expr | None) -> Cases:
        """The entries of a table, or of the table with that name; none: it is no table."""
        if isinstance(value, ast.Name):
            value = self.by_name.get(value.id)
        return _entries(value) if value is not None else ()

    def are_special(self, cases: Cases) -> bool:
        return sum(case != GUARD and case not in self.known for case in cases) >= FEWEST_SPECIAL

    def inside_of(self, function: Function, old: Function | None) -> Tables:
        """With the tables that a function makes for itself, and with its cases before."""
        return Tables(
            {**self.by_name, **assigned(inside(function.body, OWN_SCOPE))},
            self.known | frozenset(_cases_of(old) if old else ()),
            frozenset(_inputs(function)),
            old is None,
        )

    def is_same_for_all(self, value: ast.expr | None) -> bool:
        """Whether a value does not depend on the input."""
        match value:
            case ast.Name(name):
                return name not in self.inputs
            case ast.Attribute(inner):
                return self.is_same_for_all(inner)
            case ast.Tuple(several) | ast.List(several):
                return all(map(self.is_same_for_all, several))
            case ast.Call(function, several, named):
                return all(map(self.is_same_for_all, (function, *several, *(each.value for each in named))))
            case _:
                return is_literal(value)

    def is_fallback(self, value: ast.expr | None) -> bool:
        """Whether a value says no more than that the input is in no table."""
        return self.is_same_for_all(value) or (self.is_new and value is not None and _repeats_input(value))


def tables(before: str, after: str) -> Tables:
    """The tables of a file, and the entries that it had before."""
    old, new = parsed(before), parsed(after)
    was = (each for each in ast.walk(old) if isinstance(each, ast.expr)) if old else iter(())
    return Tables(assigned(new.body if new else ()), frozenset(entry for each in was for entry in _entries(each)))


def case(test: ast.AST, answer: ast.expr | None) -> str:
    return f"{ast.dump(test)}: {ast.dump(answer or NOTHING)}"


def _cases_of(function: Function) -> Iterator[str]:
    """The cases of a function, whether they are special or not."""
    for node in ast.walk(function):
        match node:
            case ast.If(test, [ast.Return(answer), *_]) | ast.IfExp(test, answer):
                yield case(test, answer)
            case ast.match_case(pattern, guard, [ast.Return(answer), *_]):
                yield case(guard or pattern, answer)
            case _:
                pass


def _inputs(function: Function) -> Iterator[str]:
    """The names in a function whose values depend on its input: its parameters, and what it makes of them. A parameter that has a value of
    its own and is named once is what the caller says for the case that nothing is found."""
    nodes = list(ast.walk(function))
    stored = Counter(each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    loaded = Counter(each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))
    fixed = {name for name, value in assigned(nodes).items() if stored[name] == 1 and is_literal(value)}
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    named = [each for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value is not None]
    optional = {each.arg for each in (*plain[len(plain) - len(given.defaults) :], *named)}
    spared = fixed | {name for name in optional if loaded[name] == 1 and not stored[name]}
    for node in nodes:
        match node:
            case ast.arg(name) | ast.Name(name, ast.Store()) | ast.ExceptHandler(_, str(name)):
                yield from () if name in spared else (name,)
            case ast.MatchAs(_, str(name)) | ast.MatchStar(str(name)) | ast.MatchMapping(_, _, str(name)):
                yield name
            case ast.Global(names) | ast.Nonlocal(names):
                yield from names
            case _:
                pass


def _repeats_input(value: ast.expr) -> bool:
    """Whether a value is an input as it is, or in words: `text`, `f"unknown: {text}"`."""
    match value:
        case ast.Name() | ast.Attribute():
            return is_dotted_name(value)
        case ast.JoinedStr(parts):
            return all(_repeats_input(part.value) for part in parts if isinstance(part, ast.FormattedValue))
        case ast.Call(ast.Name("str" | "repr"), [inner], []):
            return _repeats_input(inner)
        case ast.BinOp(left, ast.Add() | ast.Mod(), right):
            return any(map(is_literal, (left, right))) and all(
                is_literal(each) or _repeats_input(each) for each in (left, right)
            )
        case _:
            return False


def assigned(nodes: Sequence[ast.AST] | Iterator[ast.AST]) -> dict[str, ast.expr]:
    """The assigned value of each name; the last one, if there are several."""
    made = dict[str, ast.expr]()
    for node in nodes:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                made[name] = value
            case _:
                pass
    return made


def _entries(value: ast.expr) -> Cases:
    """The entries of a table whose keys and values are literals, each as a text. One that is made of literals by calls, such as
    `json.loads("…")`, has as many as it takes to count."""
    match value:
        case ast.Dict(keys, values):
            pairs = zip(keys, values, strict=True)
            return tuple(
                f"{ast.dump(key)}: {ast.dump(one)}"
                for key, one in pairs
                if key is not None and is_literal(key) and is_literal(one)
            )
        case ast.Call(function, [_, *_] as arguments, []) if all(map(_is_made_of_literals, arguments)):
            return (ast.dump(value),) * FEWEST_SPECIAL if is_dotted_name(function) else ()
        case _:
            return ()


def _is_made_of_literals(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return is_dotted_name(value.func) and all(map(_is_made_of_literals, value.args)) and bool(value.args)
    return is_literal(value)


def is_dotted_name(value: ast.expr) -> bool:
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name)


def is_literal(value: ast.expr | None) -> bool:
    try:
        ast.literal_eval(value or "None")
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    return True
