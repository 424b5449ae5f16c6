"""The tables of judge files: names of tests, of runner settings and of CI settings, by ecosystem."""

from __future__ import annotations

from enum import StrEnum

from untildone.core.judging.globs import words
from untildone.core.values.value import dataclass


class Kind(StrEnum):
    """Why a file is a judge file."""

    TEST = "test"
    SETTINGS = "settings"
    SCRIPT = "script"
    CI = "ci"
    PROTECTED = "protected"


class Language(StrEnum):
    PYTHON = "Python"
    JAVASCRIPT = "JavaScript"
    GO = "Go"
    RUST = "Rust"
    JAVA = "Java"
    RUBY = "Ruby"
    PHP = "PHP"
    C = "C"
    DOTNET = ".NET"
    SHELL = "shell"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Row:
    """Files of one kind, by their names."""

    why: str
    """Completes the sentence "It is a judge file: …"."""
    patterns: tuple[str, ...]
    tools: tuple[str, ...] = ()
    """It counts only if a check runs one of these programs; empty: always."""


_JS = "{js,jsx,ts,tsx,mjs,cjs,mts,cts}"
_C = "{c,cc,cpp,cxx,h,hh,hpp,hxx,m,mm}"

TESTS: dict[Language, tuple[str, ...]] = {
    Language.PYTHON: ("test_*.py", "*_test.py", "*.robot"),
    Language.JAVASCRIPT: (
        f"*.{{test,tests,spec,cy,e2e}}.{_JS}",
        "*.{test,spec}.{vue,svelte}",
        f"*.{{e2e-spec,e2e-test,test-d,test-e2e,integration-test}}.{_JS}",
        f"*{{-,_}}{{test,spec}}.{_JS}",
        f"test-*.{_JS}",
        f"test.{_JS}",
        "*.snap",
    ),
    Language.GO: ("*_test.go",),
    Language.RUST: ("{tests,test}.rs", "*_{test,tests}.rs", "test_*.rs", "*.rs.snap", "*.snap.new"),
    Language.JAVA: (
        "*{Test,Tests,TestCase,IT,ITCase}.{java,kt,kts,groovy,scala}",
        "Test[A-Z]*.{java,kt,groovy,scala}",
        "*{Spec,Suite}.{groovy,kt,scala}",
        "src/{test,androidTest,integrationTest,functionalTest,testFixtures,jvmTest,commonTest,it}/**",
    ),
    Language.RUBY: ("*_spec.rb", "*_test.rb", "test_*.rb"),
    Language.PHP: ("*Test.php", "*TestCase.php", "*Cest.php", "*.phpt"),
    Language.C: (
        f"test_*.{_C}",
        f"*_{{test,tests,unittest,unittests}}.{_C}",
        "*{Test,Tests}.{cc,cpp,cxx}",
        "*.test.{c,cc,cpp,cxx}",
    ),
    Language.DOTNET: ("*{Test,Tests,Spec,Specs}.{cs,fs,vb}", "*.{Test,Tests,UnitTests,IntegrationTests,Specs}/**"),
    Language.SHELL: ("*.bats", "{test,tests}.sh", "test_*.sh", "test-*.sh", "*_test.sh", "*-test.sh", "*.t"),
    Language.OTHER: ("*.feature", "*_test.{dart,exs,lua,ml,zig,hs}", "*Tests.swift", "*Spec.hs", "*_SUITE.erl"),
}
"""Names of tests. A name that ends in `/**` stands for a folder."""

NEVER_TESTS = ("src/main/**",)

TEST_FOLDERS = words(
    "tests __tests__ __snapshots__ __mocks__ __fixtures__ testdata test-data test_data testfixtures test-fixtures test_fixtures "
    "unittests unit_tests unit-tests integration_tests integration-tests functional_tests acceptance_tests e2e e2e_tests "
    "testutil testutils test_utils test-utils testhelpers test_helpers test-helpers testsupport test_support testkit "
    "end_to_end_tests system_tests regression_tests cypress androidtest"
)
"""Everything below such a folder judges, helpers and data included. Compared in lower case."""

TEST_FOLDERS_OF_PROJECTS = frozenset(("test",))
"""As `TEST_FOLDERS`, if the folder lies beside a project file or holds a file with the name of a test."""

