"""Scripts outside of a workspace that a check names."""

from __future__ import annotations

from pathlib import Path

from untildone.workspace.rooms.toolchain import named_scripts


def test_what_a_named_script_mentions_is_found_and_no_more(tmp_path: Path) -> None:
    home, place, checks = tmp_path / "home", tmp_path / "project", tmp_path / "checks"
    for folder in (home, place, checks):
        folder.mkdir()
    (checks / "run.sh").write_text('. "$(dirname "$0")/lib.sh"\ngo > out.log\ndiff out.log expected.txt\n')
    (checks / "run.py").write_text("import helper\n")
    for name in ("lib.sh", "out.log", "expected.txt", "other.sh", "helper.py", "subprocess.py", "mine.py"):
        (checks / name).write_text("")
    environment = {"HOME": str(home)}

    def found(*named: str) -> set[str]:
        return {Path(path).name for path in named_scripts.found(named, str(place), environment)}

    assert found("../checks/run.sh") == {"run.sh", "lib.sh", "expected.txt"}
    assert found("../checks/run.py") == {"run.py", "helper.py", "subprocess.py"}
    (home / ".profile").write_text(". ~/.other.sh\n")
    assert found("~/.profile", "~/.bashrc", "~/nothing.sh", "../checks/out.log") == {".profile"}


def test_a_link_to_the_workspace_leads_below_it(tmp_path: Path) -> None:
    place = tmp_path / "project"
    place.mkdir()
    (tmp_path / "other").symlink_to(place)
    assert named_scripts.below(str(place), "../other/scripts/go.sh", str(place), {}) == "scripts/go.sh"
    assert named_scripts.below(str(place), "../else/go.sh", str(place), {}) is None
