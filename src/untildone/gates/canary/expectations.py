"""Changes the expected values in test files: each changed test must fail.

A result that is equal to everything, an answer that was read from the test, an assertion that does nothing: they pass all the same.
Only assertions that surely run are changed: those in the body of a test itself, and not in tests that may be skipped.

Tests are changed in their places, so that code which reads the file of the tests finds no right answer there; or each as a twin beside the
test that it was made from, which must pass as before, so that code which is honest as soon as it finds a changed test is found. A test of
JavaScript whose end is not certain has no twin.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from untildone.core.values.value import dataclass
from untildone.gates._python_source import Source, Span, parsed
from untildone.gates.canary.languages import with_tests


@dataclass(frozen=True, slots=True)
class Altered:
    """A test file with other expectations."""

    text: str
    tests: tuple[str, ...] = ()
    """A pattern for the name of each test that must fail now, as its runner says it."""
    kept: tuple[str, ...] = ()
    """The same for the tests that must pass as before: those of which there is a changed one as well."""


def altered(path: str, text: str, word: str, *, as_twins: bool = False) -> Altered:
    """The file with other expected values, which depend on a random secret word. Has no tests if there is nothing to change."""
    if path.endswith(".py"):
        # A mark of the encoding at its beginning belongs to no tree.
        return _python(path, text.removeprefix("\ufeff"), word, as_twins=as_twins)
    if re.search(r"\.[cm]?[jt]sx?$", path):
        return _javascript(text, word, as_twins=as_twins)
    return Altered(text)


# --- Python ---

_HELPER = """

