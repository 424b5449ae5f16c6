"""The needs in a box of known programs without an adapter of their own."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._needs import files, hosts_in
from untildone.agents._setups import own_folder
from untildone.agents.acp.known import Program
from untildone.core.plugins.agent import Needs

_ADDRESSES = ("OPENAI_BASE_URL",)
_KEYS = ("OPENAI_API_KEY", "OPENAI_*")
"""Of the protocol that nearly every provider of models speaks."""


def own_needs(program: Program, environment: Mapping[str, str]) -> Needs:
    """A folder of its own in the home folder, in which the files that steer it are read-only."""
    home = own_folder(environment, "", program.home)
    steering = (files(home, name, content="{}\n" if name.endswith(".json") else "") for name in program.steering)
    return Needs(
        writable=(home,),
        read_only=tuple(file for each in steering for file in each),
        hosts=(*program.hosts, *hosts_in(environment, *_ADDRESSES)),
        variables=(*_KEYS, *program.own_variables),
    )
