"""The style sheets and scripts of the dashboard, served as they are."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

FOLDER = Path(__file__).parent
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOREVER = "public, max-age=31536000, immutable"
_PATH = re.compile(r"(?:(?P<version>[0-9a-f]{12})/)?(?P<name>[a-z0-9-]+\.(?:css|js|svg))")


@cache
def _contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in TYPES}


@cache
def version() -> str:
    """A digest of all assets. It is a part of their address, so that scripts that import each other are of one version."""
    digest = hashlib.sha256()
    for name, content in _contents().items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:12]


def address(name: str) -> str:
    """The address of an asset, which a browser may keep for ever."""
    if name not in _contents():
        raise LookupError(f"The dashboard has no asset {name}.")
    return f"/assets/{version()}/{name}"


def serve_assets(app: FastAPI) -> None:
    """Add the route of the assets. They hold nothing that is secret."""

    @app.get("/assets/{path:path}", include_in_schema=False)
    def asset(path: str, request: Request) -> Response:
        match = _PATH.fullmatch(path)
        content = _contents().get(match["name"]) if match else None
        if match is None or content is None:
            raise HTTPException(404, "There is no such file")
        headers = {
            "cache-control": FOREVER if match["version"] == version() else "no-cache",
            "etag": f'"{version()}"',
        }
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=TYPES[Path(match["name"]).suffix], headers=headers)
