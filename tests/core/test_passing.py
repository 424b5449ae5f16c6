"""Which variables of a person's environment agents and checks get."""

from __future__ import annotations

import pytest

from untildone import agents
from untildone.core.protection import passing
from untildone.core.protection.secret_values import looks_secret
from untildone.core.protection.usual_variables import TABLE
from untildone.engine.boxes import home
from untildone.workspace.rooms.toolchain import caches, library_folders

NAMED = (
    "HOME", "PATH", *caches.NAMED_BY, *caches.RESULTS_NAMED_BY, *caches.ABSENT, *home.CACHES_NAMED_BY, *home.TOOLS_NAMED_BY,
    *home.TOOLCHAINS_NAMED_BY, *library_folders.ENVIRONMENTS_NAMED_BY, "PERL5LIB", "RUBYLIB", "PYTHONUSERBASE", "CONDA_PREFIX",
)  # fmt: skip
USUAL = {
    **dict.fromkeys(NAMED, "/opt/some/where"),
    "LC_MESSAGES": "C",
    "TZ": "Asia/Tokyo",
    "HTTPS_PROXY": "http://me:correct-horse@proxy:3128",
    "no_proxy": "localhost",
    "SSL_CERT_FILE": "/etc/ssl/own.pem",
    "NODE_EXTRA_CA_CERTS": "/etc/ssl/own.pem",
    "REQUESTS_CA_BUNDLE": "/etc/ssl/own.pem",
    "GIT_AUTHOR_NAME": "Ann",
    "PIP_INDEX_URL": "https://mirror.example/simple",
    "MAKEFLAGS": "-j4",
    "CI": "true",
    "GITHUB_SHA": "0123456789abcdef",
    "DOCKER_HOST": "unix:///run/user/1000/docker.sock",
    "TEST_DATABASE_URL": "postgres://postgres:postgres@localhost/test",
    "UNTILDONE_SIGNING_KEY": "~/.ssh/id_ed25519",
}
KEPT_BACK = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI",
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "GITHUB_TOKEN": "ghp_0123456789abcdef",
    "DATABASE_URL": "sqlite:///x.db",
    "ANTHROPIC_API_KEY": "sk-ant-0123456789",
    "PGHOST": "db.example",
    "SSH_AUTH_SOCK": "/tmp/agent.1",
    "KUBECONFIG": "/home/me/.kube/config",
    "DIRENV_DIFF": "eJxszcEKwjAMANB_6",
    "APP_SETTING": "yes",
    # Names that a pattern of the table would let pass.
    "NODE_AUTH_TOKEN": "abc",
    "NPM_CONFIG_PASSWORD": "x",
    "CARGO_REGISTRY_TOKEN": "x",
    "DJANGO_SECRET_KEY": "dev",
    "UV_INDEX_PASSWORD_MINE": "hunter",
    "COMPOSER_AUTH": '{"http-basic": {}}',
    "BUNDLE_GEMS__EXAMPLE__COM": "me:pass",
    # Values that a pattern of the table would let pass.
    "UV_INDEX_URL": "https://me:pw@mirror.example/simple",
    "TEST_DATABASE_URI": "postgres://me:pw@db.example/test",
    "MAVEN_OPTS": "-Dpassword=hunter2",
    "SPRING_DATASOURCE_URL": "jdbc:postgresql://db/x?user=me&password=hunter2",
    "CI_NOTE": "Authorization: Bearer 0123456789",
    "NIX_CONFIG": "access-tokens = github.com=ghp_0123456789abcdefghij",
    "TEST_KEY_TEXT": "-----BEGIN OPENSSH PRIVATE KEY-----\nx",
}


def test_what_tools_need_passes_and_everything_else_stays() -> None:
    assert passing.passed({**USUAL, **KEPT_BACK}) == USUAL
    assert passing.left_out({**USUAL, **KEPT_BACK}) == KEPT_BACK.keys()