TEST_FOLDERS_BY_CONTENT = frozenset(("spec", "specs", "t", "features"))
"""As `TEST_FOLDERS`, if the folder holds a file with the name of a test."""

DATA_FOLDERS = words("fixtures goldens golden expected snapshots testcases test_cases cases")
"""Data that tests are compared with, if tests lie beside the folder. Only what was there at the start counts."""

TEXT_FOLDERS = DATA_FOLDERS | words("data testdata test-data test_data resources inputs outputs samples __snapshots__")
"""Files below such a folder are data, whatever their names: they are compared byte by byte."""

PROJECT_FILES = (
    "package.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Gemfile",
    "Rakefile",
    "composer.json",
    "CMakeLists.txt",
    "Makefile",
    "mix.exs",
    "pubspec.yaml",
)

SETTINGS: tuple[Row, ...] = (
    Row("pytest loads it before the tests", ("conftest.py",)),
    Row("pytest reads its options from it", ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")),
    Row("Python runs it before every program", ("{site,user}customize.py", "*.pth", "*.egg-link")),
    Row("coverage reads its options from it", (".coveragerc", ".coveragerc.toml")),
    Row(
        "a Python test runner reads its options from it",
        (
            "noxfile.py",
            "tox.toml",
            "nose.cfg",
            ".noserc",
            "unittest.cfg",
            ".testr.conf",
            ".stestr.conf",
            "behave.ini",
            ".behaverc",
        ),
    ),
    Row(
        "a JavaScript test runner reads its options from it",
        (
            f"{{jest,vitest,playwright,cypress,ava,web-test-runner}}.config.{{json,{_JS[1:]}",
            f"{{jest,vitest}}{{.,-}}{{setup,workspace,projects,preset,global-setup,globalSetup,environment}}.{{json,{_JS[1:]}",
            f"{{karma,wdio,nightwatch,protractor}}.conf.{_JS}",
            f"setupTests.{_JS}",
            ".mocharc*",
            ".nycrc*",
            ".c8rc*",
            ".taprc",
            "jasmine.json",
            "cypress.json",
            "tsconfig.{test,tests,spec,jest,vitest,e2e}.json",
        ),
    ),
    Row("JavaScript test runners transform tests as it says", ("babel.config.*", ".babelrc*", ".swcrc")),
    Row(
        "the package manager reads from it how to run scripts",
        (
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            ".pnp.cjs",
            ".pnp.loader.mjs",
            "bunfig.toml",
            ".yarn/{releases,plugins}/**",
        ),
    ),
    Row(
        "cargo reads from it how to build and run tests",
        (".cargo/config", ".cargo/config.toml", ".config/nextest.toml"),
    ),
    Row(
        "Maven or Gradle reads it before a build",
        (
            ".mvn/**",
            "gradle.properties",
            "gradle/wrapper/**",
            "init.gradle",
            "mvnw",
            "gradlew",
            "junit-platform.properties",
            "testng.xml",
        ),
    ),
    Row(
        "a Ruby test runner reads it",
        (".rspec", ".rspec-local", "{spec,rails,test}_helper.rb", ".simplecov", "cucumber.yml"),
    ),
    Row(
        "a PHP test runner reads it",
        ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml", "behat.y{a,}ml", "codeception.y{a,}ml", "Pest.php"),
    ),
    Row("CTest reads it", ("CTest*.cmake", "CMakePresets.json", "CMakeUserPresets.json")),
    Row("Bazel reads its options from it", (".bazelrc",)),
    Row("the .NET test runner reads it", ("*.runsettings", "xunit.runner.json", "Directory.Build.{props,targets}")),
    Row("ruff reads its options from it", ("ruff.toml", ".ruff.toml"), ("ruff",)),
    Row("mypy reads its options from it", ("mypy.ini", ".mypy.ini"), ("mypy", "dmypy")),
    Row("pyright reads its options from it", ("pyrightconfig.json",), ("pyright", "basedpyright")),
    Row(
        "the linter reads its options from it",
        (".flake8", ".pylintrc", "pylintrc", ".bandit"),
        ("flake8", "pylint", "bandit"),
    ),
    Row("ESLint reads its rules from it", ("eslint.config.*", ".eslintrc*", ".eslintignore"), ("eslint", "next")),
    Row("Prettier reads its options from it", (".prettierrc*", "prettier.config.*", ".prettierignore"), ("prettier",)),
    Row("Biome reads its rules from it", ("biome.json", "biome.jsonc"), ("biome",)),
    Row(
        "the type checker reads its options from it",
        ("tsconfig.json", "tsconfig.*.json"),
        ("tsc", "vue-tsc", "svelte-check"),
    ),
    Row("golangci-lint reads its rules from it", (".golangci.*",), ("golangci-lint",)),
    Row(
        "cargo reads its rules from it",
        ("clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml"),
        ("clippy", "fmt", "rustfmt"),
    ),
    Row("the linter reads its rules from it", (".rubocop.yml", ".shellcheckrc"), ("rubocop", "shellcheck")),
    Row(
        "the analyser reads its rules from it",
        ("phpstan.neon*", "psalm.xml*", ".php-cs-fixer*"),
        ("phpstan", "psalm", "php-cs-fixer"),
    ),
    Row("pre-commit runs what it names", (".pre-commit-config.y{a,}ml",), ("pre-commit", "prek")),
    Row("tasks are defined in it", ("Taskfile*.y{a,}ml",), ("task", "go-task")),
    Row("tasks are defined in it", ("tasks.py", "tasks/__init__.py"), ("invoke", "inv")),
    Row(
        "tasks are defined in it",
        ("mise.toml", ".mise.toml", "mise.*.toml", ".config/mise.toml", ".config/mise/**", "{.,}mise/config.toml"),
        ("mise",),
    ),
    Row("tasks are defined in it", ("Rakefile", "rakefile", "Rakefile.rb", "*.rake"), ("rake",)),
    Row(
        "tasks are defined in it",
        ("gulpfile.*", "Gruntfile.*", "dodo.py", "fabfile.py"),
        ("gulp", "grunt", "doit", "fab"),
    ),
    Row("tasks are defined in it", ("turbo.json", "nx.json", "lerna.json", "project.json"), ("turbo", "nx", "lerna")),
    Row(
        "the containers of the check are defined in it",
        ("docker-compose*.y{a,}ml", "compose*.y{a,}ml"),
        ("docker-compose",),
    ),
)

TOOL_FILES: tuple[Row, ...] = (
    Row("tasks are defined in it", ("hatch.toml",), ("hatch",)),
    Row("tasks are defined in it", ("Makefile.toml",), ("make", "makers")),
    Row("tasks are defined in it", ("{J,j}akefile{,.js,.ts}",), ("jake",)),
    Row("tasks are defined in it", ("package-scripts.{js,cjs,mjs,yml,yaml}",), ("nps",)),
    Row("tasks are defined in it", ("lage.config.*",), ("lage",)),
    Row("tasks are defined in it", ("common/config/rush/command-line.json",), ("rush", "rushx")),
    Row("tasks are defined in it", ("moon.yml", ".moon/**"), ("moon",)),
    Row("tasks are defined in it", ("maskfile.md",), ("mask",)),
    Row("tasks are defined in it", ("tusk.y{a,}ml",), ("tusk",)),
    Row("cucumber-js reads its options from it", ("cucumber.{js,cjs,mjs,json}",), ("cucumber-js",)),
    Row(
        "a JavaScript test runner reads its options from it",
        ("codecept.conf.*", ".testcaferc.*", "nightwatch.{json,js,cjs,ts}", ".labrc.*"),
        ("codeceptjs", "testcafe", "nightwatch", "lab"),
    ),
    Row("Sphinx runs the examples as it says", ("conf.py",), ("sphinx-doctest",)),
    Row("tasks are defined in it", ("pixi.toml",), ("pixi",)),
    Row("tasks are defined in it", ("Pipfile",), ("pipenv",)),
    Row("tasks are defined in it", ("build.xml",), ("ant",)),
    Row("tasks are defined in it", ("dodo.py",), ("doit",)),
    Row("tasks are defined in it", ("Procfile*",), ("foreman", "honcho", "overmind", "hivemind", "goreman")),
    Row("tasks are defined in it", ("magefile.go", "magefiles/**"), ("mage",)),
    Row("tasks are defined in it", ("SConstruct", "SConscript", "wscript"), ("scons", "waf")),
    Row("tasks are defined in it", ("build.ninja",), ("ninja",)),
    Row("tasks are defined in it", ("lefthook.y{a,}ml", ".lefthook.y{a,}ml"), ("lefthook",)),
    Row("Bazel reads its options from it", (".bazelversion", "WORKSPACE", "WORKSPACE.bazel"), ("bazel", "bazelisk")),
    Row("Zig builds and runs tests as it says", ("build.zig",), ("zig",)),
    Row(
        "Nix builds and checks as it says", ("flake.nix", "default.nix", "shell.nix"), ("nix", "nix-build", "nix-shell")
    ),
    Row(
        "the containers of the check are defined in it",
        (
            "Dockerfile*",
            "*.Dockerfile",
            "Containerfile*",
            "docker-compose*.y{a,}ml",
            "compose*.y{a,}ml",
            ".dockerignore",
        ),
        ("docker", "docker-compose", "podman", "podman-compose", "buildah", "earthly"),
    ),
    Row("Earthly runs what it says", ("Earthfile",), ("earthly",)),
    Row("prove reads its options from it", (".proverc",), ("prove",)),
    Row("ShellSpec reads its options from it", (".shellspec*",), ("shellspec",)),
    Row("busted reads its options from it", (".busted",), ("busted",)),
    Row("jasmine reads its options from it", ("jasmine.{mjs,js,cjs}",), ("jasmine",)),
    Row("deno maps imports as it says", ("import_map.json",), ("deno",)),
    Row("the runner takes variables from it", (".env.test", ".env.test.local"), ()),
    Row(
        "the program that runs the tests takes variables from it",
        (".env", ".env.local", ".envrc"),
        ("pipenv", "just", "task", "go-task", "nx", "bun", "direnv", "foreman"),
    ),
    Row("Bundler reads from it which gems to load", (".bundle/config",), ("bundle", "rake", "rspec", "rails", "ruby")),
    Row("Gradle builds and applies it before everything else", ("buildSrc/**",), ("gradle", "gradlew")),
    Row(
        "make is generated from it",
        ("Makefile.am", "Makefile.in", "configure", "configure.ac", "configure.in"),
        ("make", "gmake", "configure", "autoreconf"),
    ),
    Row("GitHub Actions run what it says", (".actrc",), ("act",)),
    Row("Django starts its tests with it", ("manage.py",), ("manage.py",)),
    Row("setuptools runs the tests as it says", ("setup.py",), ("setup.py",)),
)
"""Files that a tool reads by itself, at whatever place it runs. They count only if a check runs the tool."""

TESTS_OF_TOOLS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(words("unittest nose nose2 green manage.py django-admin"), ("test*.py", "tests*.py")),
    "jasmine": (f"*[sS]pec.{_JS}",),
    "busted": ("*_spec.lua",),
    "shellspec": ("*_spec.sh",),
    "terraform": ("*.tftest.{hcl,json}",),
    "tofu": ("*.tftest.{hcl,json}", "*.tofutest.hcl"),
    "hurl": ("*.hurl",),
    "behat": ("*.feature",),
}
"""Names of tests that only some runners know."""

