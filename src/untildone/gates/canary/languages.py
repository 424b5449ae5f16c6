"""A test that fails, in the language of a test file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_PYTHON = """

import unittest as _unittest_{word}


class Test{word}(_unittest_{word}.TestCase):
    def test_{word}(self):
        self.fail("{word}")
"""
_GO = """
func Test{word}(t *testing.T) {{ t.Fatal("{word}") }}
"""
_RUST = """
#[test]
fn test_{word}() {{ panic!("{word}") }}
"""
_RSPEC = """
RSpec.describe("{word}") {{ it("fails") {{ raise "{word}" }} }}
"""
_MINITEST = """
class Test{word} < Minitest::Test
  def test_{word}; raise "{word}"; end
end
"""
_JAVASCRIPT = """
;{call}("{word}", () => {{ throw new Error("{word}") }})
"""
_CALLS = re.compile(r"(?m)^\s*(test|it)(?:\.\w+)*\(|\bdescribe\(")


def _javascript(text: str) -> str:
    """How a file of JavaScript defines its tests; an empty file is taken for one that does."""
    call = _CALLS.search(text)
    if text and call is None:
        return ""
    named = call.group(1) if call else None
    return _JAVASCRIPT.replace("{call}", named or ("it" if re.search(r"\bit\(", text) else "test"))


def _minitest(text: str) -> str:
    return _MINITEST if not text or "Minitest" in text or "minitest" in text else ""


_BY_PATTERN: Mapping[str, Callable[[str], str]] = {
    r"(^|/)(test_[^/]*|[^/]*_tests?|tests?)\.py$": lambda _text: _PYTHON,
    r"_test\.go$": lambda text: _GO if not text or "testing" in text else "",
    r"(^|/)tests/[^/]+\.rs$": lambda _text: _RUST,
    r"_spec\.rb$": lambda _text: _RSPEC,
    r"(^|/)(test_[^/]*|[^/]*_test)\.rb$": _minitest,
    r"(\.|-|_)(test|spec)\.[cm]?[jt]sx?$|(^|/)(__tests__|tests?)/[^/]+\.[cm]?[jt]sx?$": _javascript,
}
_RULES = tuple((re.compile(pattern), made) for pattern, made in _BY_PATTERN.items())
_SELECTED = re.compile(
    r"::|\s-k[\s=]|\s-k['\"\w]|(?<!python)(?<!python3)\s-m\s+(?!pytest|unittest|nose|tox|coverage)['\"(\w]"
    r"|\s--?run[\s=]|\s-t[\s=]|--test-?name-?pattern|--grep|\s-g\s|--deselect|--lf\b|--last-failed|--testmon|--onlyChanged|--changed"
)

_TOP_FOLDER = re.compile(r"(?<=\bdiscover\b).*?\s-t[\s=]+\S+")
"""The option `-t FOLDER` of unittest discovery. In jest, `-t` chooses tests."""


_LEAVES_OUT = re.compile(r"""\s-m[\s=]*(['"])not \w+(?: and not \w+)*\1""")
"""Marks that tests of pytest must not have: a planted one has none."""


def failing_test(path: str, text: str, word: str) -> str:
    """Source of a test that fails, to be put at the end of a test file; empty: the language is not known."""
    for pattern, made in _RULES:
        if pattern.search(path):
            return made(text).replace("{{", "{").replace("}}", "}").replace("{word}", word)
    return ""


_MAIN = re.compile(r"(?m)^if[ \t]+__name__[ \t]*==")


def with_tests(text: str, added: str) -> str:
    """A test file of Python with more source: before it runs itself, or at its end."""
    guards = list(_MAIN.finditer(text))
    end = guards[-1].start() if guards else len(text)
    before, after = text[:end].rstrip(), text[end:]
    return f"{before}\n{added}" + (f"\n\n{after}" if after else "")


def with_failing_test(path: str, text: str, word: str) -> str:
    """The test file with one more test, which fails; empty: the language is not known."""
    added = failing_test(path, text, word)
    if not added:
        return ""
    return with_tests(text, added) if path.endswith(".py") else f"{text.rstrip()}\n{added}"


def selects(command: str) -> bool:
    """Whether a command runs chosen tests only, so that a new one would not be run."""
    return _SELECTED.search(f" {_LEAVES_OUT.sub(' ', _TOP_FOLDER.sub(' ', command))}") is not None
