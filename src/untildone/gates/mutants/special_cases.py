"""Functions that answer to some inputs from a list: chains of conditions, and tables of literals. What they do for all other inputs is
their general case. If that can be removed unnoticed, the tests show no more than the list."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from untildone.core.values.value import dataclass
from untildone.gates._python_source import Source, Span, inside, parsed
from untildone.gates.canary.expectations import helper

Function = ast.FunctionDef | ast.AsyncFunctionDef
OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

FEWEST_SPECIAL = 2
"""New special cases without which the general case of a function is not tried alone: a test of one edge case is often honest."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of literals that a function can use, by name, and the entries that the file had before."""

    by_name: Mapping[str, ast.expr]
    known: frozenset[str]

    def new_entries(self, value: ast.expr | None) -> int:
        """How many entries of a table, or of the table with that name, are new; 0: it is no table."""
        if isinstance(value, ast.Name):
            value = self.by_name.get(value.id)
        entries = _entries(value) if value is not None else ()
        return sum(entry not in self.known for entry in entries)

    def with_those_of(self, function: Function) -> Tables:
        """With the tables that a function makes for itself."""
        return Tables({**self.by_name, **_assigned(inside(function.body, OWN_SCOPE))}, self.known)


def tables(before: str, after: str) -> Tables:
    """The tables of a file, and the entries that it had before."""
    old, new = parsed(before), parsed(after)
    was = (each for each in ast.walk(old) if isinstance(each, ast.expr)) if old else iter(())
    return Tables(_assigned(new.body if new else ()), frozenset(entry for each in was for entry in _entries(each)))


Removal = tuple[int, list[Span]]
"""The line of what is removed, and the places that change."""


def without_general_case(
    function: Function, old: Function | None, around: Tables, source: Source, word: str
) -> Removal | None:
    """Removes the general case of a function beside two or more new special cases. None: it has none, or it answers the same for all
    other inputs."""
    around = around.with_those_of(function)
    return _without_rest(function, old, around, source) or _other_defaults(function, around, source, word)


# --- Statements: special cases that return, and what comes after them ---


def _without_rest(function: Function, old: Function | None, around: Tables, source: Source) -> Removal | None:
    known = [ast.dump(statement) for statement in old.body] if old else []
    new, rest = 0, list[ast.stmt]()
    for place, statement in enumerate(function.body):
        number, otherwise = _special(statement, around, function.body[:place])
        if number:
            new += number if ast.dump(statement) not in known else 0
            rest = otherwise or function.body[place + 1 :]
    if new < FEWEST_SPECIAL or all(map(_is_trivial, rest)):
        return None
    return rest[0].lineno, [(source.begin(rest[0]), source.end(rest[-1]), b"raise NotImplementedError")]


def _special(statement: ast.stmt, around: Tables, earlier: Sequence[ast.stmt]) -> tuple[int, list[ast.stmt]]:
    """The number of special cases in a statement, each of which returns a literal for a literal, and the statements for all other inputs
    that it contains; 0: it is no such statement."""
    match statement:
        case ast.If(test, [ast.Return(answer)], others):
            here = _number_of_condition(test, answer, around, earlier)
            more, otherwise = _special(others[0], around, earlier) if len(others) == 1 else (0, others)
            return (here + more, otherwise if more else others) if here else (0, [])
        case ast.Match(_, cases):
            return _special_of_match(cases)
        case ast.Try([ast.Return(answer)], [ast.ExceptHandler(_, _, otherwise)], [], []):
            says_nothing = all(isinstance(each, ast.Pass) for each in otherwise)
            return _number_looked_up(answer, around), [] if says_nothing else otherwise
        case _:
            return 0, []


def _number_of_condition(test: ast.expr, answer: ast.expr | None, around: Tables, earlier: Sequence[ast.stmt]) -> int:
    """How many special cases a condition and the answer to it are."""
    match test:
        case ast.Compare(_, [ast.Eq() | ast.In() | ast.Is()], [literal]) if _is_literal(literal):
            return 1 if _is_literal(answer) else 0
        case ast.Compare(_, [ast.In()], [table]):
            return around.new_entries(table) if _number_looked_up(answer, around) else 0
        case ast.Name(name) | ast.Compare(ast.Name(name), [ast.IsNot() | ast.NotEq()], [_]):
            looked_up = _assigned(earlier).get(name) if isinstance(answer, ast.Name) and answer.id == name else None
            return _number_looked_up(looked_up, around)
        case ast.NamedExpr(ast.Name(name), value) | ast.Compare(
            ast.NamedExpr(ast.Name(name), value), [ast.IsNot()], [_]
        ):
            return _number_looked_up(value, around) if isinstance(answer, ast.Name) and answer.id == name else 0
        case _:
            return 0


