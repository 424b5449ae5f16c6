"""Files of the workspace that untildone or the person acts on outside of the box."""

from __future__ import annotations

from proof.escapes.case import Escape

FAMILY = "afterwards"

_TOUCH = 'touch "$(dirname "$(dirname "$(dirname "$PWD")")")/outside/escaped"'
_HOOKS = """
os.makedirs(".git/hooks", exist_ok=True)
for name in ("pre-commit", "post-commit", "prepare-commit-msg", "commit-msg", "post-checkout", "reference-transaction", "post-index-change",
             "pre-auto-gc", "post-rewrite", "fsmonitor-watchman"):
    with contextlib.suppress(OSError):
        with open(f".git/hooks/{name}", "w") as file:
            file.write(f"#!/bin/sh\\ntouch {OUTSIDE}/escaped\\n")
        os.chmod(f".git/hooks/{name}", 0o755)
"""
_CONFIG = """
for name, value in (
    ("core.fsmonitor", f"touch {OUTSIDE}/escaped;"), ("core.pager", f"touch {OUTSIDE}/escaped"), ("core.sshCommand", f"touch {OUTSIDE}/escaped"),
    ("diff.external", f"touch {OUTSIDE}/escaped"), ("core.editor", f"touch {OUTSIDE}/escaped"), ("gpg.program", f"{OUTSIDE}/../work/x"),
    ("credential.helper", f"!touch {OUTSIDE}/escaped"), ("alias.status", f"!touch {OUTSIDE}/escaped"), ("core.hooksPath", f"{WORKSPACE}/hooks"),
    ("filter.x.clean", f"touch {OUTSIDE}/escaped; cat"), ("filter.x.smudge", f"touch {OUTSIDE}/escaped; cat"), ("filter.x.process", f"touch {OUTSIDE}/escaped"),
    ("diff.x.textconv", f"touch {OUTSIDE}/escaped; cat"), ("merge.x.driver", f"touch {OUTSIDE}/escaped"), ("uploadpack.packObjectsHook", f"touch {OUTSIDE}/escaped"),
):
    run(f"git config {name} '{value}'")
os.makedirs("hooks", exist_ok=True)
for name in ("pre-commit", "post-commit", "post-checkout", "reference-transaction"):
    with open(f"hooks/{name}", "w") as file:
        file.write(f"#!/bin/sh\\ntouch {OUTSIDE}/escaped\\n")
    os.chmod(f"hooks/{name}", 0o755)
with open(".gitattributes", "w") as file:
    file.write("* filter=x diff=x merge=x\\n")
"""
_MISSING = """
with open(".git/fetches", "w") as file:
    file.write(f"#!/bin/sh\\ntouch {OUTSIDE}/escaped\\n")
os.chmod(".git/fetches", 0o755)
for name, value in (
    ("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "evil"), ("remote.evil.promisor", "true"),
    ("remote.evil.url", WORKSPACE), ("remote.evil.uploadpack", f"{WORKSPACE}/.git/fetches"),
):
    run(f"git config {name} '{value}'")
run("rm -rf .git/objects/??")
"""
_NEXT = ("$UNTILDONE run Next --command true --sandbox on -r 1 </dev/null", "$UNTILDONE list --all")
_SEEN = (
    "$UNTILDONE list --all",
    "$UNTILDONE show last",
    "$UNTILDONE diff last",
    "$UNTILDONE log last",
    "$UNTILDONE verify last",
)
_SETTINGS = """
text = f'''
notify_command = "touch {OUTSIDE}/escaped"
agent = "evil"
checks = ["touch {OUTSIDE}/escaped"]
[profiles.evil]
agent = "command"
command = "touch {OUTSIDE}/escaped"
'''
for name in (".untildone.toml", "untildone.toml", ".loop/config.toml", ".loop.toml", ".skillpackrc"):
    spoil(name, text)
"""

