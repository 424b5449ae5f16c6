"""The names of the agents and modes there are, and texts that list them."""

from __future__ import annotations


def put_in(text: str) -> str:
    """The text with the names of the agents for `{agents}` and those of the modes for `{modes}`."""
    if "{agents}" in text:
        from untildone import agents

        text = text.replace("{agents}", ", ".join(agents.own_names()))
    if "{modes}" in text:
        from untildone import modes

        text = text.replace("{modes}", ", ".join(modes.own_names()))
    return text


def own_modes() -> tuple[str, ...]:
    """The names of the modes in the package."""
    from untildone import modes

    return modes.own_names()


def all_modes() -> tuple[str, ...]:
    """The names of the modes in the package and of those that plugins bring."""
    from untildone import modes

    return modes.names()
