"""Build files that are compared but not merged: whether two versions run the same tests in the same way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from xml.etree import ElementTree

from untildone.core.judging.globs import words

_TEST_PLUGINS = words(
    "maven-surefire-plugin maven-failsafe-plugin jacoco-maven-plugin pitest-maven spotbugs-maven-plugin"
)
_ANY_CODE_PLUGINS = words(
    "maven-antrun-plugin exec-maven-plugin gmavenplus-plugin groovy-maven-plugin ant4eclipse truezip-maven-plugin"
)
"""They run any program that their settings name, between the compilation of the tests and their run as well."""
_TEST_ELEMENTS = words(
    "testSourceDirectory testOutputDirectory testExcludes testExclude testIncludes testInclude testSource testRelease extension extensions "
    "packaging testSources testResources"
)
_TEST_PROPERTY = re.compile(r"(?i)skip|test|surefire|failsafe|argLine")


def same_maven(start: str, claimed: str) -> bool:
    """Whether the test plugins, test properties and modules of a `pom.xml` are the same; modules may be added."""
    try:
        before, after = _maven(start), _maven(claimed)
    except (ElementTree.ParseError, ValueError, RecursionError):
        return False
    return before[0] == after[0] and not before[1] - after[1]


def _maven(text: str) -> tuple[Counter[str], Counter[str]]:
    if not text:
        return Counter(), Counter()
    if "<!" in re.sub(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>", "", text, flags=re.DOTALL):
        raise ValueError("it defines entities")
    settings: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    document = ElementTree.fromstring(text)
    artifact_of = {
        child: _text(next((each for each in element if _tag(each) == "artifactId"), None))
        for element in document.iter()
        for child in element
    }
    for element in document.iter():
        children = {_tag(child): child for child in element}
        artifact = children.get("artifactId")
        plugin = (artifact.text or "").strip() if _tag(element) == "plugin" and artifact is not None else ""
        if (
            plugin in _TEST_PLUGINS
            or plugin in _ANY_CODE_PLUGINS
            or _tag(element) in _TEST_ELEMENTS
            or _is_local(element, artifact_of.get(element, ""), _text(children.get("url")))
        ):
            settings[_canonical(element)] += 1
        elif _tag(element) == "properties":
            settings.update(_canonical(child) for name, child in children.items() if _TEST_PROPERTY.search(name))
        elif _tag(element) == "module":
            modules[(element.text or "").strip()] += 1
    return settings, modules


_TEST_LIBRARY = re.compile(r"(?i)junit|testng|assert|mock|hamcrest|spock|test|surefire")
_LOCAL_URL = re.compile(r"file:|\$\{|\.{0,2}/")


def _is_local(element: ElementTree.Element, artifact: str, url: str) -> bool:
    """Whether an element takes a library of tests, or any library, from a file."""
    if _tag(element) == "systemPath":
        return _TEST_LIBRARY.search(artifact) is not None
    return _tag(element) in ("repository", "pluginRepository") and _LOCAL_URL.match(url) is not None


def _text(element: ElementTree.Element | None) -> str:
    return (element.text or "").strip() if element is not None else ""


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _canonical(element: ElementTree.Element) -> str:
    """The element without positions, comments and versions of plugins."""
    inner = "".join(_canonical(child) for child in element if _tag(child) != "version")
    return f"<{_tag(element)}>{(element.text or '').strip()}{inner}</>"


_FREE_GRADLE = re.compile(
    r"\b(?:dependencies|repositories|plugins|dependencyManagement|publishing|java|application|mavenPublishing)\s*\{"
)
_REACHES_OUT = re.compile(
    r".*(?:\b(?:rootProject|tasks|gradle|sourceSets|afterEvaluate|allprojects|subprojects)\b\s*[.({\[]|\btest\s*[.{]|\benabled\b|\bonlyIf\b"
    r"|\bproject\.(?!name|version|group)|\bignoreFailures\b|\bdoFirst\b|\bdoLast\b|\bTest\b|\btest\w+\b.*\bfile(?:s|Tree)\s*\(|\bflatDir\b).*"
)
"""Lines that have nothing to do with dependencies, versions or publishing."""
_FREE_GRADLE_LINE = re.compile(
    r"^\s*(?:(?:group|version|description|sourceCompatibility|targetCompatibility)\b[^;{]*|implementation\b[^;{]*|import\b[^;{]*)$",
    re.MULTILINE,
)


def same_gradle(start: str, claimed: str) -> bool:
    """Whether two Gradle files agree in everything but dependencies, versions and comments."""
    return _gradle(start) == _gradle(claimed)


def _gradle(text: str) -> str:
    text = re.sub(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", "", text, flags=re.DOTALL)
    while opening := _FREE_GRADLE.search(text):
        end = _closing(text, opening.end())
        if end is None:
            break
        # A block is code as any other: what reaches out of it stays.
        reaching = " ".join(_REACHES_OUT.findall(text[opening.end() : end]))
        text = f"{text[: opening.start()]} {reaching} {text[end:]}"
    return " ".join(_FREE_GRADLE_LINE.sub("", text).split())


def _closing(text: str, begin: int) -> int | None:
    """The position after the brace that closes the one before `begin`."""
    depth = 1
    for position in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if not depth:
            return position + 1
    return None


def same_gradle_projects(start: str, claimed: str) -> bool:
    """Whether every line is still there, and new ones only include projects."""
    return _only_adds(start, claimed, re.compile(r"include\b|project\(|//|\)|['\"]"))


def same_list(start: str, claimed: str) -> bool:
    """Whether every entry of a list of packages or modules is still there, and no new one excludes any."""
    return _only_adds(
        start,
        claimed,
        re.compile(r"-\s*['\"]?[^!\s'\"]|use\b|\./|go\b|toolchain\b|[()]|packages:|#|//|catalogs?:|[\w@/'\"-]+:\s"),
    )


def _only_adds(start: str, claimed: str, allowed: re.Pattern[str]) -> bool:
    before, after = (Counter(line.strip() for line in text.splitlines() if line.strip()) for text in (start, claimed))
    return not before - after and all(allowed.match(line) for line in after - before)


_CMAKE_TEST = re.compile(
    r"(?i)\b(enable_testing|add_test|set_tests_properties|set_property|gtest_\w+|catch_discover_tests|doctest_discover_tests"
    r"|add_custom_command|include|add_subdirectory|option|set|return|if|elseif|while|function|macro)\s*\("
)
_CMAKE_MATTERS = re.compile(r"(?i)test|false|\boff\b|\bno\b|\b0\b")
_CMAKE_ADDS = re.compile(r"(?i)add_test|gtest_\w+|catch_discover_tests|doctest_discover_tests|add_subdirectory")


def same_cmake(start: str, claimed: str) -> bool:
    """Whether all tests are still registered in the same way and run the same programs; tests, folders and sources may be added."""
    before, after = Counter(_cmake(start)), Counter(_cmake(claimed))
    if before - after or not all(_CMAKE_ADDS.match(statement) for statement in after - before):
        return False
    return _same_programs(_programs(start), _programs(claimed))


_CMAKE_BUILDS = re.compile(
    r"(?i)\b(add_executable|target_\w+|set_target_properties|add_custom_command|add_dependencies)\s*\("
)
_CMAKE_GROWS = words("add_executable target_sources target_link_libraries target_include_directories add_dependencies")


def _programs(text: str) -> list[tuple[str, list[str]]]:
    """The statements about programs that tests run, as their name and words."""
    text = re.sub(r"#\[\[.*?\]\]|#[^\n]*", "", text, flags=re.DOTALL)
    run = set(
        re.findall(
            r"(?i)\bCOMMAND\s+\"?(?:\$<TARGET_FILE:)?([\w.-]+)", " ".join(re.findall(r"(?is)add_test\s*\([^)]*", text))
        )
    )
    run |= set(
        re.findall(r"(?i)(?:gtest_discover_tests|catch_discover_tests|doctest_discover_tests)\s*\(\s*([\w.-]+)", text)
    )
    calls = [(call[1].lower(), _parenthesised(text, call.end()).split()) for call in _CMAKE_BUILDS.finditer(text)]
    return [(name, line) for name, line in calls if run.intersection(line[:2])]


def _same_programs(before: list[tuple[str, list[str]]], after: list[tuple[str, list[str]]]) -> bool:
    """Whether every statement is still there with all its words. Only sources and libraries may be added."""
    rest = list(after)
    for name, line in before:
        fits = (
            each
            for each in rest
            if each == (name, line) or (each[0] == name in _CMAKE_GROWS and not Counter(line) - Counter(each[1]))
        )
        found = next(fits, None)
        if found is None:
            return False
        rest.remove(found)
    programs = {line[0] for _, line in before if line}
    return all(name in _CMAKE_GROWS or not programs.intersection(line[:2]) for name, line in rest)


def _cmake(text: str) -> Iterable[str]:
    text = re.sub(r"#\[\[.*?\]\]|#[^\n]*", "", text, flags=re.DOTALL)
    for call in _CMAKE_TEST.finditer(text):
        inner = _parenthesised(text, call.end())
        always = not re.match(r"(?i)(include|option|set|set_property|if|elseif|while|function|macro)\Z", call[1])
        if always or _CMAKE_MATTERS.search(inner):
            yield f"{call[1].lower()}({inner})"


def same_meson(start: str, claimed: str) -> bool:
    """Whether all tests of a `meson.build` are still there; tests and folders may be added."""
    before, after = Counter(_meson(start)), Counter(_meson(claimed))
    return not before - after and not any(
        "should_fail" in call or call.startswith("add_test_setup") for call in after - before
    )


def _meson(text: str) -> Iterable[str]:
    text = re.sub(r"#[^\n]*", "", text)
    for call in re.finditer(r"\b(test|benchmark|subdir|subdir_done|add_test_setup)\s*\(", text):
        yield f"{call[1]}({_parenthesised(text, call.end())})"


def _parenthesised(text: str, begin: int) -> str:
    depth = 1
    for position in range(begin, min(len(text), begin + 5000)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if not depth:
            return " ".join(text[begin:position].split())
    return " ".join(text[begin : begin + 5000].split())


def same_mix(start: str, claimed: str) -> bool:
    """Whether two `mix.exs` agree in everything but dependencies, version and description."""
    return _mix(start) == _mix(claimed)


def _mix(text: str) -> str:
    text = re.sub(r"#[^\n]*", "", text)
    text = re.sub(
        r"\bdefp?\s+(?:deps|description|package|docs)\b.*?(?=\n\s*defp?\s|\nend\b|\Z)", "", text, flags=re.DOTALL
    )
    return " ".join(re.sub(r"\b(?:version|description|elixir|name|source_url)\s*:\s*[^\n,]*,?", "", text).split())


def same_sbt(start: str, claimed: str) -> bool:
    """Whether two sbt files agree in everything but dependencies and versions."""
    return _sbt(start) == _sbt(claimed)


_FREE_SBT = re.compile(
    r"^\s*(?:(?:ThisBuild\s*/\s*)?(?:version|scalaVersion|organization|name|description|licenses|resolvers|crossScalaVersions|scalacOptions)\s*[:+]"
    r"|libraryDependencies\b|addSbtPlugin\b|[\"][^\n]*%).*$",
    re.MULTILINE,
)


def _sbt(text: str) -> str:
    return " ".join(_FREE_SBT.sub("", re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)).split())


def same_swift(start: str, claimed: str) -> bool:
    """Whether the test targets of a `Package.swift` are still there as they were."""
    before, after = (Counter(re.findall(r"\.testTarget\b[^\n]*", text)) for text in (start, claimed))
    return not before - after and ("unsafeFlags" not in claimed or "unsafeFlags" in start)


def same_cabal(start: str, claimed: str) -> bool:
    """Whether the test suites of a Cabal file are as they were, but for what they depend on."""
    before, after = _cabal(start), _cabal(claimed)
    return all(after.get(name) == body for name, body in before.items())


def _cabal(text: str) -> dict[str, list[str]]:
    suites = re.findall(r"(?im)^test-suite[ \t]+(\S+)[^\n]*\n?((?:[ \t]+[^\n]*\n?|[ \t]*\n)*)", text)
    free = re.compile(r"(?i)\s*(?:build-depends|other-modules|default-language|ghc-options)\s*:|\s*,")
    return {
        name: [" ".join(line.split()) for line in body.splitlines() if line.strip() and not free.match(line)]
        for name, body in suites
    }


def same_bazel(start: str, claimed: str) -> bool:
    """Whether all tests of a Bazel file are still there; tests may be added."""
    before, after = (Counter(_bazel(text)) for text in (start, claimed))
    return not before - after


def _bazel(text: str) -> Iterable[str]:
    text = re.sub(r"#[^\n]*", "", text)
    for call in re.finditer(r"\b(\w*test\w*)\s*\(", text):
        yield f"{call[1]}({re.sub(r'deps *= *.[^]]*.,?', '', _parenthesised(text, call.end()))})"


def same_zig(start: str, claimed: str) -> bool:
    """Whether every `test` block of a Zig file is still there as it was."""
    return not Counter(_zig(start)) - Counter(_zig(claimed))


def _zig(text: str) -> Iterable[str]:
    for opening in re.finditer(r"^[ \t]*test\b[^{\n]*\{", text, re.MULTILINE):
        end = _closing(text, opening.end())
        yield " ".join(text[opening.start() : end].split())
