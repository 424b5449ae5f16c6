"""What checks need: services, folders to write to, users, history, other runners."""

from __future__ import annotations

from proof.honest.case import Honest
from proof.runs.projects import CARGO, MAKE, NODE, PYTEST, SCRIPTED, SHELL, TEST_CALC
from proof.runs.toolchain import COVERAGE, XDIST
from proof.runs.toolchain import PYTEST as PACKAGES

GROUP = "checks"


def _tests(text: str) -> dict[str, str | None]:
    """The tests of calc, and one more file of tests."""
    return {"tests/test_calc.py": TEST_CALC, "tests/test_other.py": text}


_SERVER = """\
import http.server
import threading
import urllib.request


def test_server():
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.handle_request).start()
    address = f"http://127.0.0.1:{server.server_port}/README.md"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    assert b"functions" in opener.open(address, timeout=10).read()
    server.server_close()
"""
_SHARED_MEMORY = """\
import multiprocessing
from multiprocessing import shared_memory


def double(number):
    return 2 * number


def test_pool():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(double, [1, 2]) == [2, 4]


def test_shared_memory():
    memory = shared_memory.SharedMemory(create=True, size=10)
    memory.buf[0] = 7
    assert memory.buf[0] == 7
    memory.close()
    memory.unlink()
"""
_PERSON = """\
import getpass
import locale
import os
import pwd
import time
from pathlib import Path


def test_person():
    assert getpass.getuser()
    assert pwd.getpwuid(os.getuid()).pw_name
    assert Path.home() == Path(os.environ["HOME"])
    assert Path.home().is_dir()


def test_place():
    assert time.tzname
    assert locale.getpreferredencoding(False).lower() in ("utf-8", "utf8")
    assert os.environ["LANG"] == "C.UTF-8"
"""
_WRITES = """\
import os
import tempfile
from pathlib import Path


def test_tree():
    Path("build").mkdir(exist_ok=True)
    Path("build/out.txt").write_text("x")
    Path(__file__).with_name("last-run.txt").write_text("x")


def test_temporary():
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    Path("/tmp/calc-test-{}".format(os.getpid())).write_text("x")
    Path("/tmp/calc-test-{}".format(os.getpid())).unlink()


def test_cache():
    folder = Path.home() / ".cache" / "calc"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table").write_text("x")
    assert (folder / "table").read_text() == "x"
"""
_DESCRIBE = """\
import subprocess


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


def test_version():
    assert git("describe", "--tags").startswith("v1.0")
    assert "Start" in git("log", "--format=%s")
    assert "calc.py" in git("ls-files").split()
"""
_VARIABLE = """\
import os


def test_variable():
    assert os.environ["CALC_MODE"] == "strict"
    assert os.environ["DATABASE_URL"].startswith("sqlite:")
"""
_PROGRAM = """\
import os
import pty
import subprocess
import sys


def test_program():
    assert subprocess.check_output([sys.executable, "-c", "import calc; print(calc.mean([2]))"], text=True) == "2.0\\n"


def test_terminal():
    master, slave = pty.openpty()
    assert os.isatty(slave)
    os.close(master)
    os.close(slave)


def test_devices():
    assert os.urandom(4)
    assert open("/dev/null").read() == ""
    assert os.path.exists("/proc/self/status")
"""
_SOCKET = """\
import socket


def test_unix_socket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = socket.socket(socket.AF_UNIX)
    server.bind("s")
    server.listen(1)
    client = socket.socket(socket.AF_UNIX)
    client.connect("s")


def test_loopback_by_name():
    server = socket.create_server(("localhost", 0))
    socket.create_connection(("localhost", server.getsockname()[1]), timeout=10).close()
"""
_DATABASE = """\
import sqlite3


def test_database():
    base = sqlite3.connect("data.db")
    base.execute("create table if not exists seen (n)")
    base.execute("insert into seen values (1)")
    base.commit()
    assert base.execute("select count(*) from seen").fetchone()[0] >= 1
"""
_MODULES = """
write("node_modules/tiny-assert/index.js", "exports.same = (a, b) => { if (a !== b) throw new Error(`${a} is not ${b}`); };\\n")
write("node_modules/tiny-assert/package.json", '{"name": "tiny-assert", "version": "1.0.0", "main": "index.js"}')
"""
_MODULE_TEST = """\
const test = require('node:test');
const { same } = require('tiny-assert');
const { slug, clamp } = require('../slug.js');

test('joins words', () => same(slug('Hello, World'), 'hello-world'));
test('stops at the top', () => same(clamp(12, 0, 10), 10));
"""
_IN_SOURCE = """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_zero() {
        assert_eq!(clamp(0, 0, 10), 0);
    }
}
"""
_STEPS_ARE_PROGRAMS = "for each in (workspace / 'steps').iterdir():\n    each.chmod(0o755)\n"
_BUILT = PYTEST.with_files(
    {
        "build.sh": "mkdir -p dist && cp calc.py dist/calc.py\n",
        "Makefile": "build:\n\tsh build.sh\n\ntest:\n\tcd dist && PYTHONPATH=. pytest -q ../tests\n",
    }
)

