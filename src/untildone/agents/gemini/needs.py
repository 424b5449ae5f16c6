"""What Gemini CLI needs in a box."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._needs import GOOGLE_CLOUD, files, folders, hosts_in, in_home
from untildone.agents._setups import own_folder
from untildone.core.plugins.agent import Needs, OwnFile

_HOSTS = (
    *("generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"),
    *("accounts.google.com", "www.googleapis.com"),
)
_VARIABLES = (
    "GEMINI_*", "GOOGLE_GEMINI_*", "GOOGLE_GENAI_*", "GOOGLE_VERTEX_*", "CODE_ASSIST_*", "SANDBOX*", "SEATBELT_PROFILE", "CLI_TITLE",
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_ACCESS_TOKEN",
)  # fmt: skip
_ADDRESSES = ("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "CODE_ASSIST_ENDPOINT")
_TRUSTED = "GEMINI_CLI_TRUSTED_FOLDERS_PATH"
_VERTEX = "GOOGLE_GENAI_USE_VERTEXAI"


def needs(environment: Mapping[str, str]) -> Needs:
    home = own_folder(environment, "", ".gemini")
    vertex = bool(environment.get(_VERTEX))
    trusted = environment.get(_TRUSTED) or f"{home}/trustedFolders.json"
    return Needs(
        writable=(home,),
        # At a terminal it asks whether it may trust the folder, and ends if it cannot keep the answer.
        copied=(OwnFile(trusted, "{}\n", _TRUSTED),),
        read_only=(
            *files(
                home,
                "settings.json",
                "trustedFolders.json",
                "trusted_hooks.json",
                "policy_integrity.json",
                content="{}\n",
            ),
            *files(home, "GEMINI.md", ".env"),
            *folders(home, "acknowledgments", "agents", "commands", "extensions", "hooks", "policies", "skills"),
        ),
        installed=(f"{home}/tmp/bin", f"{home}/bin"),
        readable=in_home(environment, ".config/gcloud") if vertex else (),
        hosts=(*_HOSTS, *(("*.googleapis.com",) if vertex else ()), *hosts_in(environment, *_ADDRESSES)),
        variables=(*_VARIABLES, *GOOGLE_CLOUD),
    )