CI: Row = Row(
    "CI runs what it says",
    (
        ".github/{workflows,actions}/**",
        ".gitlab-ci.y{a,}ml",
        ".gitlab/ci/**",
        ".circleci/**",
        ".azure-pipelines/**",
        "azure-pipelines.y{a,}ml",
        "bitbucket-pipelines.yml",
        ".buildkite/**",
        ".travis.yml",
        ".drone.yml",
        ".cirrus.yml",
        ".woodpecker.y{a,}ml",
        ".woodpecker/**",
        "appveyor.yml",
        "Jenkinsfile",
        ".ci/**",
    ),
)

ABOVE: tuple[str, ...] = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
    "setup.py",
    ".coveragerc",
    "mypy.ini",
    ".mypy.ini",
    "ruff.toml",
    ".ruff.toml",
    ".pylintrc",
    ".flake8",
    "package.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "pnpm-workspace.yaml",
    "babel.config.js",
    "babel.config.json",
    ".babelrc",
    "jest.config.js",
    "jest.config.ts",
    ".mocharc.json",
    ".mocharc.js",
    ".mocharc.cjs",
    ".mocharc.yml",
    ".eslintrc.json",
    ".eslintrc.js",
    "eslint.config.js",
    "tsconfig.json",
    "bunfig.toml",
    "deno.json",
    "go.mod",
    "go.work",
    "Cargo.toml",
    ".cargo/config.toml",
    ".cargo/config",
    "rust-toolchain.toml",
    "rust-toolchain",
    "clippy.toml",
    "rustfmt.toml",
    "pom.xml",
    ".mvn/maven.config",
    ".mvn/jvm.config",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    ".rspec",
    "Rakefile",
    "Gemfile",
    "phpunit.xml",
    "phpunit.xml.dist",
    "composer.json",
    "justfile",
    ".justfile",
    "Justfile",
    "Taskfile.yml",
    ".env",
    ".envrc",
    ".editorconfig",
    "node_modules",
)
"""Names that runners also look for in the folders above the workspace, outside of every snapshot: a room hides or compares them."""

