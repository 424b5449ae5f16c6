"""Which test runners a shell command names."""

from __future__ import annotations

from pathlib import Path

import pytest

from untildone.core.errors import UsageError
from untildone.gates.check.named import named
from untildone.settings import load

ONE = {
    "pytest -q": "pytest",
    "python3 -m pytest -q | tail -3": "pytest",
    "python -X dev -W error -m pytest": "pytest",
    "python3.12 -mpytest": "pytest",
    ".venv/bin/pytest": "pytest",
    ".venv\\\\Scripts\\\\pytest.exe": "pytest",
    "cd x && FOO=1 env -i BAR=2 timeout -k 5 60 pytest -q": "pytest",
    "uv run --with foo pytest -q": "pytest",
    "uv run -m pytest": "pytest",
    "uv run python -m pytest": "pytest",
    "poetry run pytest; echo done": "pytest",
    "sh -c 'cd x; pytest -q || true'": "pytest",
    "bash -lc \"nice -n 5 sh -c 'pytest'\"": "pytest",
    'eval "pytest -q"': "pytest",
    "coverage run --source src -m pytest && coverage report": "pytest",
    "python -m coverage run -m pytest": "pytest",
    "$(which pytest) -q": "pytest",
    "${PYTEST:-pytest} -q": "pytest",
    "pytest -q & wait": "pytest",
    "pytest \\\n  -q": "pytest",
    "if [ -d t ]; then pytest t; fi": "pytest",
    "git ls-files | xargs -n 1 pytest": "pytest",
    "docker compose exec -u root web pytest -q": "pytest",
    "# first\npytest '": "pytest",
    "pytest -q || pytest -q --lf": "pytest",
    "python -m unittest discover -s tests": "unittest",
    "python manage.py test": "manage.py test",
    "xvfb-run -a npx playwright test": "playwright",
    "npx --yes jest --ci 2>&1 | tee log": "jest",
    "yarn jest": "jest",
    "node node_modules/.bin/jest": "jest",
    "pnpm vitest run": "vitest",
    "node ./node_modules/vitest/vitest.mjs run": "vitest",
    "c8 -r text mocha": "mocha",
    "node --import tsx --test 'src/**/*.test.ts'": "node --test",
    "bun test": "bun test",
    "deno test -A": "deno test",
    "go vet ./... && go test -race ./...": "go test",
    "cargo +nightly --color never test --workspace": "cargo test",
    "cargo nextest run": "cargo nextest",
    "./mvnw -B verify": "maven",
    "./gradlew :app:testDebugUnitTest": "gradle",
    "dotnet test --nologo": "dotnet test",
    "ctest --test-dir build -V": "ctest",
    "bundle exec rspec": "rspec",
    "php vendor/bin/phpunit": "phpunit",
    "php artisan test": "artisan test",
    "mix test": "mix test",
    "npx vitest run || npx jest": "vitest or jest",
}

NONE = [
    "",
    "true",
    "make test",
    "tox",
    "npm test",
    "npm run test -- --coverage",
    "yarn test",
    "uv run --with pytest python x.py",
    "python -c 'import pytest; pytest.main()'",
    "python - <<EOF\nimport pytest\npytest\nEOF",
    "node x.js",
    "cargo test --no-run",
    "cargo build && cargo clippy",
    "go build ./...",
    "mvn package -DskipTests",
    "gradle build -x test",
    "pytest --version",
    "grep -q pytest README.md",
    "pip install pytest jest",
    "which pytest",
    "test -s report.md",
    "git diff --stat | grep test # pytest",
    'echo "pytest"',
    "echo \"don't",
    "((",
    "; ; | &&",
]


@pytest.mark.parametrize("command", ONE)
def test_a_test_runner_is_found_behind_other_programs(command: str) -> None:
    assert [run.name for run in named(command).runs] == [ONE[command]]


@pytest.mark.parametrize("command", NONE)
def test_other_commands_name_none(command: str) -> None:
    assert named(command).runs == ()


def test_each_run_is_found() -> None:
    assert [run.name for run in named("pytest a; (cd b && pytest) && npx jest\ngo test ./...").runs] == [
        "pytest",
        "pytest",
        "jest",
        "go test",
    ]


@pytest.mark.parametrize(
    ("command", "certain", "repeated", "negated"),
    [
        ("pytest", True, False, False),
        ("if true; then pytest; fi", False, False, False),
        ("if true; then true; fi; pytest", True, False, False),
        ("for d in a b; do pytest $d; done", False, True, False),
        ("while read d; do pytest $d; done; true", False, True, False),
        ("! pytest", True, False, True),
        ("! true; pytest", True, False, False),
        ("! pytest | cat", True, False, True),
    ],
)
def test_how_the_shell_comes_to_run_it(command: str, certain: bool, repeated: bool, negated: bool) -> None:
    (run,) = named(command).runs
    assert (run.certain, run.repeated, run.negated) == (certain, repeated, negated)


@pytest.mark.parametrize(
    ("command", "to_file"),
    [
        ("pytest > log", True),
        ("pytest > log 2>&1", True),
        ("pytest &> log", True),
        ("pytest >> log", True),
        ("pytest > /dev/null", True),
        ("pytest 2>&1 | tail", False),
        ("pytest >&2", False),
        ("pytest < input", False),
        ("pytest > /dev/stderr", False),
    ],
)
def test_output_that_goes_into_a_file_is_noticed(command: str, to_file: bool) -> None:
    (run,) = named(command).runs
    assert ("tee" in run.advice) == to_file


@pytest.mark.parametrize(
    "command", ["make test && pytest", "./run.sh; pytest", "npm test; pytest", "sh check.sh && pytest"]
)
def test_a_command_that_may_run_any_runner_is_noticed(command: str) -> None:
    assert named(command).indirect


@pytest.mark.parametrize(
    "command", ["cd a && pytest", "ruff check . && pytest", "pytest | tee log", "export A=1; pytest"]
)
def test_a_command_that_runs_no_other_runner_is_noticed(command: str) -> None:
    assert not named(command).indirect


@pytest.mark.parametrize("command", ["mvn -q test", "cd a && ./gradlew --quiet test"])
def test_a_check_that_can_never_show_a_test_is_refused_when_it_is_set(tmp_path: Path, command: str) -> None:
    with pytest.raises(UsageError, match="does not show whether tests ran: leave out -"):
        load(tmp_path, {"checks": [command]}, {})
