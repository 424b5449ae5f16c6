"""Makefiles: which recipes a target runs, and whether a change touches them.

A Makefile serves two purposes: it builds the product and it runs the check. New targets, and source files added to a list, are no
change of the check; another recipe or another program is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from untildone.core.values.value import dataclass

_VARIABLE = re.compile(r"(?:(?:export|override|private)\s+)*([\w.-]+)\s*(?::::?|::?|\?|\+|!)?=\s*(.*)\Z", re.DOTALL)
_RULE = re.compile(r"([^\s:=#][^:=#]*?)\s*(::?)(?!=)\s*(.*)\Z", re.DOTALL)
_SOURCE = re.compile(
    r"[\w./@%+-]+\.(?:o|obj|lo|a|so|c|cc|cpp|cxx|h|hh|hpp|hxx|m|mm|s|S|asm|f90|f|java|kt|class|go|rs|zig|ml|mli|hs|d|cu|swift|adb|ads)\b"
)
_TESTY = re.compile(r"(?i)(?:^|[^a-z])(?:tests?|spec|check)")
_SPECIAL = frozenset(
    (
        "SHELL",
        ".SHELLFLAGS",
        "MAKEFLAGS",
        "GNUMAKEFLAGS",
        "MAKEFILES",
        "MAKE",
        ".DEFAULT_GOAL",
        "PATH",
        "VPATH",
        ".RECIPEPREFIX",
    )
)
_ENVIRONMENT = frozenset(
    [
        "HOME",
        "USER",
        "SHELL",
        "PATH",
        "PWD",
        "TMPDIR",
        "TMP",
        "TEMP",
        "LANG",
        "LC_ALL",
        "TERM",
        "ENV",
        "BASH_ENV",
        "IFS",
        "EDITOR",
        "VIRTUAL_ENV",
        "CI",
        "DISPLAY",
    ]
)
_ENVIRONMENT_OF_TOOLS = (
    "PYTHON",
    "PYTEST_",
    "NODE_",
    "NPM_",
    "npm_",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "PERL",
    "PROVE_",
    "GO",
    "CARGO_",
    "RUST",
    "JAVA_",
    "MAVEN_",
    "GRADLE_",
    "JDK_",
    "LD_",
    "DYLD_",
    "XDG_",
    "GIT_",
    "UV_",
    "PIP_",
    "TOX_",
    "JEST_",
    "VITEST",
    "DOTNET_",
    "CTEST_",
    "CMAKE_",
)
"""Variables that programs read. Make passes one on to its recipes if it was in the environment, without a word like `export`."""
_PURE = re.compile(
    r"\$[({](?:[\w.-]+(?::[^$(){}=]*=[^$(){}]*)?|(?:wildcard|patsubst|subst|addprefix|addsuffix|notdir|dir|basename|suffix|sort|filter"
    r"|filter-out|strip|word|wordlist|words|firstword|lastword|abspath|realpath|join)\s[^$(){}]*)[)}]|\$[@<^?*%+$]"
)
"""References to variables and calls of functions that read nothing but names."""
_REFERENCE = re.compile(r"\$[({]([\w.-]+)|\$(\w)")
_ORDINARY_SPECIAL_TARGETS = frozenset((".PHONY", ".PRECIOUS", ".SECONDARY", ".INTERMEDIATE"))


@dataclass(frozen=True, slots=True)
class Rule:
    prerequisites: tuple[str, ...]
    recipe: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Makefile:
    rules: dict[str, tuple[Rule, ...]]
    variables: dict[str, tuple[str, ...]]
    """Each definition of a variable, as the whole line."""
    directives: tuple[str, ...]
    """`include`, conditions, and every line that is neither a rule nor a variable."""
    conditional: tuple[str, ...] = ()
    """The lines inside of conditions, each with these."""
    sequence: tuple[tuple[str, str], ...] = ()
    """Definitions and directives in their order: the name of the variable, or an empty one, and the line."""


def parsed(text: str) -> Makefile:
    rules: dict[str, list[Rule]] = {}
    variables: dict[str, list[str]] = {}
    directives: list[str] = []
    current: list[tuple[list[str], list[str], list[str]]] = []
    conditions = _Conditions()
    sequence: list[tuple[str, str]] = []
    for line in _logical_lines(text):
        conditions.take(line)
        if line.startswith("\t") and current:
            current[-1][2].append(line.strip())
        elif not line.strip() or line.lstrip().startswith("#"):
            continue
        elif variable := _VARIABLE.match(line.strip()):
            variables.setdefault(variable[1], []).append(" ".join(line.split()))
            sequence.append((variable[1], " ".join(line.split())))
        elif rule := _RULE.match(line.strip()):
            prerequisites, _, inline = rule[3].partition(";")
            current.append((rule[1].split(), prerequisites.split(), [inline.strip()] if inline.strip() else []))
        else:
            directives.append(" ".join(line.split()))
            sequence.append(("", directives[-1]))
    for targets, prerequisites_of, recipe in current:
        for target in dict.fromkeys((*targets, *(name for each in targets for name in _values(each, variables)))):
            rules.setdefault(target, []).append(Rule(tuple(prerequisites_of), tuple(recipe)))
    return Makefile(
        {target: tuple(of) for target, of in rules.items()},
        {name: tuple(of) for name, of in variables.items()},
        tuple(directives),
        tuple(conditions.lines),
        tuple(sequence),
    )


def _values(text: str, variables: Mapping[str, Sequence[str]]) -> list[str]:
    """The words that a text with variables stands for; empty: it has none, or not all are known."""
    known = text
    for _ in range(3):
        known = re.sub(
            r"\$[({]([\w.-]+)[)}]",
            lambda found: variables[found[1]][-1].partition("=")[2].strip() if found[1] in variables else found[0],
            known,
        )
    return [] if known == text or re.search(r"\$[({][\w.-]+[)}]", known) else known.split()


def _values_in(makefile: Makefile, text: str) -> list[str]:
    return _values(text, makefile.variables)


class _Conditions:
    """Notes which lines of a Makefile stand inside of conditions."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._open: list[str] = []

    def take(self, line: str) -> None:
        plain = " ".join(line.split())
        match plain.split(" ", 1)[0].partition("(")[0]:
            case "ifeq" | "ifneq" | "ifdef" | "ifndef":
                self._open.append(plain)
            case "else" if self._open:
                self._open[-1] += f" {plain}"
            case "endif" if self._open:
                self._open.pop()
            case _ if self._open and plain and not plain.startswith("#"):
                self.lines.append(": ".join((*self._open, _plain(plain))))