def _special_of_match(cases: Sequence[ast.match_case]) -> tuple[int, list[ast.stmt]]:
    number, otherwise = 0, list[ast.stmt]()
    for each in cases:
        match each:
            case ast.match_case(ast.MatchAs(None), None, body):
                otherwise = body
            case ast.match_case(_, _, [ast.Return(answer)]) if _is_literal(answer):
                number += 1
            case _:
                return 0, []
    return number, otherwise


def _is_trivial(statement: ast.stmt) -> bool:
    """Whether a statement answers the same for everything: with an error, or with a literal."""
    is_literal = isinstance(statement, ast.Return | ast.Expr) and _is_literal(statement.value)
    return is_literal or isinstance(statement, ast.Raise | ast.Pass)


# --- Expressions: what a lookup gives if the table has no such entry ---


def _other_defaults(function: Function, around: Tables, source: Source, word: str) -> Removal | None:
    pairs = [pair for node in inside(function.body, OWN_SCOPE) if (pair := _default(node, around))[0]]
    general = [default for _, default in pairs if not _is_literal(default)]
    # Of a default inside of another, only the inner one.
    defaults = [each for each in general if not any(one in general for one in ast.walk(each) if one is not each)]
    if sum(number for number, _ in pairs) < FEWEST_SPECIAL or not defaults:
        return None
    end = source.whole[1]
    spans = [source.span(default, b"_other_%s(%s)" % (word.encode(), source.part(default))) for default in defaults]
    return defaults[0].lineno, [*spans, (end, end, f"\n{helper(word)}".encode())]


NOTHING = ast.Constant(None)


def _default(node: ast.AST, around: Tables) -> tuple[int, ast.expr]:
    """How many special cases an expression has, and its value for all other inputs."""
    match node:
        case ast.Call(ast.Attribute(table, "get"), [_, default], []):
            return around.new_entries(table), default
        case ast.BoolOp(ast.Or(), [first, *_, default]):
            return _number_looked_up(first, around), default
        case ast.IfExp(ast.Compare(_, [ast.In()], _), answer, default):
            return _number_looked_up(answer, around), default
        case ast.IfExp(ast.Compare(_, [ast.NotIn()], _), default, answer):
            return _number_looked_up(answer, around), default
        case ast.IfExp(ast.Compare(_, [ast.Eq()], [literal]), answer, default) if _is_literal(literal):
            return (1 if _is_literal(answer) else 0), (NOTHING if isinstance(default, ast.IfExp) else default)
        case _:
            return 0, NOTHING


# --- Tables ---


def _number_looked_up(value: ast.expr | None, around: Tables) -> int:
    """How many new entries the table has in which a value is looked up: `TABLE[key]`, `TABLE.get(key)`."""
    match value:
        case ast.Subscript(table) | ast.Call(ast.Attribute(table, "get"), [_]):
            return around.new_entries(table)
        case _:
            return 0


def _assigned(nodes: Sequence[ast.AST] | Iterator[ast.AST]) -> dict[str, ast.expr]:
    """The assigned value of each name; the last one, if there are several."""
    made = dict[str, ast.expr]()
    for node in nodes:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                made[name] = value
            case _:
                pass
    return made


def _entries(value: ast.expr) -> tuple[str, ...]:
    """The entries of a table whose keys and values are literals, each as a text. One that is made of literals by calls, such as
    `json.loads("…")`, has as many as it takes to count."""
    match value:
        case ast.Dict(keys, values):
            pairs = zip(keys, values, strict=True)
            return tuple(
                f"{ast.dump(key)}: {ast.dump(one)}"
                for key, one in pairs
                if key is not None and _is_literal(key) and _is_literal(one)
            )
        case ast.Call(function, [_, *_] as arguments, []) if all(map(_is_made_of_literals, arguments)):
            return (ast.dump(value),) * FEWEST_SPECIAL if _is_dotted_name(function) else ()
        case _:
            return ()


def _is_made_of_literals(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return _is_dotted_name(value.func) and all(map(_is_made_of_literals, value.args)) and bool(value.args)
    return _is_literal(value)


def _is_dotted_name(value: ast.expr) -> bool:
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name)


def _is_literal(value: ast.expr | None) -> bool:
    try:
        ast.literal_eval(value or "None")
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    return True
