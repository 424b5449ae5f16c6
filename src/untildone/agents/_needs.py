"""Helpers for what agents need in a box."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from untildone.agents._setups import own_folder
from untildone.core.plugins.agent import OwnFile

_ADDRESS = re.compile(r"(?P<scheme>https?|wss?)://(?:[^/@\s]*@)?(?P<host>\[[^\]]+\]|[^/:?#\s]+)(?::(?P<port>\d+))?")
AWS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_*",
)  # fmt: skip
GOOGLE_CLOUD = (
    "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_*", "GCLOUD_PROJECT", "CLOUDSDK_*",
)  # fmt: skip
AZURE = (
    "AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_*", "IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_*",
)  # fmt: skip
"""The variables of clouds, for a program whose model runs there."""
_USUAL_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443"}


def in_home(environment: Mapping[str, str], *names: str) -> tuple[str, ...]:
    """Paths in the person's home folder."""
    return tuple(own_folder(environment, "", name) for name in names)


def named(environment: Mapping[str, str], *variables: str) -> tuple[str, ...]:
    """The absolute paths that variables name."""
    return tuple(path for name in variables if os.path.isabs(path := environment.get(name, "")))


def hosts_in(environment: Mapping[str, str], *variables: str) -> tuple[str, ...]:
    """The hosts of the addresses that variables hold: `name`, or `name:port` for an unusual port."""
    return tuple(host for name in variables for host in hosts_of(environment.get(name, "")))


def hosts_of(text: str) -> Iterator[str]:
    """The hosts of the web addresses in a text."""
    for address in _ADDRESS.finditer(text):
        port = address["port"]
        yield address["host"] if port in (None, _USUAL_PORTS[address["scheme"]]) else f"{address['host']}:{port}"


def folders(parent: str, *names: str) -> tuple[OwnFile, ...]:
    """Folders inside a folder."""
    return tuple(OwnFile(os.path.join(parent, name), None) for name in names)


def files(parent: str, *names: str, content: str = "") -> tuple[OwnFile, ...]:
    """Files inside a folder; `content` is that of new ones."""
    return tuple(OwnFile(os.path.join(parent, name), content) for name in names)
