"""The receipt and the report of an ended loop."""

from __future__ import annotations

from typing import Any

from untildone.core.limits import REPORTED, duration
from untildone.core.loop import Loop
from untildone.core.model import EMPTY, GateResult
from untildone.core.receipts import proof
from untildone.core.receipts.proving import PROOFS
from untildone.core.values.codec import timestamp, to_json
from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs between the start and the end of the loop, with the number of changed lines."""

    path: str
    insertions: int
    deletions: int


def receipt(loop: Loop, files: tuple[FileChange, ...] | None, agent_version: str) -> dict[str, Any]:
    """The receipt: task, spend, changed files (None: unknown) and the verdict of each gate."""
    worker = loop.settings.worker
    return {
        "loop_id": loop.loop_id,
        "task": loop.description,
        "mode": loop.settings.mode,
        "agent": {"name": worker.agent, "profile": worker.profile, "model": worker.model, "version": agent_version},
        "escalated": [
            {"profile": each.profile, "model": each.model} for each in loop.settings.escalate[: loop.escalated]
        ],
        "status": loop.status.value,
        "outcome": loop.outcome.word if loop.outcome else None,
        "proof": proof.level(loop).value,
        "reason": loop.reason,
        "iterations": loop.spend.iterations,
        "spend": to_json(loop.spend),
        "prices": loop.priced or None,
        "unpriced_tokens": loop.unpriced,
        "budget": to_json(loop.budget),
        "started": timestamp(loop.created_at),
        "ended": timestamp(loop.updated_at),
        "workspace": loop.settings.workspace,
        "commit_before": loop.start.head,
        "commit_after": loop.changes.head,
        "tree_before": loop.start.tree,
        "tree_after": loop.changes.tree,
        "files_changed": None if files is None else [to_json(change) for change in files],
        "gates": [_gate(result) for result in loop.gates],
        "baseline": [to_json(each) for each in loop.baseline],
        "acceptance": _acceptance(loop),
        "sandbox": [to_json(held) for held in loop.containments],
        "hosts": [to_json(asked) for asked in loop.hosts],
        "tests": loop.settings.tests.value,
        "approved": list(loop.approved),
        "uncommitted_before": loop.uncommitted,
        "refused_before": [to_json(each) for each in loop.refused],
        "tampering": list(loop.signs),
        "settings_changed": list(loop.settings_changed),
        **_review(loop),
        **({"questions": list(loop.questions)} if loop.questions else {}),
    }


def _acceptance(loop: Loop) -> dict[str, Any] | None:
    """What the author wrote, without the contents, and what the checks said of it before any work."""
    return to_json(loop.acceptance) if loop.acceptance else None


def _review(loop: Loop) -> dict[str, float]:
    """The score of the last review, if the mode keeps one."""
    score = (loop.skill_state or EMPTY).get("score")
    return {"review_score": score} if isinstance(score, int | float) else {}


def _gate(result: GateResult) -> dict[str, Any]:
    fields = to_json(result)
    return {name: fields[name] for name in _GATE_FIELDS}


_GATE_FIELDS = (
    *("gate", "command", "passed", "exit_code", "reason", "seconds", "output_sha256"),
    *("room", "tree", "tests", "failing", "tampered", "notes"),
)


def report(loop: Loop, fields: dict[str, Any], unsigned: str = "") -> str:
    """The receipt for people, as Markdown. `fields` is the receipt, `unsigned` why the person's key did not sign it."""
    files = fields["files_changed"]
    lines = [
        f"# {loop.title}",
        "",
        f"**{fields['outcome']}**: {loop.end_sentence} {loop.reason}".rstrip(),
        "",
        f"- Loop: {loop.loop_id} ({fields['mode']}, {fields['agent']['name']} {fields['agent']['version']})".rstrip(),
        f"- Iterations: {loop.spend.iterations}",
        f"- Duration: {duration(loop.updated_at - loop.created_at)} ({duration(loop.spend.seconds)} at work)",
        f"- Spend: {', '.join(limit.row.show(getattr(loop.spend, limit.row.field)) for limit in REPORTED)}",
        *((f"- Dollars by the table of prices of {loop.priced}, where the agent reports none",) if loop.priced else ()),
        *((f"- Price unknown: {loop.unpriced:,} tokens are not among the dollars",) if loop.unpriced else ()),
        *(f"- {each.sentence[:1].upper()}{each.sentence[1:]}" for each in loop.baseline),
        *_acceptance_lines(loop),
        *(f"- {held.sentence.capitalize()}" for held in loop.containments),
        *(f"  - {asked.line}" for asked in loop.hosts),
        f"- Commits: {fields['commit_before']} → {fields['commit_after']}",
        *(f"- Review score: {score:g}/100" for score in _review(loop).values()),
        f"- Files changed: {'not known' if files is None else len(files)}",
        *(f"  - {change['path']} (+{change['insertions']} −{change['deletions']})" for change in (files or ())[:200]),
        *(f"- It needed: {' '.join(question.split())}" for question in loop.questions),
        *((f"- Not signed with your key: {unsigned}",) if unsigned else ()),
        "",
        *(("## Signs of tampering", *(f"- {sign}" for sign in loop.signs), "") if loop.signs else ()),
        "## Gates",
        *(
            [line for result in loop.gates for line in _gate_lines(result)]
            or ["None: nothing verified the agent's word."]
        ),
        "",
        "## Task",
        loop.description,
    ]
    return "\n".join(lines) + "\n"


def _acceptance_lines(loop: Loop) -> tuple[str, ...]:
    written = loop.acceptance
    if written is None:
        return ()
    said = (written.sentence, *(each.sentence for each in written.tried))
    return (*(f"- {line[:1].upper()}{line[1:]}" for line in said), *(f"  - {note}" for note in written.notes))


def _gate_lines(result: GateResult) -> tuple[str, ...]:
    """The verdict of a gate; of a proof with what it found, such as the mutants that survived."""
    word = "passed" if result.passed else f"failed ({result.reason})"
    line = f"- {result.gate} `{result.command}`: {word}" if result.command else f"- {result.gate}: {word}"
    if result.gate not in PROOFS:
        return (line,)
    found = f"; {result.tests}" if result.passed and result.tests else ""
    notes = (text.removeprefix("- ") for note in result.notes for text in note.splitlines())
    return (f"{line}{found}", *(f"  - {text}" for text in notes))