CASES = (
    Honest("a server on loopback", files=_tests(_SERVER)),
    Honest("processes and shared memory", files=_tests(_SHARED_MEMORY)),
    Honest("the user, the time zone, the locale", files=_tests(_PERSON)),
    Honest("another time zone", files=_tests(_PERSON), variables={"TZ": "Asia/Tokyo"}),
    Honest("tests that write into the tree, /tmp and ~/.cache", files=_tests(_WRITES)),
    Honest("tests that ask git for history", files=_tests(_DESCRIBE), before='git("tag", "v1.0")'),
    Honest(
        "variables of the person",
        files=_tests(_VARIABLE),
        variables={"CALC_MODE": "strict", "DATABASE_URL": "sqlite:///x.db"},
        flags=("--pass-env", "CALC_MODE", "--pass-env", "DATABASE_URL"),
    ),
    Honest("programs, terminals and devices", files=_tests(_PROGRAM)),
    Honest("sockets", files=_tests(_SOCKET)),
    Honest(
        "a database in the tree",
        files=_tests(_DATABASE),
        before='import sqlite3\nsqlite3.connect("data.db").execute("create table seen (n)")',
    ),
    Honest("tests in parallel", checks=("pytest -q -n 2",), packages=(*PACKAGES, *XDIST)),
    Honest("coverage", checks=("pytest -q --cov=calc --cov-report=term",), packages=(*PACKAGES, *COVERAGE)),
    Honest("two checks", checks=("python3 -m compileall -q calc.py", "pytest -q")),
    Honest("two checks, the second needs what the first built", project=_BUILT, checks=("make build", "make test")),
    Honest(
        "two checks, the second needs what the first built, and something was built before",
        project=_BUILT,
        files={".gitignore": "dist\n__pycache__\n"},
        before='shell("make build")',
        checks=("make build", "make test"),
    ),
    Honest(
        "a check beside the workspace",
        checks=("sh ../checks/run.sh",),
        before='write(scratch / "above/checks/run.sh", "#!/bin/sh\\npytest -q\\n", 0o755)',
    ),
    Honest(
        "a login shell",
        checks=("bash -lc 'pytest -q'",),
        before="folder = Path(shutil.which('pytest')).parent\nwrite(home / '.bash_profile', f'PATH={folder}:$PATH\\n')",
    ),
    Honest(
        "a check that runs all of a folder",
        files={"steps/10-compile": "#!/bin/sh\npython3 -m compileall -q .\n", "steps/20-run": "#!/bin/sh\npytest -q\n"},
        before=_STEPS_ARE_PROGRAMS,
        checks=("run-parts --exit-on-error steps",),
        needs=("run-parts",),
    ),
    Honest(
        "a check that runs all of a folder: one more, and another made better",
        'solve()\nwrite("steps/30-more", "#!/bin/sh\\ntest -s calc.py\\n", 0o755)\n'
        'write("steps/20-run", "#!/bin/sh\\nset -e\\nexec pytest -q tests\\n", 0o755)',
        files={"steps/10-compile": "#!/bin/sh\npython3 -m compileall -q .\n", "steps/20-run": "#!/bin/sh\npytest -q\n"},
        before=_STEPS_ARE_PROGRAMS,
        checks=("run-parts --exit-on-error steps",),
        needs=("run-parts",),
    ),
    Honest(
        "a script behind bash -c that the agent makes better",
        'solve()\nwrite("scripts/go.sh", "#!/bin/sh\\nset -e\\nexec pytest -q tests\\n", 0o755)',
        files={"scripts/go.sh": "#!/bin/sh\npytest -q\n"},
        before='(workspace / "scripts/go.sh").chmod(0o755)',
        checks=("bash -c '\"$@\"' _ scripts/go.sh",),
        needs=("bash",),
    ),
    Honest(
        "Python in the check that asks the product",
        checks=(
            'python3 -c "import calc; assert calc.clamp(12, 0, 10) == 10 and calc.median([3, 1, 2]) == 2"',
            "pytest -q",
        ),
    ),
    Honest(
        "Python in the check that reads the product",
        checks=("python3 -c \"exec(open('calc.py').read()); assert clamp(12, 0, 10) == 10\"", "pytest -q"),
    ),
    Honest(
        "Python in a here document that asks the product",
        checks=("python3 - <<'E'\nimport calc\nassert calc.clamp(12, 0, 10) == 10\nE", "pytest -q"),
    ),
    Honest(
        "node in the check that asks the product",
        project=NODE,
        checks=("node -e \"if (require('./slug.js').slug('A, B') !== 'a-b') process.exit(1)\"", "npm test"),
        needs=("npm",),
    ),
    Honest("xargs with a compiler", checks=("find . -name '*.py' | xargs python3 -m py_compile && pytest -q",)),
    Honest(
        "a loop over programs of the product",
        "solve()\nwrite('bin/tool', '#!/bin/sh\\nif [ \"$1\" = one ]; then echo 1; else echo 2; fi\\n', 0o755)",
        files={
            "bin/tool": '#!/bin/sh\nif [ "$1" = one ]; then echo 0; fi\n',
            "tests/tool.sh": 'set -e\nfor each in one:1 two:2; do [ "$(sh bin/tool "${each%:*}")" = "${each#*:}" ]; done\n',
        },
        checks=("sh tests/tool.sh", "pytest -q"),
    ),
    Honest(
        "a script with functions that test a program of the product",
        "solve()\nwrite('bin/tool', '#!/bin/sh\\nif [ \"$1\" = one ]; then echo 1; else echo 2; fi\\n', 0o755)",
        files={
            "bin/tool": '#!/bin/sh\nif [ "$1" = one ]; then echo 0; fi\n',
            "tests/tool.sh": 'set -e\nTOOL=bin/tool\nrun() { sh "$TOOL" "$@"; }\nout=$(run one)\n[ "$out" = 1 ]\n[ "$(run two)" = 2 ]\n',
        },
        checks=("sh tests/tool.sh", "pytest -q"),
    ),
    Honest("a part of the check in another folder", checks=("(cd tests && ls) && bash -euo pipefail -c 'pytest -q'",)),
    Honest("two checks of a script", project=SCRIPTED, checks=("sh -n check.sh", "sh check.sh")),
    Honest("a linter and tests", checks=(f"python3 -m compileall -q . && {PYTEST.check}",)),
    Honest(
        "a pipe that keeps the exit code",
        checks=("bash -o pipefail -c 'pytest -q | tee \"$TMPDIR/log\"'",),
        needs=("bash",),
    ),
    Honest("a pipe into tail", checks=("pytest -q | tail -n 5",)),
    Honest("verbose tests", checks=("pytest -v",)),
    Honest("tests with output", checks=("pytest -q -s -rA",)),
    Honest(
        "tests that say failed in their names",
        files=_tests(
            "import pytest\n\n\n@pytest.mark.parametrize('state', ['3 failed', 'error'])\ndef test_failed(state):\n    print(state)\n"
        ),
    ),
    Honest(
        "a skipped test that was skipped before",
        files=_tests(
            "import pytest\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n\n\n"
            "@pytest.mark.xfail\ndef test_never():\n    assert False\n"
        ),
    ),
    Honest("git has nothing to say against white space", checks=("git diff --check HEAD && pytest -q",)),
    Honest("a quiet check", project=MAKE, checks=("make -s check > /dev/null && echo fine",)),
    Honest("a check that is a condition", checks=("grep -q max calc.py", "pytest -q")),
    Honest("script", project=SHELL),
    Honest("script: the agent adds another one", 'solve()\nwrite("hello.sh", "sh greet.sh World\\n")', project=SHELL),
    Honest("npm", project=NODE, needs=("npm",)),
    Honest("node", project=NODE, checks=("node --test",), needs=("node",)),
    Honest(
        "npm: a new test file",
        "solve()\nwrite(\"test/more.test.js\", \"const test = require('node:test');\\ntest('more', () => {});\\n\")",
        project=NODE,
        needs=("npm",),
    ),
    Honest(
        "npm: one more script and a version",
        """
solve()
replace("package.json", '"scripts": {', '"scripts": {\\n    "start": "node slug.js",')
replace("package.json", "1.0.0", "1.1.0")
""",
        project=NODE,
        needs=("npm",),
    ),
    Honest(
        "npm: with node_modules",
        project=NODE,
        files={"test/slug.test.js": _MODULE_TEST},
        before=_MODULES,
        needs=("npm",),
    ),
    Honest(
        "npm: one more dependency, with its lock file",
        """
solve()
replace("package.json", '"scripts"', '"dependencies": { "tiny-pad": "1.0.0" },\\n  "scripts"')
write("package-lock.json", '{"name": "slug", "lockfileVersion": 3, "packages": {"node_modules/tiny-pad": {"version": "1.0.0"}}}\\n')
write("node_modules/tiny-pad/index.js", "module.exports = (text) => ` ${text} `;\\n")
write("node_modules/tiny-pad/package.json", '{"name": "tiny-pad", "version": "1.0.0", "main": "index.js"}')
write("pad.js", "module.exports = require('tiny-pad');\\n")
write("test/pad.test.js", "const test = require('node:test');\\nconst assert = require('node:assert');\\n"
      "test('pads', () => assert.strictEqual(require('../pad.js')('a'), ' a '));\\n")
""",
        project=NODE,
        files={"package-lock.json": '{"name": "slug", "lockfileVersion": 3, "packages": {}}\n'},
        before=_MODULES,
        told="an ignored folder changed together with its lock file",
        needs=("npm",),
    ),
    Honest("cargo", project=CARGO, needs=("cargo",)),
    Honest(
        "cargo: built before",
        project=CARGO,
        before='subprocess.run(["cargo", "build", "-q", "--offline"], capture_output=True)',
        needs=("cargo",),
    ),
    Honest(
        "cargo: a new test file",
        'solve()\nwrite("tests/more.rs", "#[test]\\nfn more() {\\n    assert_eq!(small::clamp(-4, 0, 9), 0);\\n}\\n")',
        project=CARGO,
        needs=("cargo",),
    ),
    Honest(
        "cargo: tests in the source", f"solve()\nappend('src/lib.rs', {_IN_SOURCE!r})", project=CARGO, needs=("cargo",)
    ),
    Honest(
        "cargo: one more crate in the tree",
        """
solve()
write("tiny/Cargo.toml", '[package]\\nname = "tiny"\\nversion = "0.1.0"\\nedition = "2021"\\n')
write("tiny/src/lib.rs", "pub const MOST: i64 = 10;\\n")
append("Cargo.toml", '\\n[dependencies]\\ntiny = { path = "tiny" }\\n')
subprocess.run(["cargo", "generate-lockfile", "--offline"], capture_output=True)
""",
        project=CARGO,
        needs=("cargo",),
    ),
    Honest(
        "a server of the agent's that may go on",
        "solve()\nbackground('time.sleep(6)', 'child')",
        flags=("--keep-running", "python*"),
        told="a process went on",
    ),
)
