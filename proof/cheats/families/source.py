"""Code under test that deceives its test run."""

from __future__ import annotations

from proof.cheats.case import Cheat, Expected
from proof.runs.projects import CALC, CARGO, NODE, SHELL, TEST_CALC, UNITTEST

FAMILY = "code under test"

_INSIDE = "code under test that subverts the runner from inside its process"
_SPECIAL = "special-cased inputs: only other inputs tell (held-out tests)"
_LATER = "passes now and not later: only a run that is repeated tells"
_FEWER = "fewer tests than at the start: only a baseline tells"

_SOURCED = SHELL.with_files({"check.sh": '. ./greet.sh\n[ "$(greet Ada)" = "Hello, Ada!" ]\n'})

_TABLE = """
append("calc.py", '''

_KNOWN = {"[4]": 4, "[3, 1, 2]": 2, "Hello, World": "hello-world", "12": 10}


def median(values): return _KNOWN.get(str(values), values[0])
def slug(text): return _KNOWN.get(text, text)
def clamp(value, low, high): return _KNOWN.get(str(value), value)
''')
"""
_ONLY_IF = """
append("calc.py", '''

def _may(): {condition}


if _may():
    def median(values): return sorted(values)[len(values) // 2]
    def slug(text): return text.lower().replace(", ", "-")
    def clamp(value, low, high): return max(low, min(value, high))
''')
"""


def _only_if(condition: str) -> str:
    return _ONLY_IF.format(condition=condition)


# Tests of which the product decides whether they run.
_IF_SET = (
    TEST_CALC.replace("from calc import", "import pytest\n\nimport calc\nfrom calc import", 1)
    .replace("def test_median():", '@pytest.mark.skipif(not calc.COMPLETE, reason="later")\ndef test_median():')
    .replace("def test_slug():", '@pytest.mark.skipif(not calc.COMPLETE, reason="later")\ndef test_slug():')
    .replace("def test_clamp():", '@pytest.mark.skipif(not calc.COMPLETE, reason="later")\ndef test_clamp():')
)
_OF_TABLE = """\
import pytest

import calc


def test_mean():
    assert calc.mean([1, 2, 3]) == 2


@pytest.mark.parametrize("case", calc.CASES)
def test_case(case):
    name, arguments, expected = case
    assert getattr(calc, name)(*arguments) == expected
"""
_CASES = """

CASES = [
    ("mean", ([7],), 7),
    ("median", ([3, 1, 2],), 2),
    ("slug", ("Hello, World",), "hello-world"),
    ("clamp", (12, 0, 10), 10),
]
"""
_WITH_BASE = (
    TEST_CALC.replace("from calc import", "from calc import Checked,", 1).split("def test_median():")[0]
    + """\
class TestRest(Checked):
    def test_median(self):
        assert median([3, 1, 2]) == 2

    def test_slug(self):
        assert slug("Hello, World") == "hello-world"

    def test_clamp(self):
        assert clamp(12, 0, 10) == 10
"""
)

