"""Shapes of projects and of work: wrappers, packages of a workspace, generated files, snapshots, hooks, lock files."""

from __future__ import annotations

from proof.honest.case import Honest
from proof.runs.projects import CARGO, MAKE, NODE, TEST_CALC, UNITTEST

GROUP = "projects"

_FREE = ("--tests", "free")
_PROGRAMS = "for each in (*workspace.glob('bin/*'), *workspace.glob('scripts/*'), *workspace.glob('tools/*')):\n    each.chmod(0o755)\n"
_WRAPPER = {"scripts/with-env.sh": '#!/bin/sh\nexport PYTHONDONTWRITEBYTECODE=1\nexec "$@"\n'}
_INCLUDED = MAKE.with_files(
    {
        "Makefile": "include mk/vars.mk mk/test.mk\n-include local.mk\n\nall: check\n",
        "mk/vars.mk": "PYTEST ?= pytest\nSOURCES = calc.py\n",
        "mk/test.mk": "check: $(SOURCES)\n\t$(PYTEST) -q\n",
    }
)
_PACKAGES = NODE.with_files(
    {
        "package.json": '{"name": "all", "private": true, "workspaces": ["packages/*"]}\n',
        "packages/slug/package.json": '{"name": "@acme/slug", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
        "packages/slug/index.js": "module.exports = require('../../slug.js');\n",
        "package-lock.json": '{"name": "all", "lockfileVersion": 3, "packages": {"packages/slug": {"name": "@acme/slug"}}}\n',
        "packages/slug/test/more.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "const { slug } = require('@acme/slug');\n\ntest('words', () => assert.strictEqual(slug('A b'), 'a-b'));\n",
    }
)
_LINKED = """
(workspace / "node_modules/@acme").mkdir(parents=True)
(workspace / "node_modules/@acme/slug").symlink_to("../../packages/slug")
"""
_SNAPSHOTS = """\
from pathlib import Path

import calc

FOLDER = Path(__file__).parent / "__snapshots__"


def check(name, value):
    kept = FOLDER / f"{name}.txt"
    if not kept.exists():
        FOLDER.mkdir(exist_ok=True)
        kept.write_text(value)
    assert kept.read_text() == value


def test_words():
    check("words", repr(calc.mean([1, 2])))
"""
_GENERATOR = """\
from pathlib import Path

size = int(Path("size.txt").read_text())
Path("table.py").write_text(f"SQUARES = {[n * n for n in range(size)]}\\n")
"""
_HOOK = "#!/bin/sh\npython3 tools/tidy.py && git add -u\n"
_TIDY = "from pathlib import Path\n\nfor path in Path('.').glob('*.py'):\n    path.write_text(path.read_text().rstrip() + '\\n')\n"
_DOCS = ">>> from calc import mean\n>>> mean([2, 4])\n3.0\n"
_EXAMPLES = "import doctest\nimport sys\n\nsys.exit(doctest.testfile('../docs/usage.md').failed)\n"
_SELFTEST = "import sys\n\nimport calc\n\nif calc.clamp(12, 0, 10) != 10 or calc.median([3, 1, 2]) != 2:\n    sys.exit('wrong')\n"
_APP = {"app/__init__.py": "", "app/__main__.py": "import calc\n\nprint(calc.slug('Hello, World'))\n"}
_TODO = """#!/bin/bash
add() { echo "$*" >> tasks.txt; }
main() {
  case "$1" in
    task) shift; add "$@" ;;
  esac
}
main "$@"
"""
_TRANSLATE = "import subprocess\nimport sys\n\nsubprocess.check_call(['sort', *sys.argv[1:]])\n"

