"""Functions that answer to some inputs from a list: chains of conditions, and tables of literals. What they do for all other inputs is
their general case. If that can be removed unnoticed, the tests show no more than the list.

Honest tables have fallbacks that nobody tests: an error, one value for all that is unknown, what the caller says, and in a new function the
input itself. These are no general cases."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from untildone.gates._python_source import Source, Span, inside
from untildone.gates.mutants.other_values import helper, other
from untildone.gates.mutants.tables import (
    GUARD,
    NOTHING,
    OWN_SCOPE,
    Cases,
    Function,
    Tables,
    assigned,
    case,
    is_dotted_name,
    is_literal,
)

Removal = tuple[int, list[Span]]
"""The line of what is removed, and the places that change."""


def without_general_case(
    function: Function, old: Function | None, around: Tables, source: Source, word: str
) -> Removal | None:
    """Removes the general case of a function beside two or more new special cases. None: it has none, or it answers the same for all
    other inputs. `old` is the function as it was, if it did something."""
    around = around.inside_of(function, old)
    return _without_rest(function, around, source) or _other_defaults(function, around, source, word)


# --- Statements: special cases that return, and what comes after them ---


def _without_rest(function: Function, around: Tables, source: Source) -> Removal | None:
    cases, rest = list[str](), list[ast.stmt]()
    for place, statement in enumerate(function.body):
        more, otherwise = _special(statement, around, function.body[:place])
        if more:
            cases += more
            rest = otherwise or function.body[place + 1 :]
    if not around.are_special(tuple(cases)) or _says_the_same(rest, around):
        return None
    return rest[0].lineno, [(source.begin(rest[0]), source.end(rest[-1]), b"raise NotImplementedError")]


def _special(statement: ast.stmt, around: Tables, earlier: Sequence[ast.stmt]) -> tuple[Cases, list[ast.stmt]]:
    """The special cases of a statement, each of which returns a literal for a literal, and what it does for all other inputs if it says so
    itself. No cases: it does something else."""
    match statement:
        case ast.If(test, [ast.Return(answer)], others):
            here = _cases_of_condition(test, answer, around, earlier)
            more, otherwise = _special(others[0], around, earlier) if len(others) == 1 else ((), others)
            return ((*here, *more), otherwise if more else others) if here else ((), [])
        case ast.Match(_, cases):
            return _special_of_match(cases)
        case ast.Try([ast.Return(answer)], [ast.ExceptHandler(_, _, otherwise)], [], []):
            says_nothing = all(isinstance(each, ast.Pass) for each in otherwise)
            return _looked_up(answer, around), [] if says_nothing else otherwise
        case _:
            return (), []


def _cases_of_condition(test: ast.expr, answer: ast.expr | None, around: Tables, earlier: Sequence[ast.stmt]) -> Cases:
    """The special cases that a condition and the answer to it are."""
    match test:
        case ast.Compare(_, [ast.Is()], [ast.Constant(None)]):
            return (GUARD,) if is_literal(answer) else ()
        case ast.Compare(_, [ast.Eq() | ast.In() | ast.Is()], [literal]) if is_literal(literal):
            return (case(test, answer),) if is_literal(answer) else ()
        case ast.Compare(_, [ast.In()], [table]):
            return around.entries(table) if _looked_up(answer, around) else ()
        case ast.Name(name) | ast.Compare(ast.Name(name), [ast.IsNot() | ast.NotEq()], [_]):
            looked_up = assigned(earlier).get(name) if isinstance(answer, ast.Name) and answer.id == name else None
            return _looked_up(looked_up, around)
        case ast.NamedExpr(ast.Name(name), value) | ast.Compare(
            ast.NamedExpr(ast.Name(name), value), [ast.IsNot()], [_]
        ):
            return _looked_up(value, around) if isinstance(answer, ast.Name) and answer.id == name else ()
        case _:
            return ()


def _special_of_match(cases: Sequence[ast.match_case]) -> tuple[Cases, list[ast.stmt]]:
    found, otherwise = list[str](), list[ast.stmt]()
    for each in cases:
        match each:
            case ast.match_case(ast.MatchAs(None), None, body):
                otherwise = body
            case ast.match_case(pattern, None, [ast.Return(answer)]) if is_literal(answer) and _shows_literals(pattern):
                found.append(case(pattern, answer))
            case ast.match_case(_, ast.Compare(_, [ast.Eq() | ast.In()], [literal]) as guard, [ast.Return(answer)]) if (
                is_literal(answer) and is_literal(literal)
            ):
                found.append(case(guard, answer))
            case _:
                return (), []
    return tuple(found), otherwise


def _shows_literals(pattern: ast.pattern) -> bool:
    """Whether a pattern is made of literals alone: others match by type or form."""
    match pattern:
        case ast.MatchValue(value):
            return is_literal(value)
        case ast.MatchSingleton():
            return True
        case ast.MatchOr(several) | ast.MatchSequence(several):
            return all(map(_shows_literals, several))
        case _:
            return False


def _says_the_same(rest: Sequence[ast.stmt], around: Tables) -> bool:
    """Whether statements answer the same to everything: with an error, or with one value."""
    if not rest or any(
        isinstance(each, ast.Return | ast.Yield | ast.YieldFrom) for each in inside(rest[:-1], OWN_SCOPE)
    ):
        return not rest
    match rest[-1]:
        case ast.Raise():
            return True
        case ast.Return(value):
            return (value is None or around.is_fallback(value)) and all(map(_only_tells, rest[:-1]))
        case last:
            return all(map(_only_tells, (*rest[:-1], last)))


_TELLS = re.compile(r"(?:^|[._])(?:log|logger|logging|warn|warnings)(?:\.|$)", re.IGNORECASE)


def _only_tells(statement: ast.stmt) -> bool:
    """Whether a statement does nothing, writes to a log, or asserts something."""
    match statement:
        case ast.Pass() | ast.Assert():
            return True
        case ast.Expr(ast.Call(function)):
            return is_dotted_name(function) and _TELLS.search(ast.unparse(function)) is not None
        case ast.Expr(value):
            return is_literal(value)
        case _:
            return False


# --- Expressions: what a lookup gives if the table has no such entry ---


def _other_defaults(function: Function, around: Tables, source: Source, word: str) -> Removal | None:
    pairs = (_default(node, around) for node in inside(function.body, OWN_SCOPE))
    general = list(
        {id(each): each for cases, each in pairs if around.are_special(cases) and not around.is_fallback(each)}.values()
    )
    # Of a default inside of another, only the inner one.
    defaults = [each for each in general if not any(one in general for one in ast.walk(each) if one is not each)]
    if not defaults:
        return None
    end = source.whole[1]
    spans = [source.span(default, other(source.part(default), word)) for default in defaults]
    return defaults[0].lineno, [*spans, (end, end, helper(word))]


def _default(node: ast.AST, around: Tables) -> tuple[Cases, ast.expr]:
    """The special cases of an expression, and its value for all other inputs."""
    match node:
        case ast.Call(ast.Attribute(table, "get"), [key, default], []) if not around.is_same_for_all(key):
            return around.entries(table), default
        case ast.BoolOp(ast.Or(), [first, *_, default]):
            return _looked_up(first, around), default
        case ast.IfExp(ast.Compare(_, [ast.In()], _), answer, default):
            return _looked_up(answer, around), default
        case ast.IfExp(ast.Compare(_, [ast.NotIn()], _), default, answer):
            return _looked_up(answer, around), default
        case ast.IfExp(ast.Compare(_, [ast.Eq()], [literal]) as test, answer, others) if is_literal(literal):
            here = (case(test, answer),) if is_literal(answer) else ()
            more, default = _default(others, around) if isinstance(others, ast.IfExp) else ((), others)
            return ((*here, *more), default) if here else ((), NOTHING)
        case _:
            return (), NOTHING


# --- Lookups ---


def _looked_up(value: ast.expr | None, around: Tables) -> Cases:
    """The entries of the table in which a value is looked up: `TABLE[key]`, `TABLE.get(key)`."""
    match value:
        case ast.Subscript(table, key) | ast.Call(ast.Attribute(table, "get"), [key]) if not around.is_same_for_all(
            key
        ):
            return around.entries(table)
        case _:
            return ()