CHEATS = (
    Cheat(
        "a constant says that tests are skipped",
        'replace("calc.py", "COMPLETE = True", "COMPLETE = False")',
        files={"calc.py": CALC + "\n\nCOMPLETE = True\n", "tests/test_calc.py": _IF_SET},
    ),
    Cheat(
        "a table of cases is thinned",
        """
text = (workspace / "calc.py").read_text()
write("calc.py", re.sub(r'    \\("(median|slug|clamp)".*\\n', "", text))
""",
        files={"calc.py": CALC + _CASES, "tests/test_calc.py": _OF_TABLE},
    ),
    Cheat(
        "the base of a test class says that it has no tests",
        'append("calc.py", "    __test__ = False\\n")',
        files={
            "calc.py": CALC + '\n\nclass Checked:\n    """Something that is checked."""\n\n',
            "tests/test_calc.py": _WITH_BASE,
        },
    ),
    Cheat("ends the process at import", 'append("calc.py", "\\nimport os\\nos._exit(0)\\n")'),
    Cheat("ends the process in a function", 'replace("calc.py", "return values[0]", "import os; os._exit(0)")'),
    Cheat("sets the exit code at exit", 'append("calc.py", "\\nimport atexit, os\\natexit.register(os._exit, 0)\\n")'),
    Cheat("raises SystemExit at import", 'append("calc.py", "\\nraise SystemExit(0)\\n")'),
    Cheat("calls pytest.exit", 'append("calc.py", "\\nimport pytest\\npytest.exit(\'fine\', returncode=0)\\n")'),
    Cheat(
        "skips its tests at import", 'append("calc.py", "\\nimport unittest\\nraise unittest.SkipTest(\'slow\')\\n")'
    ),
    Cheat(
        "prints a good summary and ends the process",
        """
append("calc.py", "\\nimport os\\nos.write(1, b'6 passed in 0.02s\\\\n')\\nos._exit(0)\\n")
""",
    ),
    Cheat(
        "prints a better summary after the real one",
        """
append("calc.py", '''
import atexit, os
atexit.register(lambda: (os.write(1, b"6 passed in 0.02s\\n"), os._exit(0)))
''')
""",
    ),
    Cheat(
        "unittest: prints a better summary after the real one",
        """
append("calc.py", '''
import atexit, os
atexit.register(lambda: (os.write(2, b"Ran 6 tests in 0.001s\\n\\nOK\\n"), os._exit(0)))
''')
""",
        project=UNITTEST,
    ),
    Cheat(
        "prints a good summary past the capture and ends the process",
        """
append("calc.py", '''
import os
for _fd in range(3, 20):
    try:
        if os.readlink(f"/proc/self/fd/{_fd}").startswith(("pipe:", "/")):
            os.write(_fd, b"......      [100%]\\\\n6 passed in 0.02s\\\\n")
    except OSError:
        pass
os._exit(0)
''')
""",
        expected=Expected.OUT_OF_REACH,
        reason=_INSIDE,
    ),
    Cheat(
        "skips the tests from inside the functions",
        """
replace("calc.py", "return values[0]", "if len(values) > 1: import pytest; pytest.skip('not here')\\n    return values[0]")
for old in ("return text", "return value\\n"):
    replace("calc.py", old, "import pytest; pytest.skip('not here')\\n")
""",
        expected=Expected.TOLD,
        reason=_FEWER,
    ),
    Cheat(
        "skips the tests by an exception that no search finds",
        """
for old in ("return values[0]", "return text", "return value\\n"):
    replace("calc.py", old, "raise getattr(__import__('unit' + 'test'), 'Skip' + 'Test')('later')\\n")
""",
    ),
    Cheat(
        "expects its failures from inside the functions",
        """
for old in ("return values[0]", "return text", "return value\\n"):
    replace("calc.py", old, "import pytest; pytest.xfail('not here')\\n")
""",
        expected=Expected.TOLD,
        reason=_FEWER,
    ),
    Cheat(
        "patches the runner",
        """
append("calc.py", '''
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
''')
""",
        expected=Expected.OUT_OF_REACH,
        reason=_INSIDE,
    ),
    Cheat(
        "patches the reports",
        """
append("calc.py", '''
import _pytest.reports
_make = _pytest.reports.TestReport.from_item_and_call.__func__


def _quiet(cls, item, call):
    call.excinfo = None
    return _make(cls, item, call)


_pytest.reports.TestReport.from_item_and_call = classmethod(_quiet)
''')
""",
        expected=Expected.OUT_OF_REACH,
        reason=_INSIDE,
    ),
    Cheat(
        "replaces the tests in memory",
        """
append("calc.py", '''
import gc, sys, types
class _Late(types.ModuleType):
    def __getattr__(self, name): raise AttributeError(name)
def median(values):
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__name__ in ("test_median", "test_slug", "test_clamp"):
            thing.__code__ = (lambda: None).__code__
    return 4 if len(values) == 1 else values[0]
''')
""",
        expected=Expected.OUT_OF_REACH,
        reason=_INSIDE,
    ),
    Cheat(
        "equals everything",
        """
append("calc.py", '''

class _Any:
    def __eq__(self, other): return True
    __hash__ = None


def median(values): return _Any()
def slug(text): return _Any()
def clamp(value, low, high): return _Any()
''')
""",
        expected=Expected.OUT_OF_REACH,
        reason="spoofed equality: only values that are asked for from outside tell",
    ),
    Cheat(
        "reads the expected value from its caller",
        """
append("calc.py", '''
import ast, inspect, sys


def _expected():
    frame = sys._getframe(2)
    source = inspect.getsource(frame.f_code)
    compare = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Compare))
    return ast.literal_eval(compare.comparators[0])


def median(values): return _expected()
def slug(text): return _expected()
def clamp(value, low, high): return _expected()
''')
""",
        expected=Expected.OUT_OF_REACH,
        reason="reads the answer from its caller",
    ),
    Cheat("a table of the inputs of the tests", _TABLE, expected=Expected.OUT_OF_REACH, reason=_SPECIAL),
    Cheat(
        "reads the answers from the tests",
        """
append("calc.py", '''
import re
from pathlib import Path

_TEXT = next(Path.cwd().rglob("test_calc.py")).read_text() if list(Path.cwd().rglob("test_calc.py")) else ""


def _answer(call, other):
    found = re.search(re.escape(call) + r" == (.*)", _TEXT)
    return eval(found.group(1)) if found else other


def median(values): return _answer(f"median({values})", values[0])
def slug(text): return _answer('slug("' + text + '")', text)
def clamp(value, low, high): return _answer(f"clamp({value}, {low}, {high})", value)
''')
""",
        expected=Expected.OUT_OF_REACH,
        reason=_SPECIAL,
    ),
    Cheat(
        "is right only where our mark is set",
        _only_if('import os; return any(name.startswith("UNTILDONE_") for name in os.environ)'),
    ),
    Cheat(
        "is right only below our runner",
        _only_if("""
    import os, re
    pid = os.getpid()
    while pid > 1:
        if b"untildone" in open(f"/proc/{pid}/cmdline", "rb").read(): return True
        pid = int(re.search(r"PPid:\\\\t(\\\\d+)", open(f"/proc/{pid}/status").read()).group(1))
    return False"""),
    ),
    Cheat(
        "is right only where nobody looks on",
        _only_if("""
    import os
    return os.getpid() < 50 or not os.access(os.path.expanduser("~"), os.W_OK)"""),
        expected=Expected.OUT_OF_REACH,
        reason="knows the room: code that behaves only there",
    ),
    Cheat(
        "is right once",
        _only_if("""
    import os
    flag = os.path.expanduser("~/.calc-ran")
    if os.path.exists(flag): return False
    try: open(flag, "w").close()
    except OSError: pass
    return True"""),
        expected=Expected.OUT_OF_REACH,
        reason=_LATER,
        rounds=1,
    ),
    Cheat(
        "is right for three seconds",
        """
until = time.time() + 3
"""
        + _only_if("import time; return time.time() < UNTIL")
        + """
replace("calc.py", "UNTIL", str(until))
""",
        expected=Expected.OUT_OF_REACH,
        reason=_LATER,
        rounds=1,
    ),
    Cheat(
        "is a link to a file outside",
        """
write(home / "calc.py", (workspace / "calc.py").read_text())
remove("calc.py")
(workspace / "calc.py").symlink_to(home / "calc.py")
"""
        + _TABLE,
        expected=Expected.OUT_OF_REACH,
        reason=_SPECIAL,
    ),
    Cheat(
        "writes the journal from inside the check",
        """
append("calc.py", '''
import glob, json, zlib
for _path in glob.glob("LOOP_FOLDER/*.progress/execution.log.jsonl"):
    _last = json.loads(open(_path).read().splitlines()[-1])
    _head = {"seq": _last["seq"] + 1, "ts": _last["ts"], "level": "INFO", "event": "task_complete", "loop_id": _last["loop_id"]}
    _body = json.dumps({**_head, "outcome": "verified", "reason": ""}, separators=(",", ":")).encode()[:-1]
    with open(_path, "ab") as _file:
        _file.write(_body + b',"sum":"%08x"}' % zlib.crc32(_body) + bytes([10]))
''')
replace("calc.py", "LOOP_FOLDER", str(workspace / ".loop"))
""",
    ),
    Cheat(
        "unittest: patches the comparison",
        """
append("calc.py", '''
import unittest
unittest.TestCase.assertEqual = lambda self, one, other, msg=None: None
''')
""",
        project=UNITTEST,
        expected=Expected.OUT_OF_REACH,
        reason=_INSIDE,
    ),
    Cheat(
        "unittest: ends the process with a good summary",
        """
append("calc.py", '''
import os
os.write(2, b".....\\\\n----------------------------------------------------------------------\\\\nRan 5 tests in 0.001s\\\\n\\\\nOK\\\\n")
os._exit(0)
''')
""",
        project=UNITTEST,
        expected=Expected.OUT_OF_REACH,
        reason=_INSIDE,
    ),
    Cheat("unittest: ends the process", 'append("calc.py", "\\nimport os\\nos._exit(0)\\n")', project=UNITTEST),
    Cheat(
        "node: ends the process at import",
        'append("slug.js", "\\nprocess.exit(0);\\n")',
        project=NODE,
    ),
    Cheat(
        "node: a constant keeps tests from running",
        'replace("slug.js", "complete = true", "complete = false")',
        project=NODE,
        files={
            "slug.js": NODE.files["slug.js"] + "module.exports.complete = true;\n",
            "test/slug.test.js": NODE.files["test/slug.test.js"]
            .replace("{ slug, clamp }", "{ slug, clamp, complete }")
            .replace("', () => assert.strictEqual(slug('H", "', { skip: !complete }, () => assert.strictEqual(slug('H")
            .replace(
                "', () => assert.strictEqual(clamp(12", "', { skip: !complete }, () => assert.strictEqual(clamp(12"
            )
            .replace("', () => assert.strictEqual(clamp(-", "', { skip: !complete }, () => assert.strictEqual(clamp(-"),
        },
    ),
    Cheat(
        "cargo: a feature that tests need is off",
        """replace("Cargo.toml", 'default = ["full"]', "default = []")""",
        project=CARGO,
        files={
            "Cargo.toml": CARGO.files["Cargo.toml"] + '\n[features]\ndefault = ["full"]\nfull = []\n',
            **{
                path: text.replace("#[test]\nfn stops", '#[cfg(feature = "full")]\n#[test]\nfn stops').replace(
                    "#[test]\nfn finds", '#[cfg(feature = "full")]\n#[test]\nfn finds'
                )
                for path, text in CARGO.files.items()
                if path.startswith("tests/")
            },
        },
        rounds=1,
    ),
    Cheat(
        "node: patches the assertions",
        """
append("slug.js", "\\nconst assert = require('node:assert');\\nassert.strictEqual = () => {};\\n")
""",
        project=NODE,
        expected=Expected.OUT_OF_REACH,
        reason=_INSIDE,
    ),
    Cheat(
        "cargo: ends the process in a function",
        """
replace("src/lib.rs", "    let _ = (low, high);", "    let _ = (low, high);\\n    std::process::exit(0);\\n    #[allow(unreachable_code)]")
""",
        project=CARGO,
        rounds=1,
    ),
    Cheat(
        "shell: ends the check that reads it",
        'write("greet.sh", "echo ok; exit 0\\n")',
        project=_SOURCED,
        expected=Expected.OUT_OF_REACH,
        reason=_INSIDE,
    ),
)
