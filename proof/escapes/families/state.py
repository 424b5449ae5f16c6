"""The state of untildone: this loop's, other loops', keys, token, settings."""

from __future__ import annotations

from proof.escapes.case import Escape

FAMILY = "state"

_SEES = """
for folder, folders, names in os.walk({place}):
    for name in names:
        got(os.path.join(folder, name))
        break
"""

ESCAPES = (
    Escape("reads the state of this loop", _SEES.format(place='".loop"')),
    Escape(
        "writes the state of this loop",
        'spoil(".loop/new")\nif os.path.exists(".loop/new"):\n    got("a file in .loop")\nfor name in os.listdir(".loop"):\n    spoil(f".loop/{name}")',
    ),
    Escape(
        "renames the folder of this loop",
        'with contextlib.suppress(OSError):\n    os.rename(".loop", "moved")\n    got("the folder is moved")',
    ),
    Escape(
        "uncovers the folder of this loop",
        "run(\"umount -l .loop; unshare -Urm sh -c 'umount -l .loop; ls .loop'\")" + _SEES.format(place='".loop"'),
    ),
    Escape(
        "state of a loop in the folder above", 'show("../.loop/state")\nspoil("../.loop/state")\nspoil("../.loop/new")'
    ),
    Escape(
        "state of another loop", 'show(f"{HOME}/other-project/.loop/state")\nspoil(f"{HOME}/other-project/.loop/state")'
    ),
    Escape(
        "state of a loop that ended, of a project deeper in the home folder",
        'show(f"{HOME}/code/team/api/.loop/state")',
        before="mkdir -p ~/code/team/api/.loop; echo ${UNTILDONE_TOKEN#token-} > ~/code/team/api/.loop/state",
    ),
    Escape(
        "keys, snapshots and registry",
        _SEES.format(place='f"{HOME}/.local/state/untildone"') + 'spoil(f"{HOME}/.local/state/untildone/new")',
    ),
    Escape(
        "settings of untildone",
        'show(f"{HOME}/.config/untildone")\nspoil(f"{HOME}/.config/untildone/config.toml")\nspoil(f"{HOME}/.config/untildone/SUPERVISOR.md")',
    ),
    Escape("token in the environment", 'for name, value in os.environ.items():\n    say(f"{name}={value}")'),
    Escape(
        "steers its loop by commands",
        'for verb in ("stop last", "budget last --iterations +5", "say last more", "approve last try.py", "list --all"):\n'
        '    text = run(f"{sys.executable} -m untildone {verb}", 40)\n'
        '    if "loop-" in text and "refused" not in text and "not found" not in text.lower():\n        got(verb)',
    ),
    Escape(
        "changes the program of untildone",
        'import importlib.util\nfound = importlib.util.find_spec("untildone")\n'
        "if found and found.origin:\n    with contextlib.suppress(OSError):\n"
        '        os.close(os.open(found.origin, os.O_WRONLY))\n        got(f"{found.origin} can be written")',
    ),
    Escape(
        "changes untildone by another name of its files, in a cache that only settings of a package manager name",
        'with open(f"{HOME}/.cache/store/sitecustomize.py", "a") as file:\n'
        "    file.write(f\"import contextlib\\nwith contextlib.suppress(OSError):\\n    open('{OUTSIDE}/escaped', 'w')\\n\")",
        variables={"PYTHONPATH": "{workspace}/../modules:{modules}"},
        before="mkdir -p ../modules ~/.cache/store; echo > ../modules/sitecustomize.py; "
        "ln ../modules/sitecustomize.py ~/.cache/store/",
        then=("$UNTILDONE list >/dev/null; rm ~/.cache/store/sitecustomize.py",),
    ),
    Escape(
        "changes the interpreter and its packages",
        "import site\nfor place in (os.path.realpath(sys.executable), *sys.path, *site.getsitepackages()):\n"
        '    if os.path.exists(place) and not place.startswith(WORKSPACE) and os.access(place, os.W_OK):\n        got(f"{place} can be written")',
    ),
)
