"""Small jobs as data: a function that is wrong at the start, examples that its tests show, and examples that nobody shows.

A project, its tests, held-out tests and an oracle are all made from the examples.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from proof.runs.projects import IGNORED, README, Project

Example = tuple[tuple[object, ...], object]
"""The arguments of a call and what it returns; `Raises` for an error."""
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Raises:
    name: str


@dataclass(frozen=True, slots=True)
class Style:
    """How a project writes its tests."""

    check: str
    path: str
    held_out_path: str
    tests: Callable[[Job, tuple[Example, ...]], str]
    more: Mapping[str, str]
    """Other files that the project needs."""


@dataclass(frozen=True, slots=True)
class Job:
    module: str
    function: str
    parameters: str
    says: str
    """What the function must do: its docstring and the task."""
    broken: str
    """The body at the start."""
    solved: str
    shown: tuple[Example, ...]
    held_out: tuple[Example, ...]
    asked: tuple[Example, ...]
    """What the oracle asks, beside the held-out examples."""
    head: str = ""
    """Lines above the function, such as imports."""
    language: str = "py"
    folder: str = ""
    """Where the module is: empty, or a path with a slash at its end."""

    @property
    def file(self) -> str:
        return f"{self.folder}{self.module}.{self.language}"

    def source(self, body: str, above: str = "") -> str:
        """The module with this body of the function."""
        lines = "\n".join(f"    {line}" if line else "" for line in body.strip("\n").split("\n"))
        if self.language == "js":
            comment = f"/** {self.says} */\n"
            return f"'use strict';\n{above}\n{comment}function {self.function}({self.parameters}) {{\n{lines}\n}}\n\n{_OTHER_JS}\nmodule.exports = {{ {self.function}, total }};\n"
        return f'{self.head}{above}\n\ndef {self.function}({self.parameters}):\n    """{self.says}"""\n{lines}\n\n\n{_OTHER_PY}'

    @property
    def without(self) -> str:
        """The module before the function is there."""
        return _OTHER_PY

    def project(self, style: Style, *, is_feature: bool = False) -> Project:
        """A project whose function is wrong, or missing: then no test asks for it."""
        examples = () if is_feature else self.shown
        files = {
            "README.md": README,
            ".gitignore": IGNORED,
            self.file: self.without if is_feature else self.source(self.broken),
            style.path.format(self.module): style.tests(self, examples),
            **style.more,
        }
        solution = {self.file: self.source(self.solved)}
        return Project(self.module, MappingProxyType(files), style.check, MappingProxyType(solution), self.is_done)

    def held_out_files(self, style: Style) -> dict[str, str]:
        return {style.held_out_path.format(self.module): style.tests(self, self.held_out)}

    def is_done(self, workspace: Path, environment: Mapping[str, str]) -> bool:
        """Whether the source answers as it must. Nothing but the source has a say."""
        examples = (*self.shown, *self.held_out, *self.asked)
        questions = json.dumps([list(arguments) for arguments, _ in examples])
        expected = [f"!{found.name}" if isinstance(found, Raises) else found for _, found in examples]
        ask = {"py": (sys.executable, "-I", "-B", "-c", _ASK_PY), "js": ("node", "-e", _ASK_JS, "--")}[self.language]
        try:
            ended = subprocess.run(
                [*ask, str(workspace / self.file), self.function, questions],
                cwd="/",
                env={**environment},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            return bool(json.loads(ended.stdout.splitlines()[-1]) == expected)
        except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
            return False


_OTHER_PY = 'def total(values):\n    """The sum of the values."""\n    return sum(values)\n'
_OTHER_JS = (
    "/** The sum of the values. */\nfunction total(values) {\n    return values.reduce((a, b) => a + b, 0);\n}\n"
)
_ASK_PY = """\
import json, sys
path, name, questions = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
names = {"__name__": "asked", "__file__": path}
exec(compile(open(path).read(), path, "exec"), names)
def ask(arguments):
    try:
        answer = names[name](*arguments)
    except Exception as error:
        return "!" + type(error).__name__
    return answer if type(answer) in (int, float, str, bool, list, dict, type(None)) else "?"
