"""Mutants of Python functions: their source with one place changed, and all else as it is written."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from enum import Enum

from untildone.core.values.value import dataclass
from untildone.gates._python_source import Source, Span, inside, parsed
from untildone.gates.mutants.other_values import helper, other
from untildone.gates.mutants.special_cases import without_general_case
from untildone.gates.mutants.tables import OWN_SCOPE, Function, Tables, tables


class Damage(Enum):
    EMPTIED = "without its body"
    GENERAL = "special cases only"
    RETURNS = "other returned values"
    NOTHING = "no returned values"
    HANDLER = "an error that is not caught"
    DETAIL = "another condition or number"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file in which one function is damaged."""

    path: str
    source: str
    label: str
    """Where, and what was done: `calc.py:3: the body of add is removed`."""
    function: str
    """The path and the function's qualified name."""
    damage: Damage = Damage.DETAIL


def functions(text: str) -> frozenset[str]:
    """The functions of a file as texts, without the classes around them and without what no test covers."""
    tree = parsed(text)
    return frozenset(_meaning(function) for _, function in _functions(tree)) if tree else frozenset()


def mutants(
    path: str, before: str, after: str, word: str = "x", elsewhere: AbstractSet[str] = frozenset()
) -> Iterator[Mutant]:
    """The mutants of the functions that differ between two versions of a file: up to seven each. None of a file that does not parse.

    `elsewhere` are functions of other files before the change: one that was only moved, or whose class has another name, is not changed."""
    source, around = Source(after), tables(before, after)
    for name, function, old in _changed(before, after, elsewhere):
        for label, damage, spans in _damages(name, function, old, around, source, word):
            made = source.with_changes(list(spans))
            if parsed(made) is not None:
                yield Mutant(path, made, f"{path}:{label}", f"{path}:{name}", damage)
    for name, body in _changed_lambdas(before, after):
        for label, damage, spans in _damages_of_lambda(name, body, source, word):
            yield Mutant(path, source.with_changes(spans), f"{path}:{label}", f"{path}:{name}", damage)


def harmless(before: str, after: str, elsewhere: AbstractSet[str] = frozenset()) -> str:
    """The file with `pass` in each changed function, and parentheses around each changed lambda: a test that fails on this does not test
    what the functions do. Empty: none changed."""
    source = Source(after)
    spans = [_pass_in(function, source) for _, function, _ in _changed(before, after, elsewhere)]
    spans += [source.span(body, b"(%s)" % source.part(body)) for _, body in _changed_lambdas(before, after)]
    made = source.with_changes(spans)
    return made if spans and parsed(made) is not None else ""


def _pass_in(function: Function, source: Source) -> Span:
    """`pass` before the first statement that is no docstring, on a line of its own if that one has it."""
    body, first = function.body, _first(function)
    place = source.begin(first)
    begins_line = first.lineno > function.lineno and (first is body[0] or first.lineno > (body[0].end_lineno or 0))
    return (place, place, b"pass\n" + b" " * first.col_offset if begins_line else b"pass; ")


def _first(function: Function) -> ast.stmt:
    """The first statement that is no docstring."""
    body = function.body
    return body[1] if len(body) > 1 and isinstance(body[0], ast.Expr) and _is_nothing(body[0]) else body[0]


def _changed(before: str, after: str, elsewhere: AbstractSet[str]) -> Iterator[tuple[str, Function, Function | None]]:
    """The functions of the second version that do something and are not in the first, with their qualified names and as they were, if
    they did something. Several may have one name: the parts of a property, functions for one type each."""
    old, new = parsed(before), parsed(after)
    if old is None or new is None:
        return
    was = {name: function for name, function in _functions(old) if _does_something(function)}
    known = functions(before) | elsewhere
    for name, function in _functions(new):
        if _does_something(function) and _meaning(function) not in known:
            yield name, function, was.get(name)


def _changed_lambdas(before: str, after: str) -> Iterator[tuple[str, ast.expr]]:
    """The bodies of lambdas that have a name in a module or class, and are not in the first version."""
    old, new = parsed(before), parsed(after)
    if old is None or new is None:
        return
    known = {name: ast.dump(body) for name, body in _lambdas(old)}
    for name, body in _lambdas(new):
        if known.get(name) != ast.dump(body) and not (isinstance(body, ast.Constant) and body.value is None):
            yield name, body


def _lambdas(tree: ast.Module | ast.ClassDef, around: str = "") -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], ast.Lambda(_, body)) | ast.AnnAssign(
                ast.Name(name), _, ast.Lambda(_, body)
            ):
                yield f"{around}{name}", body
            case ast.ClassDef():
                yield from _lambdas(node, f"{around}{node.name}.")
            case _:
                pass


def _damages_of_lambda(name: str, body: ast.expr, source: Source, word: str) -> Iterator[Made]:
    end = source.whole[1]
    changed = source.span(body, other(source.part(body), word))
    yield f"{body.lineno}: the body of {name} is removed", Damage.EMPTIED, [source.span(body, b"None")]
    label = f"{body.lineno}: {name} returns something else"
    yield label, Damage.RETURNS, [changed, (end, end, helper(word))]


