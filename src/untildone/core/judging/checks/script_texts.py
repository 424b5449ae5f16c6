"""What the text of a script says: the commands in it, and whether it judges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from untildone.core.judging import globs
from untildone.core.judging.checks.commands import Run
from untildone.core.judging.checks.run_words import SHELLS

PLACEHOLDER = re.compile(r"echo\s.*no test specified.*exit 1", re.DOTALL)
"""The script `test` that `npm init` writes."""

SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(\S+)")

_OWN_FOLDER = re.compile(
    r"""\$\(\s*dirname\s+(?:--\s+)?"?(?:\$0|\$\{0\}|\$\{?BASH_SOURCE(?:\[0\])?\}?|\$\((?:readlink -f|realpath) "?[^()]*"?\))"?\s*\)"""
    r"""|\$\{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}"""
)
"""How a shell script writes its own folder."""

_GONE_TO = re.compile(
    r"""\$\(\s*cd\s+(?:-P\s+|--\s+)?"?([^"&;()]*)"?\s*(?:>\s*/dev/null\s*)?(?:2>&1\s*)?(?:&&|;)\s*pwd(?:\s+-P)?\s*\)"""
)

_JUDGING_NAME = re.compile(
    r"(?:^|[^a-z])(?:tests?|testing|checks?|checker|verif\w*|specs?|lint\w*|validat\w*|ci|accept\w*|assert\w*|e2e|smoke\w*"
    r"|regress\w*|self_?(?:tests?|checks?)|sanity|grad(?:e|er|ing)|judge\w*|evaluat\w*|expect\w*|golden\w*|oracle|proof|want(?:ed)?)(?:[^a-z]|$)"
)

JUDGING_CODE = re.compile(
    r"^\s*assert\b|\bunittest\b|\bpytest\b|\bTestCase\b|\bdoctest\.\w|(?:\bfrom|\brequire\()\s*['\"](?:node:)?assert(?:/\w+)?['\"]|\bassert\.\w+\("
    r"|\bexpect\(|Minitest|RSpec|Test::More|PHPUnit"
    r"|['\"`](?:npx |node )?(?:--test|jest|mocha|vitest|ava|jasmine|karma|playwright|cargo test|go test|ctest|rspec|phpunit)"
    r"(?:['\"` ])"
    r"|['\"`](?:cargo|go|npm|pnpm|yarn|bun|deno|mix|dotnet|swift|make|mvn|gradle|\./gradlew|\./mvnw)"
    r"(?:['\"`]\s*,\s*['\"`]| )(?:run |run['\"`]\s*,\s*['\"`])?test"
    r"|['\"`](?:prove|rspec|tox|nox|bats)['\"`]",
    re.MULTILINE,
)

TEST_PROGRAM = re.compile(r"\bmain\s*\((?s:.*)\b(?:assert|abort|exit)\s*\(|\bassert\s*\((?s:.*)\bmain\s*\(")

GIVES_UP = re.compile(
    r"sys\.exit\(\s*(?:[1-9]|f?['\"])|\bexit\(\s*[1-9]|raise SystemExit|process\.exit(?:Code)?\b[ =(]*[1-9]"
    r"|\bexit!? [1-9]|\babort\b|\bdie\b"
)
"""Words of a program that ends as failed by its own decision."""

COMPARING = re.compile(
    r"(?:^|[;&|`(!]|\bif|\bthen|\bwhile)\s*(?:(?:diff|cmp|comm)\s|[ef]?grep\s+(?:-\w*[qxc]|--quiet)|(?:test|\[\[?)\s+[^;\n]*\s(?:==?|!=|-eq|-ne)\s)",
    re.MULTILINE,
)
"""Lines of a shell script that compare what was done with what was to be done."""

LAUNCHES_TESTS = re.compile(
    r"\b(?:pytest|unittest)\.main\("
    r"|['\"`](?:[\w./-]*python[\d.]* -m |npx |bundle exec |uv run |poetry run |(?:[\w.-]*/)+)?"
    r"(?:pytest|py\.test|unittest|tox|nox|behave|jest|mocha|vitest|ava|jasmine|karma|playwright|rspec|minitest|phpunit|ctest|bats|prove)"
    r"(?:['\"`]| -| [\w./]+['\"`])"
    r"|['\"`](?:cargo|go|npm|pnpm|yarn|bun|deno|mix|dotnet|swift|make|mvn|gradle|\./gradlew|\./mvnw)"
    r"(?:['\"`]\s*,\s*['\"`]| )(?:run |run['\"`]\s*,\s*['\"`])?(?:test|check|verify)"
    r"|\.args?\(\s*&?\[?\s*['\"](?:test|nextest)['\"]|cmd!\([^)]*\b(?:cargo|go) (?:\{\w+\} )?(?:test|nextest)"
)
"""Words of a program in any language that starts a test runner."""

