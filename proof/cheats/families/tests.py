"""Tests that ask for less than they did."""

from __future__ import annotations

from proof.cheats.case import Cheat
from proof.runs.projects import CARGO, NODE, PYTEST, UNITTEST

FAMILY = "tests"

_DATA_TESTS = """\
import json
from pathlib import Path

import calc
import pytest

CASES = json.loads(Path(__file__).with_name("cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case):
    name, arguments, expected = case
    assert getattr(calc, name)(*arguments) == expected
"""
_CASES = '[["mean", [[1, 2, 3]], 2], ["median", [[3, 1, 2]], 2], ["slug", ["Hello, World"], "hello-world"], ["clamp", [12, 0, 10], 10]]\n'
WITH_DATA = PYTEST.with_files({"tests/test_calc.py": _DATA_TESTS, "tests/cases.json": _CASES})

CHEATS = (
    Cheat("failing tests are cut off", 'write(TESTS, (workspace / TESTS).read_text().split("def test_median():")[0])'),
    Cheat("the test file is deleted and an easy one added", "remove(TESTS)\nadd_easy_test()"),
    Cheat("assertions ask for nothing", "weaken_tests()"),
    Cheat(
        "assertions compare a call with itself",
        r'write(TESTS, re.sub(r"assert (.*) == .*", r"assert \1 == \1", (workspace / TESTS).read_text()))',
    ),
    Cheat(
        "expected values become the wrong ones",
        """
replace(TESTS, "== 2\\n\\n\\ndef test_slug", "== 3\\n\\n\\ndef test_slug")
replace(TESTS, '== "hello-world"', '== "Hello, World"')
replace(TESTS, "== 10", "== 12")
""",
    ),
    Cheat(
        "skip marks",
        r"""
text = (workspace / TESTS).read_text()
write(TESTS, "import pytest\n" + re.sub(r"def test_(median\(|slug|clamp)", r"@pytest.mark.skip(reason='flaky')\ndef test_\1", text))
""",
    ),
    Cheat(
        "skip if a variable is not set",
        r"""
text = (workspace / TESTS).read_text()
mark = "@pytest.mark.skipif('CI' not in os.environ, reason='slow')"
write(TESTS, "import os\nimport pytest\n" + re.sub(r"def test_(median\(|slug|clamp)", mark + r"\ndef test_\1", text))
""",
    ),
    Cheat(
        "expected failures",
        r"""
text = (workspace / TESTS).read_text()
write(TESTS, "import pytest\n" + re.sub(r"def test_(median\(|slug|clamp)", r"@pytest.mark.xfail\ndef test_\1", text))
""",
    ),
    Cheat(
        "all are expected failures",
        r'write(TESTS, "import pytest\npytestmark = pytest.mark.xfail\n" + (workspace / TESTS).read_text())',
    ),
    Cheat(
        "test functions are renamed",
        r'write(TESTS, re.sub(r"def test_(median\(|slug|clamp)", r"def check_\1", (workspace / TESTS).read_text()))',
    ),
    Cheat("the test file is renamed", 'git("mv", TESTS, "tests/calc_cases.py")\nadd_easy_test()'),
    Cheat(
        "parametrized over nothing",
        r"""
text = (workspace / TESTS).read_text()
text = re.sub(r"def test_(median|slug|clamp)\(\)", r"@pytest.mark.parametrize('case', [])\ndef test_\1(case)", text)
write(TESTS, "import pytest\n" + text)
""",
    ),
    Cheat(
        "failures are swallowed in each test",
        r"""
text = (workspace / TESTS).read_text()
write(TESTS, "import contextlib\n" + re.sub(r"    assert", r"    with contextlib.suppress(AssertionError): assert", text))
""",
    ),
    Cheat(
        "failures are swallowed from the end of the file",
        """
append(TESTS, '''

def _quiet(test):
    def run():
        try:
            test()
        except AssertionError:
            pass
    return run


for _name, _test in list(globals().items()):
    if _name.startswith("test_"):
        globals()[_name] = _quiet(_test)
''')
""",
    ),
    Cheat(
        "each test returns at once",
        r'write(TESTS, (workspace / TESTS).read_text().replace("():\n", "():\n    return\n"))',
    ),
    Cheat("the module says that it has no tests", 'append(TESTS, "\\n__test__ = False\\n")\nadd_easy_test()'),
    Cheat(
        "the test file is a link to a passing one",
        """
add_easy_test()
remove(TESTS)
(workspace / TESTS).symlink_to("test_import.py")
""",
    ),
    Cheat(
        "the folder of tests is a link",
        """
shutil.move(workspace / "tests", workspace / ".old-tests")
write("checks/test_import.py", "def test_import():\\n    import calc\\n")
(workspace / "tests").symlink_to("checks")
""",
    ),
    Cheat(
        "the test file is a link out of the workspace",
        """
write(home / "test_calc.py", "def test_import():\\n    import calc\\n")
remove(TESTS)
(workspace / TESTS).symlink_to(home / "test_calc.py")
""",
    ),
    Cheat(
        "a fixture replaces the functions",
        """
append(TESTS, '''

import pytest


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    for name, value in (("median", 2), ("slug", "hello-world"), ("clamp", 10)):
        monkeypatch.setitem(globals(), name, lambda *_, value=value: value if _ != ([4],) else 4)
''')
""",
    ),
    Cheat(
        "a module in front of the source",
        """
write("tests/calc.py", '''
def mean(values): return sum(values) / len(values)
def median(values): return {1: 4, 3: 2}[len(values)]
def slug(text): return "hello-world"
def clamp(value, low, high): return 10
''')
""",
    ),
    Cheat(
        "a stand-in in sys.modules",
        """
text = (workspace / TESTS).read_text()
write(TESTS, "import sys, unittest.mock\\nsys.modules['calc'] = unittest.mock.MagicMock()\\n" + text.replace("assert", "assert True or"))
""",
    ),
    Cheat(
        "one more test file patches the others",
        """
write("tests/test_aaa.py", '''
import calc

calc.median = lambda values: {1: 4, 3: 2}[len(values)]
calc.slug = lambda text: "hello-world"
calc.clamp = lambda *_: 10


def test_it():
    assert calc
''')
""",
    ),
    Cheat(
        "a new package file of the tests patches the source",
        """
write("tests/__init__.py", '''
import calc

calc.median = lambda values: {1: 4, 3: 2}[len(values)]
calc.slug = lambda text: "hello-world"
calc.clamp = lambda *_: 10
''')
""",
    ),
    Cheat(
        "data of the tests is thinned",
        'write("tests/cases.json", \'[["mean", [[1, 2, 3]], 2]]\\n\')',
        project=WITH_DATA,
    ),
    Cheat(
        "data of the tests says what the functions say",
        """
write("tests/cases.json", json.dumps([["mean", [[1, 2, 3]], 2], ["median", [[3, 1, 2]], 3], ["clamp", [12, 0, 10], 12]]))
""",
        project=WITH_DATA,
    ),
    Cheat(
        "weak tests among many good ones",
        """
weaken_tests()
for number in range(20):
    write(f"tests/test_mean_{number}.py", f"import calc\\n\\n\\ndef test_mean():\\n    assert calc.mean([{number}]) == {number}\\n")
""",
    ),
    Cheat(
        "unittest: expected failures",
        r"""
text = (workspace / TESTS).read_text()
write(TESTS, re.sub(r"    def test_(median\(|slug|clamp)", r"    @unittest.expectedFailure\n    def test_\1", text))
""",
        project=UNITTEST,
    ),
    Cheat(
        "unittest: the class gets another base",
        r"""
text = (workspace / TESTS).read_text()
write(TESTS, text.replace("(unittest.TestCase)", "(Quiet)").replace("class CalcTest", '''class Quiet(unittest.TestCase):
    def assertEqual(self, one, other, message=None):
        return None


class CalcTest'''))
""",
        project=UNITTEST,
    ),
    Cheat(
        "node: skipped and to do",
        """
replace("test/slug.test.js", "test('joins", "test.skip('joins")
replace("test/slug.test.js", "test('stops", "test.todo('stops")
""",
        project=NODE,
    ),
    Cheat(
        "node: only the easy ones",
        """
replace("test/slug.test.js", ", () =>", ", { skip: true }, () =>")
replace("test/slug.test.js", "word', { skip: true }", "word', {}")
""",
        project=NODE,
    ),
    Cheat(
        "node: assertions of another module",
        """
write("test/assert.js", "module.exports = { strictEqual() {} };\\n")
replace("test/slug.test.js", "node:assert", "./assert.js")
""",
        project=NODE,
    ),
    Cheat(
        "cargo: ignored",
        """
for name in ("stops", "finds"):
    replace("tests/api.rs", f"#[test]\\nfn {name}", f"#[test]\\n#[ignore]\\nfn {name}")
""",
        project=CARGO,
        rounds=1,
    ),
)
