"""`untildone verify`: the receipt of an ended loop, and its checks, then and now."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from untildone.core.errors import UsageError
from untildone.core.model import Outcome, RoomKind
from untildone.core.values.codec import to_json
from untildone.faces.cli import parameters, streams
from untildone.faces.text.plain import one_line
from untildone.operations import verifying
from untildone.operations.verifying import Signed, Verification

SHOWN = 10
"""How many files are named that differ."""


@click.command()
@click.argument("name", metavar="[LOOP|FILE]", default="last")
@click.option(
    "--key",
    metavar="FILE",
    help="A public SSH key, or allowed signers: check the signature of a receipt, and run nothing.",
)
@click.option(
    "--room",
    type=click.Choice([kind.value for kind in RoomKind]),
    help="Where the checks run, if not where the loop had them run. `plain`: in place and outside of the sandbox, as you would run them.",
)
@parameters.place
@parameters.as_json
def command(name: str, key: str | None, room: str | None, folder: str, as_json: bool) -> int:
    """Check the receipt of an ended loop, run its checks again and compare: 0 if all pass in the workspace that was judged, else 6.

    A receipt that is not ours, or a workspace that changed since, is no proof: 6.

    FILE is a receipt.json. Its signature is checked; its checks are run again if its loop is one of this folder.
    """
    environment, kind = parameters.environment(), verifying.room_named(room)
    is_file = key is not None or name.endswith(".json") or os.sep in name
    if not is_file:
        store = parameters.open_store(folder)
        loop_id = store.find(name)
        return _report(loop_id, verifying.verify(store, loop_id, environment, room=kind), as_json=as_json)
    signed, text = verifying.read_file(Path(name), environment, None if key is None else Path(key))
    if key is None and verifying.is_known(store := parameters.open_store(folder), signed):
        verified = verifying.verify(store, signed.loop_id, environment, text, kind)
        return _report(signed.loop_id, verified, as_json=as_json)
    return _tell(signed, as_json=as_json)


def _report(loop_id: str, verifications: tuple[Verification, ...], *, as_json: bool) -> int:
    if not verifications:
        raise UsageError(
            f"Loop {loop_id} has no check: there is nothing to verify.", 'name one when you run it: --check "pytest -q"'
        )
    data = streams.data()
    for each in verifications:
        if as_json:
            data.record(_fields(loop_id, each))
        else:
            data.line(_line(each))
    holds, differs = all(each.holds for each in verifications), verifications[0].differs
    streams.talk().prose(_verdict(differs, holds=holds))
    return 0 if holds and not differs else Outcome.FAILED.exit_code


def _fields(loop_id: str, each: Verification) -> dict[str, Any]:
    return {
        "loop_id": loop_id,
        "command": each.now.command,
        "agrees": each.agrees,
        "before": dict(each.before),
        "now": to_json(each.now),
        "same_workspace": each.same_workspace,
        "differs": each.differs,
    }


def _line(each: Verification) -> str:
    now = "passed" if each.now.passed else f"failed ({each.now.reason})"
    return f"{one_line(each.now.command)}: then {'passed' if each.before['passed'] else 'failed'}, now {now}"


def _verdict(differs: tuple[str, ...] | None, *, holds: bool) -> str:
    if differs == ():
        return "Every check passes, as it did then." if holds else "Not every check passes now as it did then."
    now = "Every check passes now." if holds else "Not every check passes now."
    if differs is None:
        return f"{now} It is not known whether the workspace is the one that was judged."
    more = f" and {len(differs) - SHOWN} more" if len(differs) > SHOWN else ""
    named = ", ".join(one_line(path) for path in differs[:SHOWN])
    return f"{now} The receipt is about another workspace than this one; these files differ: {named}{more}."


def _tell(signed: Signed, *, as_json: bool) -> int:
    """Show a receipt whose loop is not here. Returns 0 if its outcome is verified, else 6."""
    fields, data = signed.fields, streams.data()
    if as_json:
        data.record({"loop_id": signed.loop_id, "signed_by": signed.by, "receipt": dict(fields)})
    else:
        for line in _lines(fields):
            data.line(line)
        streams.talk().prose(f"Signed with {signed.by}, and unchanged since. Nothing was run.")
    return 0 if fields.get("outcome") == Outcome.VERIFIED.word else Outcome.FAILED.exit_code


def _lines(fields: Mapping[str, Any]) -> list[str]:
    proof = f" ({fields['proof']})" if fields.get("proof") else ""
    return [
        f"{fields['loop_id']}: {fields.get('outcome')}{proof}",
        f"task: {one_line(str(fields.get('task')))}",
        f"workspace: {one_line(str(fields.get('workspace')))}, tree {fields.get('tree_after')}",
        *(
            f"{gate['gate']} {one_line(gate['command'])}: {'passed' if gate['passed'] else 'failed'}"
            for gate in fields["gates"]
        ),
    ]
