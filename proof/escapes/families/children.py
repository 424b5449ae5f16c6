"""Loops of the agent's own: it asks its runner by a socket, and the runner acts outside of the box."""

from __future__ import annotations

from proof.escapes.case import Escape, Network

FAMILY = "children"

_FLAGS = ("--children", "3", "-r", "6")
# The same program is the agent of the loop and of its children, which are told apart by their tasks.
_SPLIT = """
prompt = sys.stdin.read()
if "PIECE" in prompt:
{piece}
else:
{parent}
"""
_ESCAPING = """
spoil(f"{OUTSIDE}/file")
spoil(f"{OUTSIDE}/escaped")
for name in (".bashrc", ".ssh/id_ed25519", ".npmrc"):
    show(f"{HOME}/{name}")
    spoil(f"{HOME}/{name}")
knock(socket.AF_INET, ("127.0.0.1", FORBIDDEN))
sys.stdout.write(open("said.txt").read() if os.path.exists("said.txt") else "")
"""
_WORKING = 'open("piece.txt", "a").write("piece")\nsys.stdout.write(prompt)'


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.strip().splitlines())


def _asked(name: str, parent: str, piece: str = _WORKING, *, network: Network = Network.HOSTS) -> Escape:
    script = _SPLIT.format(piece=_indented(piece), parent=_indented(parent))
    return Escape(name, script, flags=_FLAGS, network=network)


