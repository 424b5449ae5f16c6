"""Programs that are test runners, by their command lines."""

from __future__ import annotations

import re

from untildone.core.shell.wrappers import Words, program
from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class KnownRunner:
    name: str
    """What people call it."""
    runners: frozenset[str]
    """The runners, as `patterns` names them, that its summary may be from."""


def _known(name: str, *runners: str) -> KnownRunner:
    return KnownRunner(name, frozenset(runners or (name,)))


_PYTEST, _UNITTEST, _JEST, _CARGO = _known("pytest"), _known("unittest"), _known("jest"), _known("cargo test", "cargo")
_SWIFT, _GRADLE, _MAVEN = _known("swift test", "swift", "xctest"), _known("gradle"), _known("maven")

# Programs that are test runners with any arguments.
_RUNNERS = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "unittest": _UNITTEST,
    "nose2": _known("nose2", "unittest"),
    "trial": _known("trial", "unittest"),
    "jest": _JEST,
    "vitest": _known("vitest", "vitest", "tap"),
    "mocha": _known("mocha", "mocha", "tap"),
    "_mocha": _known("mocha", "mocha", "tap"),
    "ava": _known("ava", "ava", "tap"),
    "jasmine": _known("jasmine"),
    "tape": _known("tape", "tap"),
    "gotestsum": _known("gotestsum", "gotestsum", "go"),
    "rspec": _known("rspec"),
    "phpunit": _known("phpunit"),
    "paratest": _known("paratest", "phpunit"),
    "pest": _known("pest"),
    "ctest": _known("ctest"),
    "bats": _known("bats", "exunit", "tap"),
    "prove": _known("prove"),
}
# Programs that are test runners with the argument named here as the first that is no option.
_SUBCOMMANDS = {
    ("go", "test"): _known("go test", "go"),
    ("cargo", "test"): _CARGO,
    ("cargo", "t"): _CARGO,
    ("cross", "test"): _CARGO,
    ("cargo", "nextest"): _known("cargo nextest", "nextest"),
    ("cargo", "llvm-cov"): _known("cargo llvm-cov", "cargo", "nextest"),
    ("bun", "test"): _known("bun test", "bun"),
    ("deno", "test"): _known("deno test", "deno"),
    ("mix", "test"): _known("mix test", "exunit"),
    ("dotnet", "test"): _known("dotnet test", "dotnet"),
    ("swift", "test"): _SWIFT,
    ("hatch", "test"): _PYTEST,
    ("playwright", "test"): _known("playwright"),
    ("react-scripts", "test"): _JEST,
    ("rails", "test"): _known("rails test", "minitest"),
    ("artisan", "test"): _known("artisan test", "pest", "phpunit"),
    ("manage.py", "test"): _known("manage.py test", "unittest", "pytest"),
    ("django", "test"): _known("django test", "unittest"),
    ("django-admin", "test"): _known("django-admin test", "unittest"),
}
_MAVEN_PHASES = frozenset({"test", "verify", "integration-test", "surefire:test", "failsafe:verify"})
_GRADLE_TASK = r"(?:.*:)?(?:test(?!Classes)\w*|check|(?!compile)\w*Tests?)"
# With these, a test runner runs no test because the person said so: the exit code decides.
_NO_RUN = {
    "cargo test": r"--no-run",
    "cargo nextest": r"list|--no-run|archive",
    "go test": r"-c",
    "maven": r"-DskipTests(?:=true)?|-Dmaven\.test\.skip(?:=true)?",
    "gradle": r"--dry-run|-m",
}


def runner_of(words: Words) -> KnownRunner | None:
    """The test runner that these words run; None: no known one, or no test."""
    runner = _runner_of(words)
    if runner is None:
        return None
    no_run = _NO_RUN.get(runner.name, r"--version") + r"|--version"
    return None if any(re.fullmatch(no_run, word) for word in words[1:]) else runner


def _runner_of(words: Words) -> KnownRunner | None:
    if not words:
        return None
    name, arguments = program(words[0]), words[1:]
    if name in _RUNNERS:
        return _RUNNERS[name]
    if name in ("node", "tsx") and "--test" in arguments:
        return _known("node --test", "node", "tap")
    if name in ("mvn", "mvnw", "mvnd"):
        return _MAVEN if _MAVEN_PHASES.intersection(arguments) else None
    if name in ("gradle", "gradlew"):
        return _GRADLE if any(re.fullmatch(_GRADLE_TASK, task) for task in _without_values(arguments, {"-x"})) else None
    if name == "xcodebuild":
        return _SWIFT if "test" in arguments else None
    return _SUBCOMMANDS.get((name, _first(_without_values(arguments, _CARGO_VALUES))))


_CARGO_VALUES = frozenset({"--manifest-path", "--config", "--color", "-Z", "-C", "--settings"})


def _without_values(words: Words, with_value: frozenset[str] | set[str]) -> Words:
    """The words that are neither options nor values of the options named."""
    pairs = zip(("", *words), words, strict=False)
    return tuple(word for before, word in pairs if not word.startswith(("-", "+")) and before not in with_value)


def _first(words: Words) -> str:
    return words[0] if words else ""


# Programs that run the commands in a file, a recipe or a package script.
_INDIRECT = r"g?make|just|task|rake|tox|nox|hatch|npm|pnpm|yarn|bun|deno|composer|bazel|ninja|meson|cmake|mage|invoke|doit|pre-commit"
_INTERPRETERS = r"(?:ba|da|z|k|fi)?sh|python[\d.]*|pypy[\d.]*|py|node|tsx|ruby|perl|php|\.|source"


def may_run_tests(words: Words) -> bool:
    """Whether these words, which name no test runner, may run one all the same."""
    if not words:
        return False
    name = program(words[0])
    if re.fullmatch(_INDIRECT, name) or re.search(r"/|\.(?:py|sh|[cm]?[jt]s|rb|pl|php)$", words[0]):
        return True
    return len(words) > 1 and bool(re.fullmatch(_INTERPRETERS, name))