CACHES = (
    "__pycache__/**",
    "*.py[co]",
    ".pytest_cache/**",
    ".mypy_cache/**",
    ".ruff_cache/**",
    ".hypothesis/**",
    ".coverage",
    ".coverage.*",
    ".eslintcache",
    "*.tsbuildinfo",
    ".nyc_output/**",
    "node_modules/.cache/**",
    "node_modules/.vite/**",
    "node_modules/.vitest/**",
    ".phpunit.cache/**",
    ".phpunit.result.cache",
)
"""What runners keep between runs and believe in the next one. No room has it, unless it was there at the start."""

INSTALLED: dict[str, tuple[str, ...]] = {
    "node_modules": (
        "package.json",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "bun.lock",
        "bun.lockb",
    ),
    ".venv": (
        "pyproject.toml",
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Pipfile.lock",
        "setup.py",
        "setup.cfg",
        "requirements*.txt",
    ),
    "venv": (
        "pyproject.toml",
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Pipfile.lock",
        "setup.py",
        "setup.cfg",
        "requirements*.txt",
    ),
    "site-packages": ("pyproject.toml", "uv.lock", "poetry.lock", "requirements*.txt"),
    "vendor": (
        "go.mod",
        "go.sum",
        "composer.json",
        "composer.lock",
        "Gemfile",
        "Gemfile.lock",
        "Cargo.toml",
        "Cargo.lock",
    ),
    "bower_components": ("bower.json",),
}
"""Folders of installed packages, and the files that say what belongs into them."""

