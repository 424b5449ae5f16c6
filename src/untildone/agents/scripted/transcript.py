"""What a session of the scripted agent was asked, from the file that it keeps beside its place in the script."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise

from untildone.agents._setups import session_files
from untildone.agents._transcripts import CompleteTranscript, entry_in
from untildone.core.plugins.transcript import PersonText, SessionRecord


class ScriptedTranscript(CompleteTranscript):
    def person_line(self, line: bytes) -> Sequence[PersonText]:
        text = str(entry_in(line, b'"prompt"').get("prompt", "")).strip()
        return (PersonText(text),) if text else ()


def record(session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> SessionRecord:
    return SessionRecord(session_files(state_of(environment, args), "", f"{session_id}.jsonl"), ScriptedTranscript())


def state_of(environment: Mapping[str, str], args: tuple[str, ...]) -> str:
    """The folder in which the program keeps its sessions; as in `testing.scripted_agent`."""
    words = dict(word.partition("=")[::2] for word in args if word.startswith("--state="))
    after = next((value for word, value in pairwise(args) if word == "--state"), "")
    chosen = after or words.get("--state", "") or environment.get("UNTILDONE_SCRIPT_STATE", "")
    temporary = next((environment[name] for name in ("TMPDIR", "TEMP", "TMP") if environment.get(name)), "/tmp")
    return chosen or os.path.join(temporary, f".untildone-scripted-{os.getuid()}")
