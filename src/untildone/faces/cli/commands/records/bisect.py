"""`untildone bisect`: which round of a loop broke its checks."""

from __future__ import annotations

import click

from untildone.faces.cli import parameters, streams
from untildone.faces.text.plain import one_line
from untildone.operations.history import bisecting


@click.command()
@parameters.loop_or_last
@click.option(
    "--check", "checks", metavar="CMD", multiple=True, help="Another check than those of the loop; repeatable."
)
@click.option("--good", metavar="N", type=click.IntRange(0), help="A round after which they hold (the start).")
@click.option("--bad", metavar="N", type=click.IntRange(1), help="A round after which they fail (the last).")
@parameters.place
@parameters.as_json
def command(name: str, checks: tuple[str, ...], good: int | None, bad: int | None, folder: str, as_json: bool) -> int:
    """Find the round that broke the checks of a loop, by running them on snapshots of its rounds.

    Half of the rounds are ruled out by each run. The workspace is not touched.
    """
    store, talk = parameters.open_store(folder), streams.talk()

    def report(number: int, holds: bool) -> None:
        talk.prose(f"After round {number}: {'they hold' if holds else 'they fail'}.")

    loop_id = store.find(name)
    bisected = bisecting.bisect(store, loop_id, parameters.environment(), checks, good, bad, report)
    failed = [result.command for result in bisected.failed]
    if as_json:
        fields = {"loop_id": loop_id, "broke": bisected.broke, "holds_after": bisected.before, "failed": failed}
        streams.data().record({**fields, "checked": list(bisected.checked)})
        return 0
    streams.data().line(f"Round {bisected.broke} broke: {one_line('; '.join(failed))}")
    talk.prose(f"hint: `untildone rewind {loop_id} --to {bisected.before}` goes back to where they hold")
    return 0