def _logical_lines(text: str) -> Iterable[str]:
    return re.sub(r"\\\r?\n[ \t]*", " ", text).splitlines()


def includes(makefile: Makefile) -> tuple[str, ...]:
    """The files that the Makefile includes, as globs. What a variable names may be any Makefile."""
    lines = [line for line in makefile.directives if re.match(r"-?s?include\b", line)]
    known = [" ".join(_values_in(makefile, line)) or line for line in lines]
    named = [name for line in known for name in re.sub(r"\$\(wildcard ([^()]*)\)", r"\1", line).split()[1:]]
    return tuple(ANY if "$" in name else name.replace("%", "*") for name in named)


ANY = "**/*.mk"
"""Stands for files that an `include` names in a way that is not followed."""


def file_targets(makefile: Makefile, targets: Iterable[str]) -> tuple[str, ...]:
    """The targets that are made, by name: all that make does not know to be no files."""
    phony = {name for rule in makefile.rules.get(".PHONY", ()) for name in rule.prerequisites}
    return tuple(
        target for target in closure(makefile, targets) if target not in phony and not re.search(r"[%$]", target)
    )


def shells(makefile: Makefile) -> tuple[str, ...]:
    """The programs that run recipes in the place of the shell."""
    return tuple(line.partition("=")[2].strip() for line in makefile.variables.get("SHELL", ()))


def default_target(makefile: Makefile) -> str:
    return next((target for target in makefile.rules if not target.startswith(".") and "%" not in target), "")


def closure(makefile: Makefile, targets: Iterable[str]) -> tuple[str, ...]:
    """The targets, and everything that they need, by prerequisites."""
    found: dict[str, None] = {}
    waiting = [target or default_target(makefile) for target in targets]
    while waiting:
        target = waiting.pop()
        if target in found or not (rules := _rules_of(makefile, target)):
            continue
        found[target] = None
        waiting += [name for rule in rules for name in rule.prerequisites]
    return tuple(found)


