"""What a box shows of the person's home folder. Pure: tables of names.

Secrets lie in entries whose name begins with a dot. So a box hides all of these but the ones listed here: settings of shells and git,
toolchains, and the caches of package managers. Other entries, such as other projects, can be read, but for `credentials`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

SHELLS = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout", ".bash_completion", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".zsh", ".oh-my-zsh", ".inputrc", ".dircolors", ".terminfo", ".hushlogin", ".vimrc", ".nanorc",
)  # fmt: skip
TOOLS = (
    ".gitconfig", ".gitignore", ".gitignore_global", ".gitattributes", ".gitmessage", ".git-templates", ".hgrc", ".editorconfig",
    ".tool-versions", ".asdfrc", ".node-version", ".nvmrc", ".python-version", ".ruby-version", ".npmrc", ".yarnrc", ".yarnrc.yml",
    ".gemrc", ".irbrc", ".pylintrc", ".flake8", ".mypy.ini", ".pip", ".pydistutils.cfg", ".condarc", ".Rprofile", ".curlrc", ".wgetrc",
    ".prettierrc", ".eslintrc", ".fonts", ".bazelrc", ".clang-format", ".rustfmt.toml",
)  # fmt: skip
TOOLCHAINS = (
    ".pyenv", ".virtualenvs", ".venv", ".venvs", ".conda", ".nvm", ".fnm", ".nodenv", ".volta", ".bun", ".deno", ".npm-global",
    ".npm-packages", ".node_modules", ".rustup", ".cargo", ".asdf", ".mise", ".proto", ".sdkman", ".jenv", ".jbang", ".jabba", ".rbenv",
    ".rvm", ".gem", ".bundle", ".goenv", ".gvm", ".g", ".dotnet", ".nuget", ".m2", ".gradle", ".mvn", ".ivy2", ".sbt", ".ghcup", ".cabal",
    ".stack", ".opam", ".elan", ".juliaup", ".julia", ".swiftly", ".swiftpm", ".composer", ".phpenv", ".pub-cache", ".dart", ".mix",
    ".hex", ".kiex", ".conan", ".conan2", ".vcpkg", ".ccache", ".emsdk", ".wasmtime", ".wasmer", ".yarn", ".pnpm-store", ".npm",
    ".nix-profile", ".nix-defexpr", ".guix-profile", ".linuxbrew", ".poetry", ".rye", ".pixi", ".zvm", ".zig", ".foundry", ".tfenv",
    ".cpan", ".plenv",
    ".perlbrew", ".luarocks", ".arkade",
)  # fmt: skip
CONFIG = (
    "git", "pip", "uv", "pnpm", "yarn", "go", "mise", "asdf", "fontconfig", "ruff", "black", "mypy", "flake8", "pycodestyle", "pylintrc",
    "matplotlib", "node", "locale.conf", "user-dirs.dirs", "user-dirs.locale", "nix", "rustfmt", "pypoetry/config.toml", "htop", "bat",
    "ccache", "sccache", "bazel", "direnv", "environment.d", "fish/config.fish", "fish/functions", "fish/conf.d", "tmux", "nvim",
)  # fmt: skip
"""In `.config`."""
DATA = (
    "uv", "pnpm", "mise", "rtx", "asdf", "pipx", "virtualenvs", "virtualenv", "fnm", "nvm", "hatch", "pdm", "gem", "coursier", "R", "fonts",
    "icons", "themes", "man", "bash-completion", "zsh", "jupyter", "cargo", "rustup", "go", "swiftly", "applications", "mime", "mimetypes",
    "pypoetry",
)  # fmt: skip
"""In `.local/share`."""
LOCAL = ("bin", "lib", "lib64", "include", "libexec", "opt", "pipx", "python", "go", "node", "man")
"""In `.local`."""

SHOWN = (
    *SHELLS, *TOOLS, *TOOLCHAINS, ".cache",
    *(f".config/{name}" for name in CONFIG), *(f".local/share/{name}" for name in DATA), *(f".local/{name}" for name in LOCAL),
)  # fmt: skip

SECRETS = (
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".composer/auth.json", ".m2/settings-security.xml", ".nuget/NuGet",
    ".cabal/my-cabal-config", ".hex/hex.config", ".pub-cache/credentials.json", ".conan/.conan.db", ".conan2/credentials.json",
    ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".cache/google-chrome", ".cache/chromium", ".cache/mozilla",
    ".cache/BraveSoftware", ".cache/microsoft-edge", ".cache/vivaldi", ".cache/opera", ".cache/thunderbird", ".cache/evolution",
    ".cache/keyring*", ".cache/ssh*", ".cache/gcloud", ".cache/aws", ".cache/tracker*", ".cache/untildone/key*", ".local/share/keyrings",
    "snap", ".sdkman/etc/credentials", ".cache/git/credential", ".rye/credentials", ".stack/upload/credentials.json", ".ivy2/.credentials",
    ".dotnet/corefx/cryptography", ".luarocks/upload_config.lua", ".julia/servers", ".foundry/keystores", ".wasmer/wasmer.toml",
)  # fmt: skip
"""Patterns of what is hidden inside of folders that are shown."""

CONTAINERS = (".config", ".local/share", ".local/state")
"""Folders in which every program keeps files of its own. In a box they are new ones, with the entries that are shown; what a program
writes there is thrown away."""
KEYS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".podman", ".config", ".local", ".password-store", ".pki", ".mozilla",
    ".thunderbird", ".vscode", ".vscode-server", ".cursor", ".terraform.d", ".oci", ".bluemix", ".minikube", ".databricks", ".snowflake",
)  # fmt: skip
"""Folders with keys, which a folder of programs inside of them does not make visible."""

SECRETS_NAMED_BY = (
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_CONFIG_DIR", "CLOUDSDK_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS", "OCI_CONFIG_FILE", "DATABRICKS_CONFIG_FILE", "SNOWFLAKE_HOME", "KUBECONFIG", "DOCKER_CONFIG",
    "REGISTRY_AUTH_FILE", "HELM_REGISTRY_CONFIG", "GH_CONFIG_DIR", "GLAB_CONFIG_DIR", "GNUPGHOME", "PASSWORD_STORE_DIR", "NETRC",
    "PGPASSFILE", "PGSERVICEFILE", "MYSQL_TEST_LOGIN_FILE", "TF_CLI_CONFIG_FILE", "VAULT_CONFIG_PATH", "ANSIBLE_VAULT_PASSWORD_FILE",
    "SOPS_AGE_KEY_FILE", "HF_TOKEN_PATH", "COMPOSER_AUTH_FILE",
)  # fmt: skip
"""Variables that name files or folders with keys. Where such a variable does not pass to the agent, what it names is hidden."""
PLACES_NAMED_BY = {
    "XDG_CACHE_HOME": ".cache", "XDG_DATA_HOME": ".local/share", "CARGO_HOME": ".cargo", "COMPOSER_HOME": ".composer",
    "GRADLE_USER_HOME": ".gradle", "CONAN_HOME": ".conan2", "HF_HOME": ".cache/huggingface", "PUB_CACHE": ".pub-cache",
    "SDKMAN_DIR": ".sdkman", "RYE_HOME": ".rye", "STACK_ROOT": ".stack", "FOUNDRY_DIR": ".foundry", "WASMER_DIR": ".wasmer",
}  # fmt: skip
"""Variables that name another place for a folder of the home folder."""

HOLD_TOOLS = (".config", ".local")
"""Those among them in which tools keep other things too."""

WITHOUT_AUTH = (
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pip/pip.conf", ".config/pip/pip.conf", ".config/uv/uv.toml", ".gitconfig", ".config/git/config",
    ".condarc", ".gemrc", ".bundle/config", ".m2/settings.xml", ".gradle/gradle.properties", ".cargo/config", ".cargo/config.toml",
    ".curlrc", ".wgetrc", ".hgrc", ".pydistutils.cfg", ".sbt/.credentials", ".cabal/config",
)  # fmt: skip
"""Settings that a box shows without the lines that hold a login."""

CACHES = (
    ".cache", ".npm", ".cargo/registry", ".cargo/git", "go/pkg", ".m2/repository", ".gradle/caches", ".gradle/wrapper",
    ".gradle/native", ".gradle/notifications", ".gradle/jdks", ".gradle/.tmp", ".yarn/berry", ".yarn/cache", ".pnpm-store",
    ".local/share/pnpm/store", ".bun/install/cache", ".nuget/packages", ".ivy2/cache", ".ivy2/local", ".sbt/boot", ".composer/cache",
    ".bundle/cache", ".pub-cache/hosted", ".pub-cache/git", ".cabal/packages", ".cabal/store", ".hex/packages", ".ccache", ".conan2/p",
    ".conan/data", ".julia/packages", ".julia/compiled", ".julia/artifacts", ".julia/registries", ".julia/logs", ".stack/pantry",
)  # fmt: skip
"""Caches of package managers and compilers: writable. One is created if the folder of its tool exists."""
ALWAYS = (".cache", ".npm")
"""Caches that are created in any case: no other folder shows that their tools are in use."""
RUN_AT_START = (
    ".cache/p10k-*", ".cache/gitstatus", ".cache/zsh*", ".cache/oh-my-zsh", ".cache/ohmyzsh", ".cache/antidote", ".cache/antibody",
    ".cache/sheldon", ".cache/zinit", ".cache/prezto", ".cache/starship", ".cache/oh-my-posh", ".cache/carapace", ".cache/fish",
    ".cache/wal", ".cache/nvim", ".cache/vim", ".cache/emacs",
)  # fmt: skip
"""Patterns of what shells and editors run at their start, in caches: read-only."""
OF_SERVICES = (".cache/bazel/*/*/server", ".m2/mvnd", ".local/share/jupyter/runtime")
"""Patterns of folders in which services of the person say how they are reached: a program in a box would have them build, or run code,
outside of it. In a box they are new ones; also that of Gradle, which is created because it lies in a folder that is read-only."""
GRADLE = ("GRADLE_USER_HOME", ".gradle", "daemon")
"""The variable that names the folder of Gradle, its usual name, and the folder of its services in there."""
LOCKS = (".cargo/.package-cache", ".cargo/.package-cache-mutate")
"""Files that a tool locks or writes beside its caches."""
CACHES_NAMED_BY = (
    "XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "npm_config_cache", "NPM_CONFIG_CACHE", "PIP_CACHE_DIR", "UV_CACHE_DIR", "YARN_CACHE_FOLDER",
    "DENO_DIR", "CCACHE_DIR", "SCCACHE_DIR", "NUGET_PACKAGES", "HF_HOME", "TORCH_HOME", "PLAYWRIGHT_BROWSERS_PATH", "PRE_COMMIT_HOME",
)  # fmt: skip
"""Variables that name such a cache."""
TOOLS_NAMED_BY = {
    "CARGO_HOME": ("registry", "git"),
    "GOPATH": ("pkg",),
    "GRADLE_USER_HOME": ("caches", "wrapper", "native", "notifications", "jdks", ".tmp"),
}
"""Variables that name the folder of a tool, and its caches in there."""
TOOLCHAINS_NAMED_BY = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYENV_ROOT", "NVM_DIR", "NODE_PATH", "VOLTA_HOME", "JAVA_HOME", "SDKMAN_DIR", "GOROOT",
    "RUSTUP_HOME", "CARGO_HOME", "GOPATH", "GEM_HOME", "GEM_PATH", "BUNDLE_PATH", "DOTNET_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "PNPM_HOME",
    "BUN_INSTALL", "DENO_INSTALL", "M2_HOME", "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "UV_PYTHON_INSTALL_DIR", "PYTHONPATH",
    "LD_LIBRARY_PATH", "FLUTTER_ROOT", "ANDROID_HOME", "ANDROID_SDK_ROOT", "GHCUP_INSTALL_BASE_PREFIX", "MISE_DATA_DIR",
)  # fmt: skip
"""Variables that name folders of toolchains."""

UNREACHABLE = frozenset({
    "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SESSION_MANAGER", "GPG_AGENT_INFO",
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "TMUX", "STY", "GNOME_KEYRING_CONTROL", "ICEAUTHORITY", "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE", "PULSE_SERVER", "KDE_FULL_SESSION", "I3SOCK", "SWAYSOCK", "GIO_LAUNCHED_DESKTOP_FILE", "GPG_TTY",
    "NOTIFY_SOCKET", "LISTEN_FDS",
})  # fmt: skip
"""Variables that lead to programs outside of the box."""


def moved(home: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The folders of the home folder for which variables name another place, by the path below it."""
    named = {usual: environment.get(variable, "") for variable, usual in PLACES_NAMED_BY.items()}
    return {
        usual: folder
        for usual, folder in named.items()
        if os.path.isabs(folder) and os.path.normpath(folder) != os.path.join(home, usual)
    }


_AUTH = re.compile(
    r"(?i)(_auth|auth_?token|authorization|password|passwd|secret|api_?key|access_?key|credential_?store|token)[\"'\w.-]*\s*[:=>]"
    r"|://[^/\s:@]*:[^/\s@]+@|://[^/\s:@]{16,}@|^\s*(user|proxy-user)\s*="
)


def without_auth(text: str) -> str:
    """The text without the lines that hold a login."""
    return "".join(line for line in text.splitlines(keepends=True) if not _AUTH.search(line))