STARTS = re.compile(
    r"\bsubprocess\b|\bexec\.Command|\bCommand::new|\bcmd!|\bos\.(?:system|exec|spawn|popen)|child_process|\bexecSync|\bspawn|\bsystem\b|\bpopen\b|\bexec\b|\brunpy\b|Process(?:Builder)?\b"
    r"|\bc\.run\(|\bsh\b|\bexeca\b|\bpassthru\b|\bproc_open\b|['\"]zx['\"]"
    r"|\b(?:pytest|unittest)\.main\("
)
"""Words of a program that starts others."""

RUNS_EXAMPLES = re.compile(
    r"\bdoctest\.(?:testmod|testfile|DocTestSuite|DocFileSuite|DocTestFinder|DocTestRunner|run_docstring_examples)\b"
)

_SHELL_SCRIPT = re.compile(r"#!.*\b(?:ba|da|z|k|a)?sh\b")


def judging_name(path: str) -> bool:
    """Whether the name of a file says that it judges: `check.sh`, `run_tests.py`, `expected.txt`."""
    name = path.rpartition("/")[2]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return _JUDGING_NAME.search(spaced) is not None


def sources_of(word: str) -> tuple[str, ...]:
    """The sources from which an object file may be compiled."""
    stem, _, suffix = word.rpartition(".")
    return tuple(f"{stem}.{end}" for end in ("c", "cc", "cpp", "cxx")) if suffix in ("o", "obj", "lo") else ()


def lines_of(text: str) -> list[str]:
    """The lines of a shell script, continued lines joined, comments left out."""
    joined = text.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines()[:3000] if line.strip() and not line.lstrip().startswith("#")]


def is_shell_script(path: str, text: str, run: Run) -> bool:
    return path.endswith((".sh", ".bash", ".zsh")) or run.program in SHELLS or _SHELL_SCRIPT.match(text) is not None


def is_for_developers(path: str) -> bool:
    """Whether a program lies where those for developers lie, not those of the product."""
    return (
        re.match(r"(?:.*/)?(?:scripts?|tools?|ci|hack|dev|devtools|qa|etc|util|utils|maint|contrib|build-aux)/", path)
        is not None
    )


def module_paths(module: str, folder: str) -> tuple[str, ...]:
    name = module.replace(".", "/")
    bases = [f"{folder}/{name}" if folder else name, f"src/{name}"]
    return tuple(base + suffix for base in bases for suffix in (".py", "/__main__.py", "/__init__.py"))


def commands_of(path: str, text: str, run: Run) -> list[str]:
    """The script as a whole, because folders and variables hold from line to line, and each line, in case that the whole cannot be read."""
    up = "../" * (run.folder.count("/") + 1) if run.folder else "./"
    own = up + path.rpartition("/")[0]
    lines = lines_of(_FUNCTION.sub(lambda found: _captured_body(found, text), text))
    whole = _GONE_TO.sub(r"\1", _OWN_FOLDER.sub(lambda _: own, "\n".join(lines)))
    return [whole, *lines]


_FUNCTION = re.compile(
    r"^[ \t]*(?:function[ \t]+)?([\w-]+)[ \t]*\([ \t]*\)\s*\{((?:[^{}]|\$?\{[^{}]*\})*)\}", re.MULTILINE
)


def _captured_body(found: re.Match[str], text: str) -> str:
    """A function of a shell script; if the script only looks at what the function prints, as a captured command."""
    name, rest = re.escape(found[1]), text[: found.start()] + text[found.end() :]
    calls = re.findall(rf"(?<![\w./-]){name}(?![\w./-])", rest)
    captured = re.findall(rf"(?:\$\(|`)\s*{name}(?![\w./-])|(?<![\w./-]){name}(?![\w./-])[^\n;&|]*\|(?!\|)", rest)
    if not calls or len(captured) < len(calls):
        return found[0]
    return f": $({'; '.join(line.strip() for line in found[2].splitlines() if line.strip())})"


def package_scripts(text: str) -> dict[str, str]:
    """The scripts of a `package.json`, without the placeholder that `npm init` writes."""
    try:
        scripts = json.loads(text or "{}").get("scripts") or {}
    except (ValueError, AttributeError, RecursionError):
        return {}
    if not isinstance(scripts, dict):
        return {}
    return {name: line for name, line in scripts.items() if isinstance(line, str) and not PLACEHOLDER.match(line)}


def matching_scripts(pattern: str, scripts: Iterable[str]) -> tuple[str, ...]:
    """The scripts of a package that a pattern stands for, as `npm-run-all` reads it: `test:*`, `test:**`."""
    if "*" not in pattern:
        return ()
    # A colon parts names as a slash parts paths.
    fits = re.compile(globs.translated(pattern.partition(" ")[0].replace(":", "/")) + r"\Z")
    return tuple(name for name in scripts if fits.match(name.replace(":", "/")))


def just_recipes(text: str) -> tuple[str, ...]:
    """The lines of all recipes of a justfile: which of them call each other is not followed."""
    return tuple(line.strip().lstrip("@-") for line in text.splitlines() if line[:1] in (" ", "\t") and line.strip())