def _rules_of(makefile: Makefile, target: str) -> tuple[Rule, ...]:
    """The rules for a target: those of its name, else those of a pattern that fits it. What a pattern makes of sources is no part of a
    check."""
    if target in makefile.rules or _SOURCE.fullmatch(target):
        return makefile.rules.get(target, ())
    for pattern, rules in makefile.rules.items():
        before, mark, after = pattern.partition("%")
        is_fitting = len(target) > len(before) + len(after) and target.startswith(before) and target.endswith(after)
        is_for_all = not before + after and not re.fullmatch(r"\w+", target)
        if mark and is_fitting and not is_for_all:
            stem = target[len(before) : len(target) - len(after)]
            return tuple(_with_stem(rule, stem) for rule in rules)
    return ()


def _with_stem(rule: Rule, stem: str) -> Rule:
    return Rule(
        tuple(name.replace("%", stem, 1) for name in rule.prerequisites),
        tuple(re.sub(r"\$(?:\*|[({]\*[)}])", lambda _: stem, line) for line in rule.recipe),
    )


def recipes(makefile: Makefile, targets: Iterable[str]) -> tuple[str, ...]:
    """The recipe lines that make runs for the targets, those of prerequisites first, with variables of the Makefile replaced once."""
    found = [(target, _rules_of(makefile, target)) for target in reversed(closure(makefile, targets))]
    lines = [
        _automatic(line.lstrip("@-+ "), target, [name for each in rules for name in each.prerequisites])
        for target, rules in found
        for rule in rules
        for line in rule.recipe
    ]
    return tuple(_expanded(line, makefile) for line in lines)


def _automatic(line: str, target: str, prerequisites: list[str]) -> str:
    """A recipe line with the target and what it needs in the place of `$@`, `$<` and `$^`."""
    values = {
        "@": target,
        "<": next(iter(prerequisites), ""),
        "^": " ".join(prerequisites),
        "+": " ".join(prerequisites),
    }
    return re.sub(r"(?<!\$)\$([@<^+])", lambda found: values[found[1]], line)


def lost_sources(start: str, claimed: str) -> frozenset[str]:
    """The source files, and those of object files, that a Makefile named and names no more."""
    before, after = (set(_SOURCE.findall(text)) for text in (start, claimed))
    return frozenset(before - after)


def _expanded(line: str, makefile: Makefile) -> str:
    def value(reference: re.Match[str]) -> str:
        definitions = makefile.variables.get(reference[1] or "", ())
        name = reference[1] or ""
        return (
            definitions[-1].partition("=")[2].strip()
            if definitions
            else {"MAKE": "make", "PYTHON": "python", "CC": "cc", "CXX": "c++"}.get(name, "")
        )

    line = _CALL.sub(lambda found: _called(found, makefile), line)
    return re.sub(r"\$[({]([\w.-]+)[)}]", value, line.replace("$$", "$")).replace("$(shell ", "$(")


_CALL = re.compile(r"\$\(call\s+([\w.-]+)\s*((?:,[^(),]*)*)\)")


def _called(found: re.Match[str], makefile: Makefile) -> str:
    """What a call of a function of the Makefile stands for."""
    body = (makefile.variables.get(found[1]) or ("=",))[-1].partition("=")[2].strip()
    values = [found[1], *(word.strip() for word in found[2].split(",")[1:])]
    return re.sub(r"\$[({](\d)[)}]|\$(\d)", lambda each: (*values, *[""] * 10)[int(each[1] or each[2])], body)


_EVALUATES = re.compile(r"\$[({]eval\b")


def may_make(makefile: Makefile, target: str, *, has_source: bool) -> bool:
    """Whether make may have a rule for a target: one that is written, or that a line stands for which is not followed. `has_source`: there
    is a source from which make can build it by itself."""
    if not target:
        return bool(makefile.rules)
    if _rules_of(makefile, target) or ".DEFAULT" in makefile.rules or has_source:
        return True
    evaluates = any(map(_EVALUATES.search, makefile.directives))
    return (
        evaluates
        or ANY in includes(makefile)
        or any("$" in name and not _values_in(makefile, name) for name in makefile.rules)
    )


