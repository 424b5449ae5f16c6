"""Programs that only run another program: the words of a command line without them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise

from untildone.core.values.value import dataclass

Words = tuple[str, ...]


def program(word: str) -> str:
    """The name of a program without folder and ending: `pytest` for `.venv/bin/pytest`."""
    name = re.split(r"[/\\]", word)[-1]
    return re.sub(r"(?<=.)\.(?:exe|cmd|bat|[cm]?js|phar)$", "", name)


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """A program that runs the program named in its arguments."""

    with_value: frozenset[str] = frozenset()
    """Its options that take a value."""
    operands: int = 0
    """How many of its own arguments stand before that program."""


def _wrapper(with_value: str = "", operands: int = 0) -> _Wrapper:
    return _Wrapper(frozenset(with_value.split()), operands)


_PLAIN = _wrapper()
_DOCKER = _wrapper("-e --env -u --user -w --workdir -v --volume -p --publish --name --network --mount --env-file", 1)
_CONDA = _wrapper("-n --name -p --prefix --cwd")
_WRAPPERS = {
    **dict.fromkeys(
        (
            ("nohup",), ("command",), ("exec",), ("builtin",), ("setsid",), ("unbuffer",), ("cross-env",), ("chronic",),
            ("poetry", "run"), ("pipenv", "run"), ("rye", "run"), ("bundle", "exec"), ("bun", "x"), ("npm", "exec"), ("npm", "x"),
            ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"), ("yarn", "dlx"), ("bunx",), ("pnpx",), ("uvx",), ("doppler", "run"),
            ("op", "run"), ("hatch", "run"),
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        (("dotenv",), ("dotenvx", "run"), ("env-cmd",), ("godotenv",), ("shdotenv",), ("honcho", "run"), ("foreman", "run")),
        _wrapper("-f --file -e --env -r --rc-file -c --cascade -q --quote -d --dialect"),
    ),
    ("env",): _wrapper("-u --unset -C --chdir"),
    ("timeout",): _wrapper("-s --signal -k --kill-after", 1),
    ("gtimeout",): _wrapper("-s --signal -k --kill-after", 1),
    ("doas",): _wrapper("-u -C"),
    ("nice",): _wrapper("-n --adjustment"),
    ("ionice",): _wrapper("-c -n"),
    ("time",): _wrapper("-f -o"),
    ("stdbuf",): _wrapper("-i -o -e"),
    ("sudo",): _wrapper("-u -g -h -p -C -D"),
    ("flock",): _wrapper("-w -E", 1),
    ("taskset",): _wrapper("", 1),
    ("direnv", "exec"): _wrapper("", 1),
    ("mise", "exec"): _PLAIN,
    ("mise", "x"): _PLAIN,
    ("xvfb-run",): _wrapper("-s --server-args -n --server-num -e --error-file -f --auth-file -w --wait -p"),
    ("xargs",): _wrapper("-n -P -I -L -d -s -a"),
    ("npx",): _wrapper("-p --package"),
    ("nyc",): _wrapper("-r --reporter -x --exclude -n --include"),
    ("c8",): _wrapper("-r --reporter -x --exclude -n --include"),
    ("uv", "run"): _wrapper(
        "--with --extra --group --no-group --only-group -p --python --package --directory --project --env-file --with-requirements"
        " --with-editable --index --index-url"
    ),
    ("pdm", "run"): _wrapper("-p --project"),
    ("pixi", "run"): _wrapper("-e --environment --manifest-path"),
    ("conda", "run"): _CONDA,
    ("mamba", "run"): _CONDA,
    ("micromamba", "run"): _CONDA,
    ("coverage", "run"): _wrapper("--source --omit --include --rcfile --data-file --context --concurrency"),
    ("docker", "exec"): _DOCKER,
    ("docker", "run"): _DOCKER,
    ("docker", "compose", "exec"): _DOCKER,
    ("docker", "compose", "run"): _DOCKER,
    ("podman", "exec"): _DOCKER,
    ("podman", "run"): _DOCKER,
}  # fmt: skip
_MANAGERS = dict.fromkeys((("yarn",), ("pnpm",), ("yarn", "run"), ("bun", "run")), _PLAIN)
"""Package managers that run a script of that name, or else a program."""
_ASSIGNMENT = r"[A-Za-z_]\w*\+?=.*"


def without_wrappers(words: Words) -> Words:
    """The words without assignments, and without programs that only run another: `python -m pytest` for `env A=1 nice python -m pytest`."""
    return _repeated(words, lambda inner: _without_wrapper(inner, _WRAPPERS))


def unwrapped(words: Words) -> Words:
    """The words from what does the work on: as `without_wrappers`, and without interpreters and package managers."""
    return _repeated(words, _without_outermost)


def _repeated(words: Words, step: Callable[[Words], Words]) -> Words:
    for _ in range(len(words)):
        inner = step(words)
        if inner == words:
            break
        words = inner
    return words


def _without_wrapper(words: Words, wrappers: Mapping[Words, _Wrapper]) -> Words:
    if not words:
        return words
    if re.fullmatch(_ASSIGNMENT, words[0], re.DOTALL):
        return words[1:]
    name = program(words[0])
    for length in (3, 2, 1):
        if wrapper := wrappers.get((name, *words[1:length])) if len(words) >= length else None:
            inner = _after(words[length:], wrapper)
            if name in ("dotenv", "honcho", "foreman") and inner[:1] == ("run",):
                inner = _after(inner[1:], wrapper)
            return ("python", *inner) if name == "coverage" else inner
    return words


def _without_outermost(words: Words) -> Words:
    inner = _without_wrapper(words, _ALL)
    if inner != words or not words:
        return inner
    name = program(words[0])
    if re.fullmatch(r"python[\d.]*|pypy[\d.]*|py|-m", name):
        return _python(words)
    if name in ("php", "ruby") or (name in ("node", "tsx", "deno", "bun") and "--test" not in words):
        return _script(words)
    return words


def _after(words: Words, wrapper: _Wrapper) -> Words:
    """The words after the options and own arguments of a wrapper."""
    while words and words[0].startswith("-") and words[0] != "-m":
        if words[0] == "--":
            words = words[1:]
            break
        words = words[2:] if words[0] in wrapper.with_value else words[1:]
    return words[wrapper.operands :]


def _python(words: Words) -> Words:
    """What Python runs: a module, or a script. Unchanged if neither is named."""
    rest = words if words[0] == "-m" else words[1:]
    while rest and rest[0].startswith("-"):
        if module := re.fullmatch(r"-[a-zA-Z]*?m(.*)", rest[0]):
            return (*filter(None, [module[1]]), *rest[1:])
        if rest[0] in ("-c", "-"):
            return words
        rest = rest[2:] if rest[0] in ("-X", "-W") else rest[1:]
    return rest or words


def _script(words: Words) -> Words:
    """The script that an interpreter runs. Unchanged if that is none."""
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-r", "--require", "--import", "--loader", "-d", "-c") else rest[1:]
    return rest if rest and re.search(r"[/.]|^artisan$", rest[0]) else words


_ALL = {**_WRAPPERS, **_MANAGERS}
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox", "nix-shell"})


def script_for_shell(words: Words) -> str | None:
    """The script that is an argument of a shell or of `eval`; None: there is none."""
    if words and words[0] == "eval":
        return " ".join(words[1:])
    if not words or program(words[0]) not in _SHELLS:
        return None
    for option, script in pairwise(words[1:]):
        if re.fullmatch(r"-[a-zA-Z]*c|--run|--command", option):
            return script
    return None
