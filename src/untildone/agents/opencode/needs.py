"""What opencode needs in a box."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._needs import files, folders, hosts_of
from untildone.agents._setups import own_folder
from untildone.agents.opencode.flavors import Flavor
from untildone.core.plugins.agent import Needs

_HOSTS = (
    *("models.dev", "api.anthropic.com", "api.openai.com", "openrouter.ai", "api.githubcopilot.com"),
    *("generativelanguage.googleapis.com", "github.com", "api.github.com"),
)
_STEERING = ("agent", "command", "plugin", "skill", "tool", "mode")
_INSTALLED = ("bin", "node_modules", "packages", "skills")
_PROVIDERS = (
    "ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "GOOGLE_GENERATIVE_AI", "OPENROUTER", "GROQ", "MISTRAL", "DEEPSEEK", "XAI", "COHERE",
    "CEREBRAS", "TOGETHER", "TOGETHER_AI", "FIREWORKS", "DEEPINFRA", "PERPLEXITY", "AZURE", "AZURE_OPENAI", "AZURE_COGNITIVE_SERVICES",
    "MOONSHOT", "KIMI", "ZHIPU", "ZAI", "DASHSCOPE", "MINIMAX", "VENICE", "OLLAMA", "LMSTUDIO", "NVIDIA", "BASETEN", "INCEPTION", "CHUTES",
    "SYNTHETIC", "NEBIUS", "SILICONFLOW", "MODELSCOPE", "REQUESTY", "HELICONE", "POE", "V0", "UPSTAGE", "AI_GATEWAY", "AIHUBMIX",
    "FRIENDLI", "INFERENCE", "MORPH", "SUBMODEL", "ZENMUX", "IFLOW", "LLAMA",
)  # fmt: skip
"""Providers of models, as their keys begin. Keys of wider power, such as those of AWS and GitHub, are not among them."""
_KEYS = (
    *(f"{name}_API_KEY" for name in _PROVIDERS),
    *(
        "HF_TOKEN",
        "AZURE_RESOURCE_NAME",
        "AZURE_COGNITIVE_SERVICES_RESOURCE_NAME",
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "GOOGLE_VERTEX_*",
    ),
)


def needs(environment: Mapping[str, str], flavor: Flavor) -> Needs:
    content = flavor.variable("CONFIG_CONTENT")
    folder = f"{own_folder(environment, 'XDG_CONFIG_HOME', '.config')}/{flavor.name}"
    state = (("XDG_DATA_HOME", ".local/share"), ("XDG_STATE_HOME", ".local/state"), ("XDG_CACHE_HOME", ".cache"))
    data, _, cache = own = [f"{own_folder(environment, variable, name)}/{flavor.name}" for variable, name in state]
    return Needs(
        writable=(folder, *own),
        installed=(f"{data}/bin", *(f"{cache}/{name}" for name in _INSTALLED), f"{folder}/node_modules"),
        read_only=(
            *files(folder, *flavor.settings, content="{}\n"),
            *files(folder, "AGENTS.md", *flavor.migrated),
            *folders(folder, *_STEERING, *(f"{name}s" for name in _STEERING)),
        ),
        # It moves settings into these if they do not exist.
        kept_absent=(f"{folder}/tui.json", f"{folder}/tui.jsonc"),
        hosts=(*flavor.hosts, *_HOSTS, *hosts_of(environment.get(content, ""))),
        variables=(flavor.variable("*"), flavor.variable("API_KEY"), content, *_KEYS),
    )
