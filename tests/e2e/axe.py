"""Checks a page with axe-core, which finds what people with a screen reader, a keyboard or weak eyes would stumble over."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

VERSION = "4.11.0"
_RUN = """async () => {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((each) => [each.id, each.impact, each.nodes.map((node) => node.html.slice(0, 200))]);
}"""


@cache
def script() -> str:
    """The source of axe-core, installed once beside the other tools."""
    cache_folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = (
        Path(os.environ.get("UNTILDONE_TOOLS_DIR") or Path(cache_folder, "untildone/tools")) / f"axe-core-{VERSION}"
    )
    file = folder / "node_modules/axe-core/axe.min.js"
    if not file.exists():
        if shutil.which("npm") is None:
            pytest.skip("npm is missing: axe-core cannot be installed")
        folder.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-package-lock"]
        subprocess.run([*words, f"axe-core@{VERSION}"], check=True, capture_output=True, timeout=180)
    return file.read_text()


def violations(page: Page) -> list[Any]:
    """What axe-core finds in the page as it is now."""
    page.evaluate(script())
    found: list[Any] = page.evaluate(_RUN)
    return found
