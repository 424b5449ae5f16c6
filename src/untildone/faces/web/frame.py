"""The frame of every page: the bar at the top, light or dark, keys, and the language of the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from fastapi import Request
from nicegui import app, ui

from untildone.faces.dashboard.translations.texts import Language, Texts, texts_for
from untildone.faces.web.pieces import box, text

ASSETS = Path(__file__).parent / "assets"
ASSETS_AT = "/_untildone"
THEME_COOKIE = "untildone_theme"
POLL_EVERY = 0.5
PRIMARY = "#3765e0"
_THEMES: dict[str, bool | None] = {"auto": None, "dark": True, "light": False}
_ICONS = {"auto": "brightness_auto", "dark": "dark_mode", "light": "light_mode"}
_NAVIGATION = (
    ("/", "list_alt", "Loops"),
    ("/history", "history", "History"),
    ("/settings", "tune", "Settings"),
)
KEYS = (
    ("/", "Search"),
    ("j / k", "Next, previous loop"),
    ("Enter", "Open the loop"),
    ("p", "Pause"),
    ("r", "Resume or start"),
    ("n", "New loop"),
    ("?", "These keys"),
)


def serve_assets() -> None:
    """Serve the style sheet and the scripts of the dashboard."""
    app.add_static_files(ASSETS_AT, ASSETS)


@cache
def _version() -> str:
    return str(max(path.stat().st_mtime_ns for path in ASSETS.iterdir()))


def texts_of(request: Request) -> Texts:
    """The texts in the language of the browser."""
    return texts_for(request.headers.get("accept-language", ""))


@contextmanager
def frame(request: Request, t: Texts, title: str, on_key: Callable[[str], object] | None = None) -> Iterator[None]:
    """A context manager for the content of a page. `on_key` gets the keys that the frame does not handle itself."""
    ui.page_title(f"{title} · untildone")
    _head(t)
    ui.colors(primary=PRIMARY)
    with ui.header().classes("bar").props("height-hint=52"):
        _bar(request, t)
    help_dialog = _help(t)

    def pressed(key: str) -> object:
        if key == "?":
            help_dialog.open()
        elif key == "n":
            ui.navigate.to("/new")
        elif on_key is not None:
            return on_key(key)
        return None

    ui.on("untildone_key", lambda event: pressed(str(event.args)))
    with box("page"):
        yield


def _head(t: Texts) -> None:
    version = _version()
    language = "en" if t.language is Language.ENGLISH else t.language.value
    ui.add_head_html(
        f'<link rel="stylesheet" href="{ASSETS_AT}/dashboard.css?{version}">'
        f'<script src="{ASSETS_AT}/keys.js?{version}" defer></script>'
        f'<script>document.documentElement.lang = "{language}"</script>'
        '<meta name="referrer" content="no-referrer">'
    )


def _bar(request: Request, t: Texts) -> None:
    with box("brand", "a").props('href="/" aria-label="untildone"'):
        ui.icon("task_alt").classes("brand-icon")
        text("untildone", "brand-name")
    here = request.url.path
    with box("navigation", "nav"):
        for path, icon, name in _NAVIGATION:
            current = here == path
            with box("navigation-link current" if current else "navigation-link", "a") as link:
                ui.icon(icon)
                text(t(name), "navigation-name")
            link.props["href"] = path
            link.props["aria-label"] = t(name)
            if current:
                link.props["aria-current"] = "page"
    box("stretch")
    with box("button-link", "a").props('href="/new"') as new:
        ui.icon("add")
        text(t("New loop"), "navigation-name")
    new.props["aria-label"] = t("New loop")
    _theme(request, t)


def _theme(request: Request, t: Texts) -> None:
    chosen = request.cookies.get(THEME_COOKIE, "auto")
    state = {"theme": chosen if chosen in _THEMES else "auto"}
    dark = ui.dark_mode(_THEMES[state["theme"]])

    def change() -> None:
        names = list(_THEMES)
        state["theme"] = names[(names.index(state["theme"]) + 1) % len(names)]
        dark.set_value(_THEMES[state["theme"]])
        button.props(f"icon={_ICONS[state['theme']]}")
        ui.run_javascript(
            f"document.cookie = '{THEME_COOKIE}={state['theme']}; path=/; max-age=31536000; SameSite=Strict'"
        )
        ui.notify(
            t({"auto": "Colours: as the system", "dark": "Colours: dark", "light": "Colours: light"}[state["theme"]])
        )

    button = ui.button(icon=_ICONS[state["theme"]], on_click=change).props("flat round dense color=none")
    button.props["aria-label"] = t("Light or dark")


def _help(t: Texts) -> ui.dialog:
    with ui.dialog() as dialog, box("card dialog"):
        text(t("Keys"), "card-title", "h2")
        with box("keys", "dl"):
            for key, meaning in KEYS:
                with box(tag="dt"):
                    text(key, tag="kbd")
                text(t(meaning), tag="dd")
        with box("actions"):
            ui.button(t("Close"), on_click=dialog.close).props("flat no-caps")
    return dialog
