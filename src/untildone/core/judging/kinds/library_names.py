"""New files that a compiler or an interpreter finds before a library of tests, in other languages than Python."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from untildone.core.judging.globs import of_names
from untildone.core.values.value import dataclass

_HEADERS = (
    "assert.h",
    "cassert",
    "{stdlib,stdio,string,setjmp}.h",
    "c{stdlib,stdio,string}",
)
_LIBRARIES = {
    "the compiler would read it instead of a header of a test library": (
        "{check,unity,cmocka,criterion,munit,greatest,utest,tap,doctest,catch}.{h,hpp}",
        "{CUnit,gtest,gmock,catch2,doctest,criterion}/*.{h,hpp}",
        "boost/test/**",
    ),
    "Java would load it instead of a class of a test library": (
        "src/main/*/org/{junit,testng,assertj,hamcrest,mockito,spockframework,scalatest}/**",
        "src/main/*/junit/framework/**",
        "src/main/*/kotlin/test/**",
        "src/main/*/io/kotest/**",
        "src/main/*/com/google/common/truth/**",
    ),
    "JUnit or TestNG loads what it names": (
        "META-INF/services/{org.junit,org.testng,org.spockframework,io.kotest}.*",
    ),
    "Ruby would load it instead of a test library, or as a plugin of one": (
        "lib/{minitest,rspec,cucumber,simplecov}.rb",
        "lib/{minitest,rspec,cucumber,simplecov}/**/*.rb",
        "lib/test/unit.rb",
        "lib/test/unit/**/*.rb",
    ),
    "Perl would load it instead of a test library": ("lib/{Test,TAP}/**/*.pm", "lib/App/Prove/**/*.pm", "lib/{Test,strict,warnings}.pm"),
    "PHP would load it instead of a test library": ("PHPUnit/{Framework,TextUI,Runner}/**/*.php",),
    "Lua would load it instead of a test library": ("{busted,luaunit,luassert}.lua", "{busted,luassert}/*.lua"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replacement:
    """Why a new file takes the place of something that tests use."""

    why: str
    is_standard: bool
    """Whether it is a part of the language, which no product replaces."""


def is_header(path: str) -> bool:
    """Whether the name of a file is that of a header of the language or of a test library."""
    return _headers().match(path) is not None or _libraries()[0][1].match(path) is not None


def replacement(path: str, start: Collection[str]) -> Replacement | None:
    """What a new file at `path` replaces; None: nothing. A project that had files of such names at the start develops that library."""
    if _headers().match(path):
        return Replacement("the compiler would read it instead of a header of the language", is_standard=True)
    for why, pattern in _libraries():
        if pattern.match(path):
            return None if any(map(pattern.match, start)) else Replacement(why, is_standard=False)
    return None


@cache
def _headers() -> re.Pattern[str]:
    return of_names(_HEADERS)


@cache
def _libraries() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((why, of_names(patterns)) for why, patterns in _LIBRARIES.items())