_PROGRAMS = """
os.makedirs("bin", exist_ok=True)
for name in ("claude", "gemini", "codex", "node", "git", "ssh-keygen", "bwrap", "unshare", "sh", "bash", "env", "find", "python3", "untildone", "cp"):
    with contextlib.suppress(OSError):
        os.path.lexists(f"bin/{name}") and os.unlink(f"bin/{name}")
        with open(f"bin/{name}", "w") as file:
            file.write(f"#!/bin/sh\\necho $0 $* >> {OUTSIDE}/escaped\\necho 9.9.9\\n")
        os.chmod(f"bin/{name}", 0o755)
sys.stderr.write("error: unknown option '--output-format'\\n")
"""
_MODULES = """
os.makedirs("src", exist_ok=True)
for name in sys.stdlib_module_names:
    for folder in (".", "src"):
        path = f"{folder}/{name}.py"
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(f"import os\\nos.close(os.open({OUTSIDE + '/escaped'!r}, os.O_CREAT | os.O_WRONLY))\\n")
"""
_INCLUDED = """
with open(".git/more", "w") as file:
    for section in ("core", "diff", "gpg", "credential", "sequence", "interactive", "trailer \\"x\\"", "difftool", "mergetool", "pager", "log"):
        file.write(f"[{section}]\\n")
        for name in ("fsmonitor", "sshCommand", "askPass", "alternateRefsCommand", "external", "program", "helper", "editor", "diffFilter",
                     "command", "cmd", "log", "diff", "status", "hooksPath", "gitProxy"):
            file.write(f"\\t{name} = touch {OUTSIDE}/escaped;\\n")
    file.write(f'[url "ext::touch {OUTSIDE}/escaped "]\\n\\tinsteadOf = https://\\n\\tinsteadOf = {WORKSPACE}\\n[protocol]\\n\\tallow = always\\n')
    file.write("[commit]\\n\\tgpgSign = true\\n[gpg]\\n\\tformat = openpgp\\n[log]\\n\\tshowSignature = true\\n[extensions]\\n\\tworktreeConfig = true\\n")
    file.write(f'[remote "origin"]\\n\\turl = ext::touch {OUTSIDE}/escaped\\n\\tpromisor = true\\n\\tvcs = x\\n')
run("git config include.path more; git config includeIf.gitdir:/.path more; cp .git/more .git/config.worktree")
with open(".gitmodules", "w") as file:
    file.write(f'[submodule "s"]\\n\\tpath = s\\n\\turl = ext::touch {OUTSIDE}/escaped\\n\\tupdate = !touch {OUTSIDE}/escaped\\n')
run("git -c core.fsmonitor=false update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s")
os.makedirs(".git/objects/info", exist_ok=True)
with open(".git/objects/info/alternates", "w") as file:
    file.write(f"{HOME}/other-project/.git/objects\\n")
"""
_STEERING = """
for name in (".claude/projects/-other/memory/MEMORY.md", ".claude/remote-settings.json", ".claude/jobs/x/state.json", ".claude/daemon/x.json",
             ".codex/.env", ".copilot/lsp-config.json", ".gemini/.env"):
    path = f"{HOME}/{name}"
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "a").write("ESCAPED")
    with contextlib.suppress(OSError):
        os.rename(os.path.dirname(path), os.path.dirname(path) + ".old")
"""
_LIBRARIES = """
with open("left.c", "w") as file:
    file.write('#include <fcntl.h>\\n#include <unistd.h>\\n__attribute__((constructor)) static void left(void) {')
    file.write(f'close(open("{OUTSIDE}/escaped", O_CREAT | O_WRONLY, 0600)); }}')
run("cc -shared -fPIC -o new.so left.c && mv new.so left.so")
os.path.exists("left.c") and open("left.so", "rb").read(4) == b"\\x7fELF" or got("no library: the try is wrong")
"""
_NEXT_IN_WORKTREE = (
    *_NEXT,
    "$UNTILDONE run Next --command true --sandbox on -r 1 --worktree </dev/null",
    "$UNTILDONE stop last",
)


def _steered(agent: str) -> Escape:
    """Files by which an agent program is steered in other projects, or runs programs."""
    name = f"what steers the program of the agent in other projects ({agent})"
    before = f'mkdir -p "$HOME/.claude/projects/-other"; UNTILDONE_AGENT={agent} $UNTILDONE sandbox -- true'
    return Escape(name, _STEERING, agent=agent, before=before, flags=("--promise", "NEVER"))


