"""`untildone clean`: delete loops that ended long ago."""

from __future__ import annotations

import click

from untildone.faces.cli import parameters, streams
from untildone.operations.history import cleaning


@click.command()
@click.option("--older-than", metavar="30d", required=True, help="How long ago they ended: 12h, 30d, 4w.")
@click.option("--dry-run", is_flag=True, help="Only name them.")
@parameters.place
@parameters.as_json
def command(older_than: str, dry_run: bool, folder: str, as_json: bool) -> int:
    """Delete the loops that ended long ago: journal, output and receipt. What they changed in the workspace stays.

    Loops that can go on are never deleted.
    """
    age, data, failed = cleaning.age(older_than), streams.data(), False
    for each in cleaning.clean(parameters.open_store(folder), age, only_lists=dry_run):
        failed = failed or bool(each.problem)
        deleted = not (dry_run or each.problem)
        word = each.problem or ("deleted" if deleted else "would be deleted")
        fields = {"loop_id": each.loop.loop_id, "deleted": deleted, "problem": each.problem}
        data.record(fields) if as_json else data.line(f"{each.loop.loop_id} {word}")
    return 6 if failed else 0