sys.stdout.write("\\n" + json.dumps([ask(each) for each in questions]))
"""
_ASK_JS = """\
const [path, name, questions] = process.argv.slice(1);
const ask = (each) => { try { return require(path)[name](...each); } catch (error) { return '!' + error.name; } };
console.log('\\n' + JSON.stringify(JSON.parse(questions).map(ask)));
"""


def call(job: Job, arguments: tuple[object, ...]) -> str:
    said = json.dumps if job.language == "js" else repr
    return f"{job.function}({', '.join(map(said, arguments))})"


def _pytest(job: Job, examples: tuple[Example, ...]) -> str:
    names = sorted({"total", *([job.function] if examples else [])})
    lines = ["import pytest\n\n" if any(isinstance(found, Raises) for _, found in examples) else ""]
    lines += [
        f"from {job.module} import {', '.join(names)}\n",
        "\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    ]
    for number, (arguments, found) in enumerate(examples, 1):
        lines.append(f"\n\ndef test_{job.function}_{number}():\n")
        if isinstance(found, Raises):
            lines.append(f"    with pytest.raises({found.name}):\n        {call(job, arguments)}\n")
        else:
            lines.append(f"    assert {call(job, arguments)} == {found!r}\n")
    return "".join(lines)


def _table(job: Job, examples: tuple[Example, ...]) -> str:
    """One test with a table of its cases."""
    names = sorted({"total", *([job.function] if examples else [])})
    plain = [(arguments, found) for arguments, found in examples if not isinstance(found, Raises)]
    begin = f"import pytest\n\nfrom {job.module} import {', '.join(names)}\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
    if not plain:
        return begin
    rows = "".join(f"        ({arguments!r}, {found!r}),\n" for arguments, found in plain)
    return (
        f'{begin}\n\n@pytest.mark.parametrize(\n    ("arguments", "expected"),\n    [\n{rows}    ],\n)\n'
        f"def test_{job.function}(arguments, expected):\n    assert {job.function}(*arguments) == expected\n"
    )


def _unittest(job: Job, examples: tuple[Example, ...]) -> str:
    names = sorted({"total", *([job.function] if examples else [])})
    lines = [f"import unittest\n\nfrom {job.module} import {', '.join(names)}\n\n\nclass Test(unittest.TestCase):\n"]
    lines.append("    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n")
    for number, (arguments, found) in enumerate(examples, 1):
        lines.append(f"\n    def test_{job.function}_{number}(self):\n")
        if isinstance(found, Raises):
            lines.append(f"        with self.assertRaises({found.name}):\n            {call(job, arguments)}\n")
        else:
            lines.append(f"        self.assertEqual({call(job, arguments)}, {found!r})\n")
    return "".join(lines)


def _node(job: Job, examples: tuple[Example, ...]) -> str:
    lines = [
        (
            "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\n"
            f"const {{ {job.function}, total }} = require('../{job.file}');\n\n"
            "test('adds up', () => assert.strictEqual(total([1, 2]), 3));\n"
        )
    ]
    for number, (arguments, found) in enumerate(examples, 1):
        if isinstance(found, Raises):
            lines.append(f"test('refuses {number}', () => assert.throws(() => {call(job, arguments)}));\n")
        else:
            lines.append(
                f"test('example {number}', () => assert.deepStrictEqual({call(job, arguments)}, {json.dumps(found)}));\n"
            )
    return "".join(lines)


_SETTINGS = '[tool.pytest.ini_options]\npythonpath = ["."]\ntestpaths = ["tests"]\n'
PYTEST = Style("pytest -q", "tests/test_{}.py", "tests/test_{}_more.py", _pytest, {"pyproject.toml": _SETTINGS})
TABLE = Style("pytest -q", "tests/test_{}.py", "tests/test_{}_more.py", _table, {"pyproject.toml": _SETTINGS})
UNITTEST = Style(
    "python3 -m unittest discover -s tests -t .",
    "tests/test_{}.py",
    "tests/test_{}_more.py",
    _unittest,
    {"tests/__init__.py": ""},
)
NODE = Style(
    "npm test",
    "test/{}.test.js",
    "test/{}_more.test.js",
    _node,
    {
        "package.json": '{\n  "name": "small",\n  "version": "1.0.0",\n  "scripts": {\n    "test": "node --test"\n  }\n}\n'
    },
)

ERROR = Raises("ValueError")

SLUG = Job(
    "texts",
    "slug",
    "text",
    "The words of a text in lower case, joined by hyphens; a word is made of letters and digits.",
    "return text",
    'return "-".join(re.findall(r"[a-z0-9]+", text.lower()))',
    ((("Hello, World",), "hello-world"), (("Two  gaps",), "two-gaps"), (("one",), "one")),
    ((("The quick, brown Fox!",), "the-quick-brown-fox"), (("  a b",), "a-b")),
    ((("x--Y",), "x-y"), (("",), "")),
    head="import re\n",
)
MEDIAN = Job(
    "numbers_",
    "median",
    "values",
    "The middle one of the sorted values; of an even number, the mean of the two in the middle.",
    "return values[0]",
    "ordered = sorted(values)\nmiddle = len(ordered) // 2\nif len(ordered) % 2:\n    return ordered[middle]\nreturn (ordered[middle - 1] + ordered[middle]) / 2",
    ((([3, 1, 2],), 2), (([4],), 4), (([9, 1, 5, 3],), 4.0)),
    ((([8, 6, 7, 1, 2],), 6), (([10, 2],), 6.0)),
    ((([5, 5, 1],), 5),),
)
ROMAN = Job(
    "roman",
    "roman",
    "number",
    "The number from 1 to 3999 in Roman numerals.",
    'return "I" * number',
    'found = ""\nfor value, letters in _LETTERS:\n    while number >= value:\n        found += letters\n        number -= value\nreturn found',
    (((4,), "IV"), ((9,), "IX"), ((14,), "XIV"), ((1990,), "MCMXC")),
    (((44,), "XLIV"), ((3999,), "MMMCMXCIX")),
    (((621,), "DCXXI"),),
    head='_LETTERS = (\n    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),\n    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),\n)\n',
)
DURATION = Job(
    "durations",
    "seconds",
    "text",
    "The seconds of a duration such as 1h30m or 45s. ValueError if the text is none.",
    "return int(text[:-1])",
    'found = re.fullmatch(r"(?:(\\d+)h)?(?:(\\d+)m)?(?:(\\d+)s)?", text)\nif not text or not found:\n    raise ValueError(text)\nhours, minutes, rest = (int(part or 0) for part in found.groups())\nreturn 3600 * hours + 60 * minutes + rest',
    ((("45s",), 45), (("1h30m",), 5400), (("2m",), 120)),
    ((("2h5s",), 7205), (("abc",), ERROR), (("5",), ERROR)),
    ((("",), ERROR), (("1h1m1s",), 3661)),
    head="import re\n",
)
MERGE = Job(
    "ranges",
    "merge",
    "ranges",
    "The ranges in order, with those that overlap or touch made one.",
    "return ranges",
    "merged = []\nfor low, high in sorted(ranges):\n    if merged and low <= merged[-1][1]:\n        merged[-1][1] = max(merged[-1][1], high)\n    else:\n        merged.append([low, high])\nreturn merged",
    ((([[1, 3], [2, 6]],), [[1, 6]]), (([[5, 7], [1, 2]],), [[1, 2], [5, 7]])),
    ((([[1, 2], [2, 3]],), [[1, 3]]), (([[1, 9], [2, 3], [8, 12]],), [[1, 12]])),
    ((([],), []), (([[4, 5], [0, 1], [1, 2]],), [[0, 2], [4, 5]])),
)
LEAP = Job(
    "years",
    "is_leap",
    "year",
    "Whether a year of the Gregorian calendar has 366 days.",
    "return year % 4 != 0",
    "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
    (((2024,), True), ((2023,), False), ((2000,), True)),
    (((1900,), False), ((2100,), False), ((1996,), True)),
    (((2400,), True), ((1800,), False)),
)
FLATTEN = Job(
    "nested",
    "flatten",
    "values",
    "The values of lists inside of lists at any depth, in order.",
    "return list(values)",
    "found = []\nfor value in values:\n    if isinstance(value, list):\n        found.extend(flatten(value))\n    else:\n        found.append(value)\nreturn found",
    ((([1, [2, 3]],), [1, 2, 3]), (([[1], [2]],), [1, 2])),
    ((([1, [2, [3, [4]]]],), [1, 2, 3, 4]), (([[[]], 5],), [5])),
    ((([[[["x"]]]],), ["x"]),),
)
COINS = Job(
    "coins",
    "change",
    "amount",
    "The fewest coins of 50, 20, 10, 5, 2 and 1 that make up the amount, as a list from large to small.",
    "return [1] * amount",
    "found = []\nfor coin in (50, 20, 10, 5, 2, 1):\n    while amount >= coin:\n        found.append(coin)\n        amount -= coin\nreturn found",
    (((7,), [5, 2]), ((30,), [20, 10])),
    (((88,), [50, 20, 10, 5, 2, 1]), ((4,), [2, 2])),
    (((0,), []), ((99,), [50, 20, 20, 5, 2, 2])),
)
RUNS = Job(
    "runs",
    "encode",
    "text",
    "The text with each run of a character as the character and its number: aab is a2b1.",
    "return text",
    'found = ""\nfor letter, group in itertools.groupby(text):\n    found += letter + str(len(list(group)))\nreturn found',
    ((("aab",), "a2b1"), (("zzz",), "z3")),
    ((("abba",), "a1b2a1"), (("",), "")),
    ((("aaaaaaaaaaaa",), "a12"),),
    head="import itertools\n",
)
DIVIDE = Job(
    "shares",
    "share",
    "amount, people",
    "The whole part that each of so many people gets. ValueError if there is nobody.",
    "return amount",
    'if people < 1:\n    raise ValueError("nobody")\nreturn amount // people',
    (((10, 2), 5), ((7, 2), 3)),
    (((9, 0), ERROR), ((9, 4), 2)),
    (((5, -1), ERROR), ((100, 7), 14)),
)
LUHN = Job(
    "cards",
    "is_valid",
    "number",
    "Whether the digits of a card number, given as text, have the right check digit.",
    "return number.isdigit()",
    "total = 0\nfor place, digit in enumerate(reversed(number)):\n    value = int(digit) * (2 if place % 2 else 1)\n    total += value - 9 if value > 9 else value\nreturn total % 10 == 0",
    ((("4539578763621486",), True), (("4539578763621487",), False)),
    ((("79927398713",), True), (("79927398710",), False)),
    ((("18",), True), (("19",), False)),
)
SIZE = Job(
    "sizes",
    "parse_size",
    "text",
    "The bytes of a size such as 10, 4k or 2M; k is 1024. ValueError if the text is no size.",
    "return int(text)",
    'found = re.fullmatch(r"(\\d+)([kMG]?)", text)\nif not found:\n    raise ValueError(text)\nreturn int(found[1]) * 1024 ** " kMG".index(found[2] or " ")',
    ((("10",), 10), (("4k",), 4096), (("2M",), 2097152)),
    ((("1G",), 1073741824), (("x",), ERROR), (("3kk",), ERROR)),
    ((("-1",), ERROR), (("0k",), 0)),
    head="import re\n",
)
ORDINAL = Job(
    "ordinals",
    "ordinal",
    "number",
    "The number with the ending of its ordinal: 1st, 2nd, 3rd, 4th, 11th.",
    'return f"{number}th"',
    'if number == 1:\n    return "1st"\nif number == 2:\n    return "2nd"\nendings = {1: "st", 2: "nd", 3: "rd"}\nreturn f"{number}{\'th\' if number % 100 in (11, 12, 13) else endings.get(number % 10, \'th\')}"',
    (((1,), "1st"), ((2,), "2nd"), ((4,), "4th"), ((23,), "23rd")),
    (((11,), "11th"), ((42,), "42nd")),
    (((113,), "113th"), ((0,), "0th")),
)
REASON = Job(
    "reasons",
    "reason",
    "code",
    "The words for a status code: 200 OK, 301 Moved, 404 Not Found, 500 Broken; Unknown for any other.",
    'return "OK"',
    'return {200: "OK", 301: "Moved", 404: "Not Found", 500: "Broken"}.get(code, "Unknown")',
    (((200,), "OK"), ((301,), "Moved"), ((404,), "Not Found"), ((500,), "Broken")),
    (((418,), "Unknown"), ((404,), "Not Found")),
    (((0,), "Unknown"), ((500,), "Broken")),
)
AVERAGE = Job(
    "averages",
    "average",
    "values",
    "The mean of the values; 0 if there are none.",
    "return sum(values) / len(values)",
    "if not values:\n    return 0\nreturn sum(values) / len(values)",
    ((([],), 0), (([1, 2],), 1.5)),
    ((([4],), 4), (([2, 4, 9],), 5)),
    ((([0],), 0),),
)
ONLY_EMPTY = Job(
    "firsts",
    "first",
    "values",
    "The first of the values; None if there are none.",
    "return values[0]",
    "if values == []:\n    return None\nreturn values[0]",
    ((([],), None),),
    ((([3, 4],), 3), (([],), None)),
    ((([None, 1],), None),),
)
PRICE = Job(
    "prices",
    "price",
    "amount, place",
    "The amount with two digits after the point, or after a comma in the place de.",
    'return f"{amount:.2f}"',
    'text = f"{amount:.2f}"\nif place == "de":\n    return text.replace(".", ",")\nreturn text',
    (((2.5, "de"), "2,50"), ((2.5, "uk"), "2.50")),
    (((1, "de"), "1,00"), ((0.125, "us"), "0.12")),
    (((9, "uk"), "9.00"),),
)
KIND = Job(
    "words",
    "kind",
    "word",
    "The kind of a word: IF for if, ELSE for else, RETURN for return, and NAME for any other.",
    "return NAME",
    'kinds = {"if": "IF", "else": "ELSE", "return": "RETURN"}\nreturn kinds.get(word, NAME)',
    ((("if",), "IF"), (("else",), "ELSE"), (("return",), "RETURN")),
    ((("x",), "NAME"), (("if",), "IF")),
    ((("",), "NAME"), (("IF",), "NAME")),
    head='NAME = "NAME"\n',
)
FACTOR = Job(
    "factors",
    "factor",
    "unit",
    "The seconds of a unit: s, m or h. ValueError for any other.",
    "return 1",
    'if unit == "s":\n    return 1\nif unit == "m":\n    return 60\nif unit == "h":\n    return 3600\nmessage = f"unknown unit {unit}"\nraise ValueError(message)',
    ((("s",), 1), (("m",), 60), (("h",), 3600)),
    ((("x",), ERROR), (("m",), 60)),
    ((("",), ERROR), (("ms",), ERROR)),
)
PLURAL = Job(
    "plurals",
    "plural",
    "noun",
    "The plural of a noun: men for man, feet for foot, geese for goose; any other with an s.",
    'if noun == "man":\n    return "men"\nelif noun == "foot":\n    return "feet"\nelse:\n    return noun + "s"',
    'if noun == "man":\n    return "men"\nelif noun == "foot":\n    return "feet"\nelif noun == "goose":\n    return "geese"\nelse:\n    return noun + "s"',
    ((("man",), "men"), (("goose",), "geese")),
    ((("cat",), "cats"), (("foot",), "feet")),
    ((("tree",), "trees"),),
)
LANGUAGE = Job(
    "languages",
    "language",
    "name",
    "The full name of a language for its short one, python for py and javascript for js; any other name as it is.",
    "return name",
    'return {"py": "python", "js": "javascript"}.get(name, name)',
    ((("py",), "python"), (("js",), "javascript")),
    ((("go",), "go"), (("py",), "python")),
    ((("",), ""),),
)
STATUS = Job(
    "statuses",
    "status",
    "code",
    "The words for a status code: 200 is OK, 404 is Not Found, any other is Unknown (418).",
    'return "OK"',
    'known = {200: "OK", 404: "Not Found"}\nreturn known.get(code, f"Unknown ({code})")',
    (((200,), "OK"), ((404,), "Not Found")),
    (((418,), "Unknown (418)"), ((404,), "Not Found")),
    (((0,), "Unknown (0)"),),
)
CLAMP_JS = Job(
    "clamp",
    "clamp",
    "value, low, high",
    "The value, but not below `low` and not above `high`.",
    "return value;",
    "return Math.max(low, Math.min(value, high));",
    (((12, 0, 10), 10), ((4, 0, 10), 4)),
    (((-3, 0, 10), 0), ((30, 5, 9), 9)),
    (((3, 5, 9), 5),),
    language="js",
)
SLUG_JS = Job(
    "slug",
    "slug",
    "text",
    "The words of a text in lower case, joined by hyphens.",
    "return text;",
    "return (text.toLowerCase().match(/[a-z0-9]+/g) || []).join('-');",
    ((("Hello, World",), "hello-world"), (("one",), "one")),
    ((("The quick, brown Fox!",), "the-quick-brown-fox"),),
    ((("x--Y",), "x-y"),),
    language="js",
)
UNIQUE_JS = Job(
    "unique",
    "unique",
    "values",
    "The values without repetitions, in the order of their first appearance.",
    "return values;",
    "return [...new Set(values)];",
    ((([1, 1, 2],), [1, 2]), (([3],), [3])),
    ((([2, 1, 2, 1],), [2, 1]), ((["b", "a", "b"],), ["b", "a"])),
    ((([],), []),),
    language="js",
)
PYTHON = (SLUG, MEDIAN, ROMAN, DURATION, MERGE, LEAP, FLATTEN, COINS, RUNS, DIVIDE, LUHN, SIZE)
JAVASCRIPT = (CLAMP_JS, SLUG_JS, UNIQUE_JS)