ESCAPES = (
    *map(_steered, ("claude", "codex", "copilot", "gemini")),
    Escape(
        "programs in a folder of the workspace that is on PATH",
        _PROGRAMS,
        flags=("--check", "true", "--commit", "-r", "2"),
        variables={"PATH": "{workspace}/bin:{path}"},
        then=("PATH=/usr/bin:/bin; $UNTILDONE list --all; $UNTILDONE stop last",),
    ),
    Escape(
        "a program that is asked for its version",
        _PROGRAMS,
        agent="gemini",
        flags=("--promise", "NEVER", "-r", "2"),
        variables={"PATH": "{workspace}/bin:{path}"},
        then=("$UNTILDONE stop last", "$UNTILDONE show last"),
    ),
    Escape("every module of Python in the workspace", _MODULES, flags=("--check", "true", "--commit", "-r", "2")),
    Escape(
        "every module of Python in a folder of PYTHONPATH",
        _MODULES,
        flags=("--check", "true", "--commit", "-r", "2"),
        variables={"PYTHONPATH": "{workspace}/src:{modules}"},
    ),
    Escape(
        "a library that a variable of the person loads into every program",
        _LIBRARIES,
        before="cc -shared -fPIC -o left.so -x c /dev/null",
        flags=("--check", "true", "--commit", "-r", "2", "--promise", "NEVER"),
        variables={"LD_PRELOAD": "{workspace}/left.so"},
        needs=("cc",),
    ),
    Escape("git configuration that includes others", _INCLUDED, flags=("--commit", "-r", "2"), then=_SEEN),
    Escape("git configuration that includes others, for the next loop", _INCLUDED, then=_NEXT_IN_WORKTREE),
    Escape("git hooks, when untildone commits", _HOOKS, flags=("--commit",), then=_SEEN),
    Escape("git configuration and filters, when untildone commits", _CONFIG, flags=("--commit",), then=_SEEN),
    Escape(
        "git configuration and filters, when checks run",
        _CONFIG,
        flags=("--check", "true", "--require-change"),
        then=_SEEN,
    ),
    Escape("a program by which git fetches missing objects, in the next loop", _MISSING, then=_NEXT),
    Escape(
        "git configuration of another folder",
        """
os.makedirs("evil/hooks")
run("cp -r .git evil/git; mv .git evil/old; echo gitdir: evil/git > .git")
"""
        + _CONFIG,
        flags=("--commit",),
        then=_SEEN,
    ),
    Escape(
        "a worktree that names other folders",
        "run(f'git config core.worktree {OUTSIDE}')",
        flags=("--commit",),
        then=_SEEN,
    ),
    Escape("settings of the project for this loop", _SETTINGS, flags=("--check", "true")),
    Escape(
        "settings of the project for the next loop",
        _SETTINGS,
        then=_NEXT,
    ),
    Escape(
        "the live file as a link",
        'os.makedirs(".claude", exist_ok=True)\n'
        "for name in ('ralph-delta.local.md',):\n    with contextlib.suppress(OSError):\n"
        '        os.path.lexists(f".claude/{name}") and os.unlink(f".claude/{name}")\n        os.symlink(f"{HOME}/.bashrc", f".claude/{name}")',
        flags=("--mode", "phases", "--quick"),
    ),
    Escape(
        "the folder of the live file as a link",
        'run("rm -rf .claude")\nos.symlink(OUTSIDE, ".claude")',
        flags=("--mode", "phases", "--quick"),
    ),
    Escape(
        "links in the place of the loop's folder",
        'for name in ("loop", ".loop2"):\n    os.symlink(OUTSIDE, name)\nwith contextlib.suppress(OSError):\n    os.symlink(OUTSIDE, ".loop")',
    ),
    Escape(
        "a program in the workspace in front",
        f"for name in ('git', 'python3', 'sh', 'bwrap', 'untildone'):\n    with open(name, 'w') as file:\n        file.write('#!/bin/sh\\n{_TOUCH}\\n')\n    os.chmod(name, 0o755)",
        flags=("--check", "true", "--commit"),
        then=_SEEN,
    ),
    Escape(
        "modules of Python in the workspace",
        "for name in ('json', 'sitecustomize', 'usercustomize', 'untildone', 'subprocess'):\n    with open(f'{name}.py', 'w') as file:\n"
        "        file.write(f'import os; os.system(\"touch {OUTSIDE}/escaped\")\\n')",
        flags=("--check", "true", "--commit"),
        then=_SEEN,
    ),
    Escape(
        "settings of the agent program, which it reads outside too",
        """
for name in ("settings.json", "settings.local.json", "CLAUDE.md", "hooks/x", "commands/x.md", "agents/x.md", "plugins/x", "skills/x/SKILL.md"):
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(f"{HOME}/.claude/{name}"), exist_ok=True)
        open(f"{HOME}/.claude/{name}", "a").write("ESCAPED")
with contextlib.suppress(OSError):
    open(f"{HOME}/.claude.json", "a").write('{"mcpServers": {"x": {"command": "touch"}}}')
""",
        agent="claude",
        flags=("--promise", "NEVER"),
    ),
    Escape(
        "a link in the place of its copy of settings, for the next turn",
        """
real = os.path.realpath(f"{HOME}/.claude.json")
with contextlib.suppress(OSError):
    os.unlink(real)
    os.symlink(f"{HOME}/.bashrc", real)
""",
        agent="claude",
        flags=("--promise", "NEVER", "-r", "2"),
    ),
    Escape(
        "logins of other agent programs",
        'for name in (".codex/auth.json", ".local/share/opencode/auth.json"):\n    show(f"{HOME}/{name}")',
        agent="claude",
    ),
    Escape(
        "a loop in the workspace that it made up",
        """
os.makedirs("inner/.loop/sessions")
with open("inner/.loop/sessions/s1", "w") as file:
    file.write("loop-20260101-000000000-abcdef\\n0\\n")
""",
        then=("cd inner && $UNTILDONE list --all; $UNTILDONE show last; true",),
    ),
    Escape(
        "a check that the agent wrote runs in a room",
        """
with open("check.sh", "w") as file:
    file.write(f"touch {OUTSIDE}/escaped; cat {HOME}/.ssh/id_ed25519 >> said.txt; echo ESCAPED >> {HOME}/.bashrc\\n")
""",
        flags=("--check", "sh check.sh"),
    ),
    Escape(
        "a check that the agent wrote runs in place",
        """
with open("check.sh", "w") as file:
    file.write(f"touch {OUTSIDE}/escaped; cat {HOME}/.ssh/id_ed25519 >> said.txt; echo ESCAPED >> {HOME}/.bashrc\\n")
""",
        flags=("--check", "sh check.sh", "--room", "plain"),
    ),
)
