"""Mutants of Python functions, by their syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from untildone.core.values.value import dataclass

EMPTIED = "is removed"
"""The end of the label of a mutant without the body of a function."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file in which one function is damaged."""

    path: str
    source: str
    label: str
    """Where, and what was done: `calc.py:3: the body of add is removed`."""

    @property
    def is_emptied(self) -> bool:
        return self.label.endswith(EMPTIED)


def mutants(path: str, before: str, after: str) -> Iterator[Mutant]:
    """The mutants of the functions that differ between two versions of a file: up to three each. None of a file that does not parse."""
    try:
        old, new = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError, RecursionError):
        return
    known = {name: ast.dump(function) for name, function in _functions(old)}
    for name, function in _functions(new):
        if known.get(name) != ast.dump(function) and _does_something(function):
            yield from _of_function(path, new, name, function)


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


def _of_function(path: str, tree: ast.Module, name: str, function: Function) -> Iterator[Mutant]:
    body = function.body
    function.body = [ast.Pass()]
    yield Mutant(path, _source(tree), f"{path}:{function.lineno}: the body of {name} {EMPTIED}")
    function.body = body
    yield from _negated(path, tree, name, function)
    yield from _other_constant(path, tree, name, function)


def _negated(path: str, tree: ast.Module, name: str, function: Function) -> Iterator[Mutant]:
    """The function with its first condition negated."""
    node = next((each for each in ast.walk(function) if isinstance(each, ast.If | ast.IfExp)), None)
    if node is None:
        return
    test = node.test
    node.test = ast.UnaryOp(ast.Not(), test)
    yield Mutant(path, _source(tree), f"{path}:{test.lineno}: a condition of {name} is negated")
    node.test = test


def _other_constant(path: str, tree: ast.Module, name: str, function: Function) -> Iterator[Mutant]:
    """The function with its first number or truth value changed."""
    inside = (each for statement in function.body for each in ast.walk(statement))
    node = next(
        (each for each in inside if isinstance(each, ast.Constant) and isinstance(each.value, int | float)), None
    )
    if node is None:
        return
    value = node.value
    node.value = not value if isinstance(value, bool) else value + 1  # type: ignore[operator]
    yield Mutant(path, _source(tree), f"{path}:{node.lineno}: {value!r} in {name} is {node.value!r}")
    node.value = value


def _source(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