CASES = (
    Honest(
        "a check through a wrapper script", files=_WRAPPER, before=_PROGRAMS, checks=("scripts/with-env.sh pytest -q",)
    ),
    Honest(
        "a check through a wrapper script that gets a comment",
        'solve()\nreplace("scripts/with-env.sh", "exec", "# Go.\\nexec")',
        files=_WRAPPER,
        before=_PROGRAMS,
        checks=("scripts/with-env.sh pytest -q",),
    ),
    Honest(
        "a program of the product that gets words of test runners",
        "solve()\nwrite('bin/note', '#!/bin/sh\\necho \"- $*\"\\n', 0o755)",
        files={"bin/note": '#!/bin/sh\necho "$@"\n'},
        before=_PROGRAMS,
        checks=("bin/note make pytest | grep -q '^- make'", "pytest -q"),
    ),
    Honest("a makefile that includes others", project=_INCLUDED),
    Honest(
        "a makefile that includes others: one more source and a new included file",
        'solve()\nwrite("shapes.py", "SIDES = 4\\n")\nreplace("mk/vars.mk", "calc.py", "calc.py shapes.py")',
        project=_INCLUDED,
    ),
    Honest(
        "make with a variable on the command line", project=_INCLUDED, checks=("make check PYTEST='python3 -m pytest'",)
    ),
    Honest(
        "make with another shell",
        files={"Makefile": "SHELL = /bin/bash\n\ncheck:\n\tset -o pipefail; pytest -q | cat\n"},
        checks=("make check",),
    ),
    Honest(
        "npm: a package of the workspace by its folder",
        project=_PACKAGES,
        before=_LINKED,
        checks=("npm test -w packages/slug",),
        needs=("npm",),
    ),
    Honest(
        "npm: all packages of the workspace",
        project=_PACKAGES,
        before=_LINKED,
        checks=("npm test --workspaces --if-present",),
        needs=("npm",),
    ),
    Honest(
        "npm: one more package in the workspace, linked as the package manager does",
        """
solve()
write("packages/clamp/package.json", '{"name": "@acme/clamp", "version": "1.0.0", "scripts": {"test": "node --test"}}')
write("packages/clamp/index.js", "module.exports = require('../../slug.js').clamp;\\n")
write("packages/clamp/test/clamp.test.js", "const test = require('node:test');\\nconst assert = require('node:assert');\\n"
      "test('clamps', () => assert.strictEqual(require('@acme/clamp')(12, 0, 10), 10));\\n")
if not (workspace / "node_modules/@acme/clamp").is_symlink():
    (workspace / "node_modules/@acme/clamp").symlink_to("../../packages/clamp")
replace("package-lock.json", '{"packages/slug"', '{"packages/clamp": {"name": "@acme/clamp"}, "packages/slug"')
""",
        project=_PACKAGES,
        before=_LINKED,
        checks=("npm test --workspaces",),
        needs=("npm",),
    ),
    Honest(
        "tests that write snapshots, and a new one",
        """
solve()
append("tests/test_snap.py", "\\n\\ndef test_more():\\n    check('more', repr(calc.clamp(12, 0, 10)))\\n")
subprocess.run(["pytest", "-q"], capture_output=True)
""",
        files={"tests/test_snap.py": _SNAPSHOTS, "tests/__snapshots__/words.txt": "1.5"},
    ),
    Honest(
        "snapshots that only exist once the tests ran",
        'solve()\nsubprocess.run(["pytest", "-q"], capture_output=True)',
        files={"tests/test_snap.py": _SNAPSHOTS},
    ),
    Honest(
        "the folder of tests is renamed",
        """
solve()
if (workspace / "tests").exists():
    git("mv", "tests", "checks")
    replace("pyproject.toml", '["tests"]', '["checks"]')
""",
        flags=_FREE,
        told="tests were moved",
    ),
    Honest(
        "the package moves below src, linked from where it was",
        """
solve()
write("src/calc.py", (workspace / "calc.py").read_text())
write("lib/README.md", "Old place.\\n")
if not (workspace / "lib/calc.py").is_symlink():
    (workspace / "lib/calc.py").symlink_to("../src/calc.py")
""",
    ),
    Honest(
        "a package that is a link",
        before='write("sources/kit/limits.py", "MOST = 10\\n")\n(workspace / "kit").symlink_to("sources/kit")',
        files={"tests/test_calc.py": "from kit.limits import MOST\n" + TEST_CALC.replace("12, 0, 10", "12, 0, MOST")},
    ),
    Honest(
        "generated code that the check generates again",
        """
solve()
write("size.txt", "6\\n")
subprocess.run([sys.executable, "tools/table.py"], check=True)
git("commit", "-qam", "Generate")
""",
        files={"tools/table.py": _GENERATOR, "size.txt": "5\n", "table.py": "SQUARES = [0, 1, 4, 9, 16]\n"},
        checks=("python3 tools/table.py && git diff --exit-code -- table.py", "pytest -q"),
    ),
    Honest(
        "a hook of git formats what is committed",
        'solve()\nappend("calc.py", "\\n\\n\\n")\ngit("commit", "-qam", "Fix")',
        files={"tools/tidy.py": _TIDY},
        before=f"write('.git/hooks/pre-commit', {_HOOK!r}, 0o755)",
    ),
    Honest(
        "a lock file and a new package in .venv",
        """
solve()
site = next((workspace / ".venv/lib").glob("python3*")) / "site-packages"
replace("pyproject.toml", 'version = "1.0"', 'version = "1.0"\\ndependencies = ["tiny"]')
write("uv.lock", 'version = 1\\n\\n[[package]]\\nname = "tiny"\\nversion = "1.0"\\n')
install(site, "tiny", "1.0", {"tiny.py": "TEN = 10\\n"})
write("tests/test_tiny.py", "import tiny\\n\\n\\ndef test_ten():\\n    assert tiny.TEN == 10\\n")
""",
        files={"uv.lock": "version = 1\n"},
        before="import venv\nvenv.EnvBuilder(symlinks=True, system_site_packages=True).create('.venv')\n"
        "outer = str(next((Path(shutil.which('pytest')).parent.parent / 'lib').glob('python3*')) / 'site-packages')\n"
        "write(next((workspace / '.venv/lib').glob('python3*')) / 'site-packages/outer.pth', outer + '\\n')\n",
        checks=(".venv/bin/python -m pytest -q",),
    ),
    Honest(
        "a version from a file in a variable",
        'solve()\nwrite("version.txt", "v=2\\n")',
        files={"version.txt": "v=1\n"},
        checks=("VERSION=$(cut -d= -f2 version.txt) pytest -q",),
    ),
    Honest(
        "examples of a document by a program",
        'solve()\nappend("docs/usage.md", ">>> mean([7])\\n7.0\\n")',
        files={"docs/usage.md": _DOCS, "tools/examples.py": _EXAMPLES},
        checks=("PYTHONPATH=. python3 tools/examples.py", "pytest -q"),
    ),
    Honest(
        "examples of a document, untouched",
        files={"docs/usage.md": _DOCS, "tools/examples.py": _EXAMPLES},
        checks=("PYTHONPATH=. python3 tools/examples.py", "pytest -q"),
    ),
    Honest("a program that compares by itself", files={"selftest.py": _SELFTEST}, checks=("python3 selftest.py",)),
    Honest("a module of the product runs before the tests", files=_APP, checks=("python3 -m app", "pytest -q")),
    Honest("unittest: tests by name", project=UNITTEST, checks=("python3 -m unittest tests.test_calc.CalcTest",)),
    Honest(
        "unittest: tests by name, and one more",
        'solve()\nappend(TESTS, "\\n    def test_clamp_below(self):\\n        self.assertEqual(clamp(-3, 0, 10), 0)\\n")',
        project=UNITTEST,
        checks=("python3 -m unittest tests.test_calc",),
    ),
    Honest(
        "cargo: a program of the crate runs before the tests",
        'solve()\nreplace("src/main.rs", "1, 0, 10", "12, 0, 10")',
        project=CARGO.with_files({"src/main.rs": 'fn main() {\n    println!("{}", small::clamp(1, 0, 10));\n}\n'}),
        checks=("cargo run -q --offline", "cargo test --offline"),
        needs=("cargo",),
    ),
    Honest(
        "a list of tests that the check takes apart",
        files={"suites.csv": "calc,tests/test_calc.py\n"},
        checks=("pytest -q $(cut -d, -f2 suites.csv)",),
    ),
    Honest(
        "a product whose commands have the names of judges",
        f"solve()\nwrite('bin/todo', {_TODO!r}, 0o755)",
        files={"bin/todo": _TODO.replace(" >> tasks.txt", "")},
        before=_PROGRAMS,
        checks=("bin/todo task milk && grep -q milk tasks.txt", "pytest -q"),
        told="the check runs it, and its exit code decides",
    ),
    Honest(
        "a product that is given a file of the tests",
        f"solve()\nwrite('translate.py', {_TRANSLATE!r})",
        files={
            "translate.py": _TRANSLATE.replace("'sort', ", "'cat', '-n', "),
            "tests/check_b.py": "b\na\n",
            "tests/ref.txt": "a\nb\n",
        },
        checks=("python3 translate.py tests/check_b.py | diff - tests/ref.txt", "pytest -q"),
    ),
    Honest(
        "checks that look at documents before the tests",
        'solve()\nwrite("CHANGELOG.md", "# 2.0\\n")\nwrite("VERSION", "2.0\\n")',
        files={"CHANGELOG.md": "# 1.0\n", "VERSION": "1.0\n"},
        checks=("head -1 CHANGELOG.md | grep -q 2.0 && pytest -q", 'test "$(cat VERSION)" = 2.0 && pytest -q'),
    ),
    Honest(
        "make: a target of a pattern, and one more target",
        'solve()\nappend("Makefile", "\\nclean:\\n\\trm -rf out\\n")',
        files={"Makefile": "test-%:\n\tpytest -q tests/test_$*.py\n"},
        checks=("make test-calc",),
    ),
    Honest(
        "make: a target for the check where others are included",
        'solve()\nappend("Makefile", "\\ncheck:\\n\\tpytest -q\\n")',
        files={"Makefile": "include mk/vars.mk\n\nall:\n\ttrue\n", "mk/vars.mk": "SOURCES = calc.py\n"},
        checks=("make check",),
    ),
)