def _other_{word}(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + {number}
    if isinstance(value, str):
        return value + "{word}"
    if isinstance(value, list):
        return [*value, "{word}"]
    if isinstance(value, tuple) and type(value) is tuple:
        return (*value, "{word}")
    if isinstance(value, dict):
        return {{**value, "{word}": "{word}"}}
    return (value, "{word}")
"""
_MAY_NOT_RUN = re.compile(r"skip|xfail|expectedFailure", re.IGNORECASE)
_HARMLESS = re.compile(r"parametrize|patch|given|settings|usefixtures|staticmethod")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _python(path: str, text: str, word: str, *, as_twins: bool) -> Altered:
    tree = parsed(text)
    source, inside, below = Source(text), list[Span](), list[bytes]()
    tests, kept = list[str](), list[str]()
    if tree is None or any(_may_not_run(node) for node in tree.body if not isinstance(node, _Function | ast.ClassDef)):
        return Altered(text)
    for around, function in _tests(tree):
        changes, name = list(_changes(function.body, source, word)), f"{function.name}_{word}"
        group = around.name if around else ""
        if changes and not as_twins:
            inside += changes
            tests.append(_name(path, group, function.name))
        elif changes and (twin := source.twin(function, name, changes)):
            if around:
                inside.append((source.line_after(around), source.line_after(around), b"\n" + twin + b"\n"))
            else:
                below.append(b"\n\n" + twin + b"\n")
            tests.append(_name(path, group, name))
            kept.append(_name(path, group, function.name))
    made = with_tests(source.with_changes(inside), b"".join(below).decode("utf-8", "replace") + helper(word))
    return Altered(made, tuple(tests), tuple(kept)) if tests and parsed(made) else Altered(text)


def helper(word: str) -> str:
    """The source of a function that returns another value of the same type."""
    return _HELPER.format(word=word, number=_number(word))


def _number(word: str) -> int:
    return 1 + sum(word.encode()) * 31


def _tests(tree: ast.Module) -> Iterator[tuple[ast.ClassDef | None, ast.FunctionDef]]:
    """The tests of a module with their classes."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and _may_run(node)]
    for around in (None, *classes):
        for node in tree.body if around is None else around.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and _surely_runs(node):
                yield around, node


def _surely_runs(node: ast.FunctionDef) -> bool:
    """Whether nothing skips a test. A decorator that is not known may do so."""
    known = all(_HARMLESS.search(ast.dump(each)) for each in node.decorator_list)
    return known and not _may_not_run(node)


def _may_run(node: ast.ClassDef) -> bool:
    """Whether the tests of a class are like others. Those with a mark of their own may be left out by settings of the runner."""
    known = all(_HARMLESS.search(ast.dump(each)) and not _may_not_run(each) for each in node.decorator_list)
    return known and not any(isinstance(each, ast.Assign) and "pytestmark" in ast.dump(each) for each in node.body)


def _may_not_run(node: ast.AST) -> bool:
    return _MAY_NOT_RUN.search(ast.dump(node)) is not None


def _name(path: str, around: str, function: str) -> str:
    """The test in the words of pytest, or of unittest."""
    file = path.rpartition("/")[2]
    inside = f"{around}::" if around else ""
    pytest = rf"(?:^|/){re.escape(file)}::{inside}{function}(?:\[|$)"
    return rf"{pytest}|^{function} \((?:.*\.)?{re.escape(file[:-3])}\.{around}(?:\.{function})?\)"


_EXPECTS_ERRORS = re.compile(r"raises|suppress|warns|deprecated", re.IGNORECASE)


def _changes(body: list[ast.stmt], source: Source, word: str) -> Iterator[Span]:
    """The changes of assertions that surely run, up to the first `return`."""
    for node in body:
        if isinstance(node, ast.Return):
            return
        if isinstance(node, ast.Assert):
            yield from _assertion(node.test, source, word)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _method(node.value, source, word)
        elif isinstance(node, ast.With) and not any(_EXPECTS_ERRORS.search(ast.dump(item)) for item in node.items):
            yield from _changes(node.body, source, word)


def _assertion(test: ast.expr, source: Source, word: str) -> Iterator[Span]:
    """Other operands of an equality; anything else is negated."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        yield _other(test.left, test.comparators[0], source, word)
    else:
        yield (source.begin(test), source.begin(test), b"not (")
        yield (source.end(test), source.end(test), b")")


_EQUALITIES = frozenset(
    {"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSequenceEqual"}
)


def _method(call: ast.Call, source: Source, word: str) -> Iterator[Span]:
    plain = not any(isinstance(each, ast.Starred) for each in call.args[:2])
    if plain and isinstance(call.func, ast.Attribute) and call.func.attr in _EQUALITIES and len(call.args) > 1:
        yield _other(call.args[0], call.args[1], source, word)


def _other(left: ast.expr, right: ast.expr, source: Source, word: str) -> Span:
    """One side of an equality with another value: a literal as a literal, for code that reads its caller's source."""
    for side in (right, left):
        try:
            return source.span(side, repr(_other_value(ast.literal_eval(side), word)).encode())
        except (ValueError, TypeError, SyntaxError, RecursionError):
            continue
    return source.span(right, b"_other_%s(%s)" % (word.encode(), source.part(right)))


def _other_value(value: object, word: str) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + _number(word)
        case str():
            return value + word
        case list():
            return [*value, word]
        case tuple():
            return (*value, word)
        case dict():
            return {**value, word: word}
        case _:
            return word


# --- JavaScript and TypeScript, whose tests are read by their calls ---

_HELPER_JS = """
;function _other_{word}(value) {{
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + {number};
  if (typeof value === 'string') return value + '{word}';
  if (Array.isArray(value)) return [...value, '{word}'];
  if (value !== null && typeof value === 'object') return {{ ...value, {word}: '{word}' }};
  return '{word}';
}}
function _check_{word}(check) {{
  return (actual, expected, ...rest) => check(actual, _other_{word}(expected), ...rest);
}}
"""
_TEST_JS = re.compile(r"(?m)^\s*(?:test|it)\(\s*(?P<quote>['\"])(?P<name>(?:(?!(?P=quote))[^\\\n])+)(?P=quote)")
_ASSERT_JS = re.compile(r"\b(assert(?:\.strict)?\.(?:equal|strictEqual|deepEqual|deepStrictEqual))\(")
_EXPECT_JS = re.compile(r"\.(toBe|toEqual|toStrictEqual)\(([^()\n]+)\)")
_DOUBTFUL_JS = re.compile(r"\b(?:if|for|while|catch|throws|rejects|skip|todo|only|return|forEach)\b")


def _javascript(text: str, word: str, *, as_twins: bool) -> Altered:
    tests_in_text = list(_TEST_JS.finditer(text))
    ends = [*(each.start() for each in tests_in_text[1:]), len(text)]
    made, tests, kept = text[: tests_in_text[0].start()] if tests_in_text else text, list[str](), list[str]()
    for test, end in zip(tests_in_text, ends, strict=False):
        part = text[test.start() : end]
        other = part if _DOUBTFUL_JS.search(part[len(test.group()) :]) else _other_javascript(part, word)
        if other == part:
            made += part
            continue
        call, name = call_of(part) if as_twins else "", test["name"]
        if call:
            begin, stop = test.end("name") - test.start(), len(call)
            made += f"{part[:stop]};{_other_javascript(f'{call[:begin]} {word}{call[begin:]}', word)}{part[stop:]}"
            kept.append(_title(name))
        else:
            made += other
        tests.append(_title(f"{name} {word}" if call else name))
    return Altered(
        made + _HELPER_JS.format(word=word, number=_number(word)) if tests else text, tuple(tests), tuple(kept)
    )


def _title(name: str) -> str:
    """The pattern of a test in the words of node, jest and vitest."""
    return rf"(?:^| > | › ){re.escape(name)}$"


_PIECES_JS = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`[^`$\\]*`|[()\[\]{}`'\"/]", re.DOTALL
)


def call_of(text: str) -> str:
    """The call with which a text begins, up to its last parenthesis; empty: its end is not certain."""
    depth, opened = 0, False
    for piece in _PIECES_JS.finditer(text):
        match piece.group():
            case "(" | "[" | "{":
                depth, opened = depth + 1, True
            case ")" | "]" | "}":
                depth -= 1
            case "`" | "'" | '"' | "/":
                return ""
            case _:
                continue
        if opened and depth <= 0:
            return text[: piece.end()] if depth == 0 and piece.group() == ")" else ""
    return ""


def _other_javascript(part: str, word: str) -> str:
    part = _ASSERT_JS.sub(rf"_check_{word}(\1)(", part)
    return _EXPECT_JS.sub(rf".\1(_other_{word}(\2))", part)
