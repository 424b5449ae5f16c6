"""The variables that pass to every agent and check: what programs and toolchains need, and no key, token or password."""

from __future__ import annotations

# A name that ends in `*` stands for all that begin so. None of these passes if its name or value looks like a secret.
_SYSTEM = (
    "HOME", "USER", "LOGNAME", "USERNAME", "SHELL", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "HOST", "HOSTTYPE", "OSTYPE",
    "MACHTYPE", "UID", "EUID", "TZ", "TZDIR", "TMPDIR", "TMP", "TEMP", "TERM", "TERMINFO", "TERMINFO_DIRS", "TERM_*", "COLORTERM",
    "COLORFGBG", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR*", "LS_COLORS", "LSCOLORS", "GREP_COLORS", "LANG", "LANGUAGE",
    "LC_*", "LOCPATH", "LOCALE_*", "CHARSET", "MANPATH", "MANPAGER", "INFOPATH", "XDG_*", "EDITOR", "VISUAL", "PAGER", "LESS*", "BROWSER",
    "NO_PROXY", "no_proxy", "LD_*", "DYLD_*", "LIBRARY_PATH", "ENV", "BASH_ENV", "BASH_FUNC_*", "ZDOTDIR", "HISTFILE", "INPUTRC",
    "POSIXLY_CORRECT", "SYSTEMD_EXEC_PID", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_*", "DESKTOP_SESSION", "LIBGL_*", "MESA_*",
    "GDK_*", "GTK_*", "QT_*", "SDL_*", "VK_*", "WSL*", "DEBIAN_FRONTEND", "CONTAINER_HOST", "container", "DOCKER_*", "COMPOSE_*",
    "BUILDKIT_*", "BUILDX_*", "PODMAN_*", "TESTCONTAINERS_*", "__CF_USER_TEXT_ENCODING", "COMMAND_MODE", "DEVELOPER_DIR", "SDKROOT",
    "MACOSX_*", "SLURM_*", "MODULE*", "LOADEDMODULES", "LMOD_*", "FAKETIME*", "UNTILDONE_*", "RIPGREP_CONFIG_PATH", "NSS_*", "LSB_*",
    "MALLOC_*", "GLIBC_TUNABLES", "TREE_SITTER_*",
)  # fmt: skip
_CERTIFICATES = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CURL_HOME", "AWS_CA_BUNDLE",
    "HTTPLIB2_CA_CERTS", "GRPC_*", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_NO_VERIFY",
    "OPENSSL_*", "P11_KIT_*",
)  # fmt: skip
_GIT = (
    "GIT_AUTHOR_*", "GIT_COMMITTER_*", "EMAIL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
    "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_*", "GIT_TRACE*", "GIT_LFS_*", "GIT_PROTOCOL", "GIT_ALLOW_PROTOCOL", "GNUPGHOME", "GPG_TTY",
    "PRE_COMMIT_*", "HUSKY*", "HG*",
)  # fmt: skip
_PYTHON = (
    "PYTHON*", "VIRTUAL_ENV*", "WORKON_HOME", "PROJECT_HOME", "CONDA*", "_CONDA_*", "_CE_*", "MAMBA_*", "PIXI_*", "PYENV_*", "PIP_*",
    "PIPX_*", "PIPENV_*", "POETRY_*", "PDM_*", "HATCH_*", "UV_*", "RYE_*", "PYTEST_*", "TOX_*", "NOX*", "COVERAGE_*", "COV_*", "MYPY*",
    "RUFF_*", "BLACK_*", "HYPOTHESIS_*", "DJANGO_*", "FLASK_*", "FASTAPI_*", "UVICORN_*", "GUNICORN_*", "WEB_CONCURRENCY", "CELERY_*",
    "IPYTHON*", "JUPYTER*", "MPL*", "NUMBA_*", "NUMEXPR_*", "OMP_*", "OPENBLAS_*", "MKL_*", "BLIS_*", "CUDA_*", "CUDNN_*", "NCCL_*",
    "NVIDIA_*", "HIP_*", "ROCM_*", "ROCR_*", "TF_CPP_*", "TF_FORCE_*", "TF_ENABLE_*", "TF_XLA_*", "XLA_*", "JAX_*", "TORCH*", "PYTORCH_*",
    "HF_*", "TRANSFORMERS_*", "TOKENIZERS_PARALLELISM", "KERAS_*", "SPARK_*", "PYSPARK_*", "SETUPTOOLS_*", "DISTUTILS_*", "CIBW_*",
    "WHEEL_*", "SCIPY_*", "NPY_*",
)  # fmt: skip
_JAVASCRIPT = (
    "NODE_*", "NODENV_*", "NVM_*", "FNM_*", "VOLTA_*", "N_PREFIX", "NPM_*", "npm_*", "INIT_CWD", "YARN_*", "PNPM_*", "COREPACK_*", "BUN_*",
    "DENO_*", "JEST_*", "VITEST*", "VITE_*", "MOCHA_*", "KARMA_*", "CYPRESS_*", "PLAYWRIGHT_*", "PUPPETEER_*", "CHROME_*", "CHROMEDRIVER*",
    "FIREFOX_*", "SE_*", "ELECTRON_*", "TS_NODE_*", "TSX_*", "BABEL_*", "ESLINT_*", "WEBPACK_*", "BROWSERSLIST*", "NEXT_PUBLIC_*",
    "NEXT_TELEMETRY_DISABLED", "REACT_APP_*", "EXPO_PUBLIC_*", "NUXT_PUBLIC_*", "STORYBOOK_*", "TURBO_*", "NX_*", "ASTRO_*",
    "UV_THREADPOOL_SIZE",
)  # fmt: skip
_GO = (
    "GOPATH", "GOROOT", "GOBIN", "GOENV", "GOENV_*", "GOOS", "GOARCH", "GOARM*", "GOAMD64", "GO386", "GOMIPS*", "GOPPC64", "GOWASM",
    "GOCACHE", "GOMODCACHE", "GOTMPDIR", "GOFLAGS", "GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE", "GOVCS",
    "GOWORK", "GOTOOLCHAIN", "GOEXPERIMENT", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GORACE", "GOCOVERDIR",
    "GO111MODULE", "GOLANGCI_*", "GOTESTSUM_*", "GOTELEMETRY", "CGO_*",
)  # fmt: skip
_RUST = (
    "CARGO", "CARGO_*", "RUST*", "SCCACHE_*", "CCACHE_*", "NEXTEST*", "INSTA_*", "PROPTEST_*", "TRYBUILD", "MIRIFLAGS",
)  # fmt: skip
_JVM = (
    "JAVA*", "_JAVA_OPTIONS", "JDK*", "JRE_HOME", "JVM_*", "CLASSPATH", "MAVEN_*", "MVN_*", "M2", "M2_HOME", "GRADLE_*", "KOTLIN_*",
    "SCALA_*", "SBT_*", "COURSIER_*", "ANT_*", "CLJ_*", "LEIN_*", "SDKMAN_*", "JENV_*", "SPRING_*", "QUARKUS_*", "MICRONAUT_*",
    "ANDROID_*", "GROOVY_*",
)  # fmt: skip
_RUBY_AND_PHP = (
    # Not all of Bundler's: `BUNDLE_HOST__COM` is a login.
    "RUBY*", "GEM_*", "RBENV_*", "CHRUBY_*", "rvm_*", "BUNDLE_APP_CONFIG", "BUNDLE_BIN*", "BUNDLE_BUILD__*", "BUNDLE_CACHE*",
    "BUNDLE_DEPLOYMENT", "BUNDLE_FROZEN", "BUNDLE_GEMFILE", "BUNDLE_JOBS", "BUNDLE_PATH*", "BUNDLE_RETRY", "BUNDLE_SILENCE_ROOT_WARNING",
    "BUNDLE_USER_*", "BUNDLE_WITH", "BUNDLE_WITHOUT", "BUNDLER_*", "RAILS_*", "RACK_*", "RAKEOPT", "RSPEC_*", "SPEC_OPTS", "MINITEST_*",
    "TESTOPTS", "BOOTSNAP_*", "DISABLE_SPRING", "PHP*", "COMPOSER_*", "SYMFONY_*", "LARAVEL_*", "XDEBUG_*",
)  # fmt: skip
_NATIVE = (
    "CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "RANLIB", "STRIP", "OBJCOPY", "OBJDUMP", "FC", "F77", "F90", "CFLAGS", "CXXFLAGS",
    "CPPFLAGS", "LDFLAGS", "LDLIBS", "LIBS", "FFLAGS", "FCFLAGS", "ARFLAGS", "CC_*", "CXX_*", "AR_*", "CPATH", "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "PKG_CONFIG*", "ACLOCAL*", "AUTOMAKE", "AUTOCONF", "LIBTOOL*", "CMAKE_*", "CTEST_*",
    "MESON*", "NINJA*", "MAKE*", "MFLAGS", "GNUMAKEFLAGS", "BAZEL*", "BUCK_*", "SCONS*", "CONAN_*", "VCPKG_*", "ASAN_*", "UBSAN_*",
    "LSAN_*", "TSAN_*", "MSAN_*", "GCOV_*", "LLVM_*", "CLANG_*", "GCC_*", "GTEST_*", "VALGRIND_*", "RR_*", "GDB*", "STRACE_*", "ARCH",
    "CROSS_COMPILE", "SOURCE_DATE_EPOCH", "DESTDIR", "PREFIX", "EM_*", "EMSDK*", "QEMU_*", "ZIG_*", "SWIFT*", "XCODE_*", "PERL*",
    "PROVE_*", "HARNESS_*", "TAP_*", "LUA*", "R_*", "RENV_*", "JULIA_*", "OCAML*", "CAML*", "OPAM*", "DUNE_*", "GHC*", "CABAL_*",
    "STACK_*", "MIX_*", "HEX_*", "ERL_*", "ELIXIR_*", "REBAR_*", "KERL_*", "DOTNET_*", "NUGET_*", "MSBUILD*", "ASPNETCORE_*", "FLUTTER_*",
    "DART_*", "PUB_*", "NIM_*", "CRYSTAL_*", "NIX_*", "IN_NIX_SHELL", "HOST_PATH", "GUIX_*", "ASDF_*", "MISE_*", "RTX_*", "PROTO_*",
    "HOMEBREW_*", "SHELLCHECK_*", "BATS_*", "TEX*", "BIBINPUTS", "TEXINPUTS",
)  # fmt: skip
_CONVENTIONS = (
    "CI", "CI_*", "CONTINUOUS_INTEGRATION", "GITHUB_*", "RUNNER_*", "GITLAB_*", "BUILD_*", "BUILDKITE*", "CIRCLE*", "TRAVIS*", "JENKINS_*",
    "TEAMCITY_VERSION", "TF_BUILD", "APPVEYOR*", "DRONE*", "SEMAPHORE*", "BITBUCKET_*", "CODEBUILD_*", "NETLIFY", "VERCEL", "APP_ENV",
    "APP_DEBUG", "ENVIRONMENT", "STAGE", "DEBUG", "VERBOSE", "QUIET", "V", "LOG_LEVEL", "LOGLEVEL", "PORT", "TEST_*", "TESTS_*",
    "DO_NOT_TRACK", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_PAGER", "AWS_SDK_LOAD_CONFIG", "AWS_EC2_METADATA_DISABLED",
)  # fmt: skip
TABLE = (
    *_SYSTEM,
    *_CERTIFICATES,
    *_GIT,
    *_PYTHON,
    *_JAVASCRIPT,
    *_GO,
    *_RUST,
    *_JVM,
    *_RUBY_AND_PHP,
    *_NATIVE,
    *_CONVENTIONS,
)
"""What passes to every agent and check: no name of it is that of a secret, so it never lets one pass."""