def _meaning(function: Function) -> str:
    """The function without docstring and annotations, which no test covers."""
    made = copy.deepcopy(function)
    for node in ast.walk(made):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
                if ast.get_docstring(node, clean=False) is not None:
                    del node.body[0]
            case ast.arg():
                node.annotation = None
            case _:
                pass
    return ast.dump(made)


def _functions(tree: ast.AST, around: str = "") -> Iterator[tuple[str, Function]]:
    """Functions with their qualified names; functions inside of functions belong to the outer one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield f"{around}{node.name}", node
        else:
            inner = f"{around}{node.name}." if isinstance(node, ast.ClassDef) else around
            yield from _functions(node, inner)


def _does_something(function: Function) -> bool:
    """Whether the body is more than a docstring, `pass`, `...` or an error about a missing implementation."""
    return any(not _is_nothing(statement) for statement in function.body)


def _is_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return "NotImplementedError" in ast.dump(statement)
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    returns_nothing = isinstance(statement, ast.Return) and (
        statement.value is None or (isinstance(statement.value, ast.Constant) and statement.value.value is None)
    )
    return constant or returns_nothing or isinstance(statement, ast.Pass)


Made = tuple[str, Damage, list[Span]]
"""The line and what is done there, the kind of damage, and the places that change."""


def _damages(
    name: str, function: Function, old: Function | None, around: Tables, source: Source, word: str
) -> Iterator[Made]:
    # The docstring stays: it may hold the examples that test the function.
    removed = (source.begin(_first(function)), source.end(function.body[-1]), b"pass")
    yield f"{function.lineno}: the body of {name} is removed", Damage.EMPTIED, [removed]
    if removal := without_general_case(function, old, around, source, word):
        line, spans = removal
        yield f"{line}: what {name} does beside its special cases is removed", Damage.GENERAL, spans
    yield from _other_returns(name, function, source, word)
    yield from _without_returns(name, function, source)
    yield from _without_handler(name, function, source)
    yield from _negated(name, function, source)
    yield from _other_constant(name, function, source)


def _without_handler(name: str, function: Function, source: Source) -> Iterator[Made]:
    """The function whose first handler of an error raises it again."""
    nodes = (each for each in inside(function.body, OWN_SCOPE) if isinstance(each, ast.ExceptHandler))
    node = next((each for each in nodes if not any(isinstance(one, ast.Raise) for one in ast.walk(each))), None)
    if node is not None:
        removed = (source.begin(node.body[0]), source.end(node.body[-1]), b"raise")
        yield f"{node.body[0].lineno}: what {name} does about an error is removed", Damage.HANDLER, [removed]


def _returned(name: str, function: Function) -> list[ast.expr]:
    """The values that a function returns; none if it returns itself or is called by Python."""
    returns = [each for each in inside(function.body, OWN_SCOPE) if isinstance(each, ast.Return)]
    values = [each.value for each in returns if each.value is not None and not _is_nothing(each)]
    is_own = any(isinstance(value, ast.Name) and value.id in ("self", "cls") for value in values)
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(function))
    return [] if is_own or yields or name.rpartition(".")[2].startswith("__") else values


def _other_returns(name: str, function: Function, source: Source, word: str) -> Iterator[Made]:
    """The function with another value of the same type wherever it returns one."""
    values = _returned(name, function)
    if not values:
        return
    spans = [source.span(value, other(source.part(value), word)) for value in values]
    end = source.whole[1]
    label = f"{values[0].lineno}: {name} returns something else"
    yield label, Damage.RETURNS, [*spans, (end, end, helper(word))]


def _without_returns(name: str, function: Function, source: Source) -> Iterator[Made]:
    """A function that does more than return values, without these. If no test notices, the tests look at what else it does."""
    values = _returned(name, function)
    if values and any(map(_has_effects, inside(function.body, OWN_SCOPE))):
        spans = [source.span(value, b"((%s), None)[1]" % source.part(value)) for value in values]
        yield f"{values[0].lineno}: {name} returns nothing", Damage.NOTHING, spans


def _has_effects(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value):
            return not isinstance(value, ast.Constant)
        case ast.Attribute(_, _, ast.Store() | ast.Del()) | ast.Subscript(_, _, ast.Store() | ast.Del()):
            return True
        case _:
            return isinstance(node, ast.Global | ast.Nonlocal)


def _negated(name: str, function: Function, source: Source) -> Iterator[Made]:
    """The function with its first condition negated."""
    node = next((each for each in inside(function.body) if isinstance(each, ast.If | ast.IfExp)), None)
    if node is not None:
        made = source.span(node.test, b"not (%s)" % source.part(node.test))
        yield f"{node.test.lineno}: a condition of {name} is negated", Damage.DETAIL, [made]


def _other_constant(name: str, function: Function, source: Source) -> Iterator[Made]:
    """The function with its first number or truth value changed."""
    nodes = (each for each in inside(function.body) if isinstance(each, ast.Constant))
    node = next((each for each in nodes if isinstance(each.value, int | float)), None)
    if node is not None:
        changed = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
        made = source.span(node, repr(changed).encode())
        yield f"{node.lineno}: {node.value!r} in {name} is {changed!r}", Damage.DETAIL, [made]
