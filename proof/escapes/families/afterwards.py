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

ESCAPES = (
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