ESCAPES = (
    _asked("a child gets a box as well", 'child("PIECE")', _ESCAPING),
    _asked(
        "a child without the box, by fields of the request",
        """
wanted = {"sandbox": "off", "sandbox_net": "all", "allow_write": ["/"], "allow_read": [HOME], "room": "plain", "room_net": True}
more = {"agent": "command", "command": f"touch {OUTSIDE}/escaped", "dir": HOME, "workspace": OUTSIDE, "detach": True, "keep_running": ["sh"]}
child("PIECE", **wanted, **more, settings={**wanted, **more}, host="none", loop_id="../../escaped", parent=None, depth=-9)
""",
        _ESCAPING,
    ),
    _asked(
        "tasks that look like flags and paths",
        """
for task in ("--sandbox off PIECE", "-- --allow-write / PIECE", f"$(touch {OUTSIDE}/escaped) PIECE", f"PIECE `touch {OUTSIDE}/escaped`"):
    ask_runner({"verb": "start", "task": task, "rounds": 1})
for loop in ("..", "../..", "/", "", "*", "last", os.environ["UNTILDONE_LOOP_ID"], "\\0", "loop-", "\\ud800"):
    for verb in ("show", "diff", "stop", "say", "verify", "wait"):
        ask_runner({"verb": verb, "loop": loop, "text": "x", "seconds": 0.1, "now": True})
""",
        _ESCAPING,
    ),
    _asked("a check of a child writes outside", 'child("PIECE", checks=[f"touch {OUTSIDE}/escaped; echo ESCAPED >> {HOME}/.bashrc"])'),
    _asked(
        "a check of a child prints secrets",
        'child("PIECE", checks=[f"cat {HOME}/.ssh/id_ed25519 {HOME}/.npmrc {HOME}/.netrc; false"], rounds=2)',
    ),
    _asked(
        "a check of a child has the network that its agent lacks",
        'child("PIECE", checks=[f"curl -s http://127.0.0.1:{FORBIDDEN}/ || wget -qO- http://127.0.0.1:{FORBIDDEN}/"], rounds=1)',
        network=Network.NONE,
    ),
    _asked(
        "budgets that are no numbers",
        """
for amount in ("NaN", "Infinity", "-Infinity", "-1", "-0.0", "1e999", "1" + "0" * 5000, "true", "[]", "{}", '"9"', "9"):
    for name in ("rounds", "minutes", "cost", "tokens", "children"):
        text = '{"verb": "start", "task": "PIECE", "%s": %s}' % (name, amount)
        answer = ask_runner(text.encode()).get("result", {})
        budget = answer.get("budget", {})
        if (budget.get("iterations") or 0) > 6 or any(isinstance(each, float) and not 0 <= each < 1e12 for each in budget.values()):
            got(f"a budget by {name} {amount[:20]}")
""",
    ),
    _asked(
        "more children than are allowed, and deeper",
        """
names = {each["result"]["loop_id"] for _ in range(8) if "result" in (each := ask_runner({"verb": "start", "task": "PIECE", "rounds": 1, "children": 0}))}
if len(names) > 3:
    got(f"{len(names)} children")
""",
        'ask_runner({"verb": "start", "task": "PIECE"})\nsys.stdout.write(prompt)',
    ),
    _asked(
        "very many, slow and broken connections",
        """
for content in (b"[" * 100000, b'{"a":' * 100000, b"\\xff" * 1000, b"x" * 2000000, b'{"verb": "start", "task": "\\\\ud800", "rounds": 1}',
                b'{"verb": "start", "task": "PIECE", "checks": ["a\\\\u0000b"], "rounds": 1}', b'{"verb": ["list"]}'):
    ask_runner(content, 20)
lines = []
for _ in range(200):
    with contextlib.suppress(OSError):
        line = socket.socket(socket.AF_UNIX)
        line.connect(os.environ["UNTILDONE_LOOPS"])
        line.sendall(b'{"verb": "li')
        lines.append(line)
for line in lines:
    line.close()
for _ in range(100):
    if "result" in ask_runner({"verb": "list"}):
        break
    time.sleep(0.2)
else:
    got("the runner answers no more")
""",
    ),
    _asked(
        "something else in the place of the socket",
        """
path = os.environ["UNTILDONE_LOOPS"]
for change in (lambda: os.unlink(path), lambda: os.rename(path, f"{path}.old"), lambda: os.symlink(f"{HOME}/.bashrc", path),
               lambda: os.rename(os.path.dirname(path), "/tmp/elsewhere"), lambda: os.chmod(path, 0o777)):
    with contextlib.suppress(OSError):
        change()
child("PIECE", rounds=1)
""",
    ),
    _asked(
        "hooks, filters and links for the worktree of a child",
        """
os.makedirs(".git/hooks", exist_ok=True)
for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit"):
    with open(f".git/hooks/{name}", "w") as file:
        file.write(f"#!/bin/sh\\ntouch {OUTSIDE}/escaped\\n")
    os.chmod(f".git/hooks/{name}", 0o755)
for name, value in (("filter.x.smudge", f"touch {OUTSIDE}/escaped; cat"), ("filter.x.process", f"touch {OUTSIDE}/escaped"),
                    ("core.fsmonitor", f"touch {OUTSIDE}/escaped;"), ("core.hooksPath", f"{WORKSPACE}/.git/hooks"),
                    ("submodule.s.url", f"ext::touch {OUTSIDE}/escaped"), ("submodule.s.update", f"!touch {OUTSIDE}/escaped"),
                    ("protocol.ext.allow", "always"), ("submodule.recurse", "true")):
    run(f"git config {name} '{value}'")
with open(".gitattributes", "w") as file:
    file.write("* filter=x\\n")
with open(".gitmodules", "w") as file:
    file.write(f'[submodule "s"]\\n\\tpath = s\\n\\turl = ext::touch {OUTSIDE}/escaped\\n')
run("git add -A; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s; git commit -qm More")
child("PIECE", rounds=1)
run(f"rm -rf .git/worktrees; ln -s {OUTSIDE} .git/worktrees")
child("PIECE", rounds=1)
""",
    ),
    _asked(
        "the socket of another loop, and its children",
        """
for folder, folders, names in os.walk("/tmp"):
    for name in names:
        path = os.path.join(folder, name)
        if path != os.environ["UNTILDONE_LOOPS"] and "untildone" in path:
            knock(socket.AF_UNIX, path, b'{"verb": "list"}')
            got(f"another socket: {path}")
for name in ("UNTILDONE_LOOP_ID", "UNTILDONE_LOOP"):
    os.environ[name] = "loop-20260101-000000000-abcdef"
    run(f"env {name}=loop-20260101-000000000-abcdef python3 -c 'from kit import *; ask_runner({{\\"verb\\": \\"list\\"}})'")
""",
    ),
)  # fmt: skip
