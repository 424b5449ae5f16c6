"""The login of a browser: a page with a form for a token, and links that log in once. Both lead to the page that was asked for."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Query, Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse

from untildone.faces.api.middleware.keys import Keys, TooManyTries
from untildone.faces.api.middleware.refusals import login_target
from untildone.faces.api.routes.common import WithKeys
from untildone.operations.access import sessions
from untildone.operations.access.scopes import Caller
from untildone.operations.access.sessions import NewSession

router = APIRouter(include_in_schema=False)
_FOLDER = Path(__file__).parent / "pages"
_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_WELCOME_POLICY = "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_WRONG, _SPENT = "That is not a valid token.", "That link was used already, or is too old."
_LATER = "Too many wrong tries. Try again in {wait} seconds."
_CHINESE = {
    "Log in": ("登录", "登入"),
    "Go on": ("继续", "繼續"),
    "Token": ("令牌", "權杖"),
    _WRONG: ("该令牌无效。", "該權杖無效。"),
    _SPENT: ("该链接已被使用，或已过期。", "該連結已被使用，或已過期。"),
    _LATER: ("错误次数过多。请在 {wait} 秒后重试。", "錯誤次數過多。請在 {wait} 秒後重試。"),
    "No token at hand? On the machine of the server, this prints a link and a QR code:": (
        "手边没有令牌？在服务器所在的机器上运行此命令，可得到链接和二维码：",
        "手邊沒有權杖？在伺服器所在的機器上執行此指令，可得到連結和 QR 碼：",
    ),
}
"""The words of the page: English, then Chinese, simplified and traditional."""


@router.get("/login")
def log_in(
    keys: WithKeys,
    request: Request,
    code: Annotated[str | None, Query(max_length=200)] = None,
    next: Annotated[str, Query()] = "/",
) -> Response:
    """The form; or, with the code of a link, a session. A code is valid once, so no address holds a lasting secret."""
    if code is None:
        return _page(request, next)
    client = _client(request)
    if wait := keys.tries.wait(client):
        return _page(request, next, 429, _LATER, wait)
    offered, present = keys.codes.look(code), request.state.caller
    if offered is not None and _keeps(present, offered):
        return RedirectResponse(login_target(next), 303)
    caller = keys.codes.use(code)
    if caller is None:
        keys.tries.failed(client)
        return _page(request, next, 403, _SPENT)
    return _welcome(keys, request, caller, next)


@router.post("/login")
async def log_in_by_token(keys: WithKeys, request: Request) -> Response:
    """Exchange a token for a session."""
    words = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
    given, then = (words.get("token") or [""])[0].strip(), (words.get("next") or ["/"])[0]
    try:
        caller = keys.of_token_within_limit(given, _client(request))
    except TooManyTries as problem:
        return _page(request, then, 429, _LATER, problem.wait)
    if caller is None:
        return _page(request, then, 403, _WRONG)
    return await run_in_threadpool(_welcome, keys, request, caller, then)


@router.get("/login.css")
def style() -> Response:
    """The style sheet of the page."""
    return _file("login.css", "text/css")


@router.get("/login.js")
def script() -> Response:
    """The script of the page after the login."""
    return _file("login.js", "text/javascript")


def _file(name: str, media_type: str) -> Response:
    content = (_FOLDER / name).read_bytes()
    return Response(content, media_type=f"{media_type}; charset=utf-8", headers={"cache-control": "no-cache"})


def set_cookie(response: Response, keys: Keys, session_id: str) -> None:
    """Give the browser the cookie of a session; an empty id takes it away."""
    response.set_cookie(
        keys.cookie,
        session_id,
        max_age=int(sessions.LASTS) if session_id else 0,
        path="/",
        secure=keys.behind_tls,
        httponly=True,
        samesite="lax",
    )


def begin_session(keys: Keys, request: Request, caller: Caller) -> NewSession:
    """Begin a session, and end the one that the browser had."""
    if (before := keys.session_in(request.headers.get("cookie", ""))) is not None:
        keys.sessions.end(before.caller.session)
    return keys.sessions.begin(caller)


def login_path(code: str, then: str = "/") -> str:
    """The path of a login link."""
    return f"/login?code={code}" + (f"&next={quote(then, safe='')}" if then != "/" else "")


def _welcome(keys: Keys, request: Request, caller: Caller, then: str) -> Response:
    """A page that hands the key of the session to the storage of the browser, which no other port of this host reads, and goes on."""
    new = begin_session(keys, request, caller)
    language, words = _words(request.headers.get("accept-language", ""))
    content = _template("welcome.html").render(t=words, language=language, key=new.key, next=login_target(then))
    answer = HTMLResponse(content, headers={"content-security-policy": _WELCOME_POLICY})
    set_cookie(answer, keys, new.session_id)
    return answer


def _keeps(present: Caller | None, offered: Caller) -> bool:
    """Whether a browser keeps its session, because a link offers nothing more. So no other site can exchange it with a link of its own."""
    return present is not None and bool(present.session) and present.may(offered.scope)


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


def _page(request: Request, then: str, status: int = 200, error: str = "", wait: int = 0) -> Response:
    language, words = _words(request.headers.get("accept-language", ""))
    theme = request.cookies.get("untildone_theme", "auto")
    content = _template("login.html").render(
        t=words,
        language=language,
        theme=theme if theme in ("light", "dark") else "auto",
        base=any(getattr(route, "path", "").startswith("/assets/") for route in request.app.routes),
        next=login_target(then),
        error=words[error].format(wait=wait) if error else "",
    )
    headers = {"content-security-policy": _POLICY, "vary": "accept-language, cookie"}
    return HTMLResponse(content, status, headers | ({"retry-after": str(wait)} if wait else {}))


@cache
def _template(name: str) -> Template:
    loader = FileSystemLoader(_FOLDER)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)


def _words(accepted: str) -> tuple[str, dict[str, str]]:
    """The language of a browser and the words in it. The first language of the list that the page speaks decides."""
    for part in accepted.lower().split(",")[:20]:
        name = part.partition(";")[0].strip()
        if name.startswith(("zh-hant", "zh-tw", "zh-hk", "zh-mo")):
            return "zh-Hant", {english: chinese[1] for english, chinese in _CHINESE.items()}
        if name == "zh" or name.startswith("zh-"):
            return "zh-Hans", {english: chinese[0] for english, chinese in _CHINESE.items()}
        if name == "en" or name.startswith("en-"):
            break
    return "en", {english: english for english in _CHINESE}
