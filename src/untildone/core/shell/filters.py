"""Programs after a pipe that show only some lines of what comes in."""

from __future__ import annotations

import re

from untildone.core.shell.wrappers import Words, program

_SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack"})
_PICKS = frozenset({"head", "awk", "gawk", "mawk", "cut", "uniq", "jq", "wc"})
_FAILURE = re.compile(r"fail|error|not ok|panic|broken|cancel|[\u2717\u2716\u00d7]|\.\*|\^\.", re.IGNORECASE)


def hides_lines(words: Words) -> bool:
    """Whether these words may leave out lines that say what failed. `grep -v` does so only if its pattern speaks of failures."""
    if not words:
        return False
    name, arguments = program(words[0]), words[1:]
    if name in _SEARCHES:
        inverted = any(re.fullmatch(r"-[a-zA-Z]*v[a-zA-Z]*|--invert-match", word) for word in arguments)
        return not inverted or any(_FAILURE.search(word) for word in arguments)
    if name == "sed":
        return any(
            re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*|--quiet|--silent", word) or re.search(r"[/\d$]d", word)
            for word in arguments
        )
    return name in _PICKS
