"""The page for a person whose request is refused. It needs no other file: these would be refused too."""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0;min-height:100vh;display:grid;place-content:center;padding:24px;box-sizing:border-box;text-align:center;"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif}"
    "h1{margin:0 0 8px;font-size:21px;font-weight:640}p{margin:0;opacity:.75;overflow-wrap:anywhere}"
)
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = Markup(
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>untildone</title><style>{style}</style><main><h1>{sentence}</h1><p>{hint}</p></main></html>"
)


def refused_page(status: int, sentence: str, hint: str) -> Response:
    """A sentence, and what to do."""
    said = f"{hint[:1].upper()}{hint[1:]}." if hint else ""
    content = _PAGE.format(style=Markup(_STYLE), sentence=sentence, hint=said)
    return HTMLResponse(content, status, headers={"content-security-policy": _POLICY, "cache-control": "no-store"})