BUILD_FOLDERS = words("build dist .tox .nox .eggs .gradle .next .nuxt htmlcov .git")
"""Folders of build results in which no runner looks for tests: what is new there is no test."""

RUNNERS: dict[str, Language] = {
    **dict.fromkeys(
        words("pytest py.test unittest nose nose2 nosetests tox nox trial behave robot ward stestr"), Language.PYTHON
    ),
    **dict.fromkeys(
        words("jest vitest mocha ava karma jasmine playwright cypress tap tape wdio node-test deno bun"),
        Language.JAVASCRIPT,
    ),
    **dict.fromkeys(words("go gotestsum ginkgo"), Language.GO),
    **dict.fromkeys(words("cargo cargo-nextest nextest"), Language.RUST),
    **dict.fromkeys(words("mvn mvnw gradle gradlew sbt ant mill"), Language.JAVA),
    **dict.fromkeys(words("rspec rake minitest cucumber rails"), Language.RUBY),
    **dict.fromkeys(words("phpunit pest behat codecept phpspec"), Language.PHP),
    **dict.fromkeys(words("ctest meson"), Language.C),
    **dict.fromkeys(words("dotnet"), Language.DOTNET),
    **dict.fromkeys(words("bats shunit2 shellspec prove"), Language.SHELL),
}
"""Programs that run tests, and the language of the tests."""

CHECKERS = frozenset(RUNNERS) | words(
    "ruff mypy pyright flake8 pylint black isort bandit eslint prettier biome tsc vue-tsc golangci-lint staticcheck clippy "
    "shellcheck rubocop phpstan psalm pre-commit make gmake npm pnpm yarn npx just task diff cmp"
)
"""Programs that judge: a script that runs one of them is a judge file."""