def same_check(start: str, claimed: str, targets: Iterable[str]) -> bool:
    """Whether both Makefiles make the targets in the same way: the same recipes, programs and options."""
    before, after = parsed(start), parsed(claimed)
    reached = closure(before, targets)
    if not reached or before.directives != after.directives or before.conditional != after.conditional:
        return False
    same_rules = all(_plain_rules(before, target) == _plain_rules(after, target) for target in reached)
    if not same_rules or not _same_variables(before, after, reached):
        return False
    return all(map(_is_harmless, _new_lines(before, after))) and not _overrides(before, after, start)


def _new_lines(before: Makefile, after: Makefile) -> list[str]:
    """What make evaluates while it reads the new Makefile and did not in the old one: definitions, and the heads of rules."""
    known = {line for of in before.variables.values() for line in of}
    lines = [line for of in after.variables.values() for line in of if line not in known]
    return [*lines, *(_heads(after) - _heads(before))]


def _heads(makefile: Makefile) -> set[str]:
    return {
        " ".join((target, *rule.prerequisites))
        for target, rules in makefile.rules.items()
        if target != ".PHONY"
        for rule in rules
    }


def _is_harmless(line: str) -> bool:
    """Whether reading the line runs nothing and changes nothing that programs see: plain words, and references to plain variables."""
    variable = _VARIABLE.match(line)
    if variable and (variable[1] in _ENVIRONMENT or variable[1].startswith(_ENVIRONMENT_OF_TOOLS)):
        return False
    for _ in range(10):
        line = _PURE.sub("", line)
    return not re.search(r"[$`]|!=", line)


def _plain_rules(makefile: Makefile, target: str) -> list[tuple[list[str], list[str]]]:
    rules = _rules_of(makefile, target)
    return [
        ([_plain(name) for name in rule.prerequisites if _plain(name)], [_plain(line) for line in rule.recipe])
        for rule in rules
    ]


def _plain(text: str) -> str:
    """The text without the names of source files, but with those of test files: adding a source file does not change what a rule does."""
    return " ".join(_SOURCE.sub(lambda name: name[0] if _TESTY.search(name[0]) else "", text).split())


def _same_variables(before: Makefile, after: Makefile, reached: Iterable[str]) -> bool:
    names = _used_variables(before, reached) | _SPECIAL | {""}
    was, now = ([_plain(line) for name, line in each.sequence if name in names] for each in (before, after))
    return was == now


def _used_variables(makefile: Makefile, reached: Iterable[str]) -> set[str]:
    """The variables that the rules refer to, directly or through other variables."""
    waiting = [
        text
        for target in reached
        for rule in _rules_of(makefile, target)
        for text in (*rule.prerequisites, *rule.recipe)
    ]
    used: set[str] = set()
    while waiting:
        for named in _REFERENCE.findall(waiting.pop()):
            name = named[0] or named[1]
            if name not in used:
                used.add(name)
                waiting += makefile.variables.get(name, ())
    return used


def _overrides(before: Makefile, after: Makefile, text: str) -> bool:
    """Whether a new rule or an exported variable reaches into what was there."""
    new_targets = [target for target in after.rules if target not in before.rules]
    risky = [
        target
        for target in new_targets
        if "%" in target or "$" in target or _is_special(target) or _is_word_of(target, text)
    ]
    changed_special = any(
        before.rules.get(target) != after.rules.get(target)
        for target in {*before.rules, *after.rules}
        if "%" in target or _is_special(target)
    )
    exported = [line for of in after.variables.values() for line in of if line.startswith("export")]
    new_exports = [line for line in exported if line not in [known for of in before.variables.values() for known in of]]
    return bool(risky or new_exports or changed_special)


def _is_special(target: str) -> bool:
    return target.startswith(".") and target not in _ORDINARY_SPECIAL_TARGETS


def _is_word_of(target: str, text: str) -> bool:
    """Whether the old Makefile mentions the name of the new target. Object files of new sources are not mentioned."""
    return re.search(rf"(?<![\w./-]){re.escape(target)}(?![\w./-])", text) is not None