def test_no_name_of_the_table_is_that_of_a_secret() -> None:
    names = [name.removesuffix("*").rstrip("_") for name in TABLE]
    assert not [name for name in names if looks_secret(name, "abc-def-123")]


def test_what_the_person_names_passes_whatever_it_holds() -> None:
    assert passing.passed(KEPT_BACK, named=("DATABASE_URL",)) == {"DATABASE_URL": "sqlite:///x.db"}
    assert set(passing.passed(KEPT_BACK, named=("AWS_*",))) == {"AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"}
    assert passing.passed(KEPT_BACK, named=("*",)) == KEPT_BACK


def test_a_pattern_of_an_agent_lets_no_secret_pass_and_a_full_name_does() -> None:
    known = {"ACME_MODEL": "m1", "ACME_API_KEY": "k", "ACME_OTHER_KEY": "k", "ACMEX": "1"}
    assert set(passing.passed(known, ("ACME_*", "ACME_API_KEY"))) == {"ACME_MODEL", "ACME_API_KEY"}


@pytest.mark.parametrize("name", passing.PRIVATE)
def test_nobody_gets_what_is_untildone_s_own(name: str) -> None:
    for names in ((name,), ("*",), ("UNTILDONE_*",)):
        assert not passing.passed({name: "0123456789"}, (name,), names)
    assert not passing.left_out({name: "0123456789"})


@pytest.mark.parametrize("name", agents.own_names())
def test_each_agent_gets_its_login_and_no_key_of_a_cloud_that_it_does_not_use(name: str) -> None:
    agent = agents.find(name)
    known = {**KEPT_BACK, **dict.fromkeys(agent.login.variables, "sk-0123456789")}
    own = (*agent.login.variables, *agent.needs(known, ()).variables)
    got = passing.passed(known, own)
    assert set(agent.login.variables) <= set(got)
    unused = {"DATABASE_URL", "NODE_AUTH_TOKEN"}
    if not any("BEDROCK" in variable for variable in agent.login.variables):
        unused |= {"AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"}
    assert unused.isdisjoint(got)


def test_keys_of_a_cloud_go_to_an_agent_whose_model_runs_there() -> None:
    claude, known = agents.find("claude"), {"AWS_SECRET_ACCESS_KEY": "x" * 20, "AWS_PROFILE": "work"}
    for chosen, expected in (
        ({}, {"AWS_PROFILE"}),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, {*known, "CLAUDE_CODE_USE_BEDROCK"}),
    ):
        environment = {**known, **chosen}
        assert set(passing.passed(environment, claude.needs(environment, ()).variables)) == expected


@pytest.mark.parametrize(
    ("command", "output", "told"),
    [
        ("pytest -q", "E   KeyError: 'DATABASE_URL'", ("DATABASE_URL",)),
        ('psql "$DATABASE_URL"', "", ("DATABASE_URL",)),
        ("pytest", "DATABASE_URL_TEST and MY_DATABASE_URL are others", ()),
        ("DATABASE_URL=sqlite:// pytest", "DATABASE_URL is wrong", ()),
        ("sh run.sh", "the host is up, and the STAGE is lit", ()),
        ('echo "$host"', "", ("host",)),
    ],
)
def test_a_failed_check_says_what_it_missed(command: str, output: str, told: tuple[str, ...]) -> None:
    said = passing.why(command, output, frozenset({"DATABASE_URL", "host", "STAGE"}))
    assert [name for name in ("DATABASE_URL", "host", "STAGE") if f"--pass-env {name}" in said] == list(told)


def test_settings_refer_to_variables_in_the_ways_of_the_agents() -> None:
    text = 'env_key = "A_KEY"\nname = "B_KEY"\n"${C_KEY}" "{env:D_KEY}"\nenv_vars = ["E_KEY", "F_KEY"]\n"apiKey": "$G_KEY"\n'
    assert "".join(name[0] for name in passing.refer_to(text, [f"{letter}_KEY" for letter in "ABCDEFG"])) == "ACDEFG"
