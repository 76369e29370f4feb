"""Every setting in one table: name, default, unit, help. TOML and environment; an unknown key is an error."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from pincite.errors import SettingError


def _setting(default: Any, unit: str, help: str) -> Any:
    """Describe one row of the table."""
    return field(default=default, metadata={"unit": unit, "help": help})


@dataclass(frozen=True, slots=True)
class Settings:
    """The table. Each row is also ``PINCITE_NAME`` in the environment and ``name`` in the configuration file."""

    library: str = _setting("", "path", "The library; empty: a per-user data directory.")
    models: str = _setting("", "path", "Where models are kept; empty: a per-user cache directory.")
    offline: bool = _setting(False, "true/false", "Never touch the network.")
    encoder: str = _setting("all-MiniLM-L6-v2", "name", "The embedding model.")
    generator: str = _setting(
        "smollm2-135m-instruct", "name", "The instruction model; 'none' answers with quotes only."
    )
    reranker: str = _setting("", "name or URL", "The model that looks again at the best passages; empty: none.")
    verifier: str = _setting("", "name", "A model that judges each claim beside the rules; empty: none.")
    rerank_seconds: float = _setting(2.0, "seconds", "Deadline of the reranker; then the order stays as it was.")
    readers: str = _setting("", "type=name ...", "Readers that are not our own, such as pdf=docling; empty: none.")
    base_url: str = _setting("", "URL", "The OpenAI-compatible endpoint of 'openai:MODEL' generators and encoders.")
    adapter: str = _setting("", "path", "A LoRA adapter for the local generator.")
    mode: str = _setting("hybrid", "hybrid/vector/keyword", "How to search.")
    limit: int = _setting(10, "passages", "How many passages a search shows.")
    candidates: int = _setting(100, "passages", "How many passages each retriever proposes.")
    passage_pieces: int = _setting(
        128, "word pieces", "Upper limit of a passage with its context, as the encoder counts."
    )
    evidence_tokens: int = _setting(400, "tokens", "How much evidence may travel to the generator.")
    answer_tokens: int = _setting(120, "tokens", "Upper limit of a generated answer.")
    policy: str = _setting(
        "flag", "flag/drop/strict", "Claims that are not supported: marked, left out, or none of the draft is used."
    )
    answer_seconds: float = _setting(60.0, "seconds", "Deadline of a generated answer; then quotes are given.")
    strictness: float = _setting(
        0.5, "0 to 1", "How sure the documents must be to answer: 0 answers whatever was found, 1 nothing."
    )
    temperature: float = _setting(0.0, "0 to 2", "How freely the model writes; 0: the likeliest text, always the same.")
    seed: int = _setting(0, "number", "Where chance starts when the temperature is not 0.")
    threads: int = _setting(0, "threads", "For the models; 0: as many as the machine has cores.")


def settings_table() -> list[dict[str, Any]]:
    """Describe every setting: name, default, unit, help, type; in the order of the table."""
    hints = _types()
    return [
        {"name": row.name, "default": row.default, "type": hints[row.name].__name__, **row.metadata}
        for row in fields(Settings)
    ]


def config_path() -> Path:
    """Give the configuration file's place: ``PINCITE_CONFIG`` or the per-user one. It need not exist."""
    named = os.environ.get("PINCITE_CONFIG")
    if named:
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("pincite") / "config.toml"


def load_settings(overrides: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Build the settings: defaults, then the file, then the environment, then overrides that are not None.

    Args:
        overrides: values by the name of their setting; None sets nothing.
        environ: the variables; None takes those of the process.

    Returns:
        The settings, checked.

    Raises:
        SettingError: an unknown key, a value of the wrong type or range, or a file that is not TOML.
    """
    environ = os.environ if environ is None else environ
    settings = replace(Settings(), **_checked(_from_file(config_path()), str(config_path())))
    settings = replace(settings, **_checked(_from_environment(environ), "the environment"))
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    return replace(settings, **_checked(given, "the call"))


def changed(settings: Settings, **changes: Any) -> Settings:
    """Change some settings.

    Args:
        settings: as they are.
        **changes: by name; None leaves one as it is.

    Returns:
        New settings, checked.

    Raises:
        SettingError: as for ``load_settings``.
    """
    return replace(settings, **_checked({k: v for k, v in changes.items() if v is not None}, "the call"))


def without_secret(value: Any) -> Any:
    """Give a setting as it may be shown: an address without user, password and query, in which a key may stand."""
    if not isinstance(value, str) or "://" not in value:
        return value
    address, mark, model = value.partition("#")
    scheme, _, rest = address.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}{mark}{model}"


def library_path(settings: Settings) -> Path:
    """Give the place of the library that the settings name; it need not exist."""
    if settings.library:
        return Path(settings.library).expanduser()
    from platformdirs import user_data_path

    return user_data_path("pincite") / "library.pincite"


def models_dir(settings: Settings) -> Path:
    """Give the folder where models are kept; it need not exist."""
    if settings.models:
        return Path(settings.models).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("pincite") / "models"


def _from_file(path: Path) -> dict[str, Any]:
    """Read the TOML file, {} when there is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path} cannot be read as TOML: {error}", fix="Mend or remove that file.") from error


_OTHER_VARIABLES = {"PINCITE_CONFIG", "PINCITE_FAULT", "PINCITE_DEV", "PINCITE_PASSWORD"}  # not settings


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Collect ``PINCITE_*`` variables, parsed by the type of their setting."""
    found = {}
    for variable, value in environ.items():
        if variable.startswith("PINCITE_") and variable not in _OTHER_VARIABLES:
            found[variable.removeprefix("PINCITE_").lower()] = _parsed(variable.removeprefix("PINCITE_").lower(), value)
    return found


def _parsed(name: str, value: str) -> Any:
    """Turn a string into the setting's type where it can be; what cannot is refused by the check."""
    wanted = _types().get(name)
    if wanted is bool:
        return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}.get(
            value.lower(), value
        )
    if wanted in (int, float):
        try:
            return wanted(value)
        except ValueError:
            return value
    return value


@cache
def _types() -> dict[str, Any]:
    """Give the type of each setting; to work them out takes 0.3 ms, and every search checks its options."""
    return get_type_hints(Settings)


_RANGES = {
    "limit": (1, 10_000),
    "candidates": (1, 100_000),
    "passage_pieces": (32, 8192),
    "evidence_tokens": (32, 1_000_000),
    "answer_tokens": (1, 100_000),
    "answer_seconds": (0.1, 86_400.0),
    "rerank_seconds": (0.01, 3600.0),
    "threads": (0, 1024),
    "strictness": (0.0, 1.0),
    "temperature": (0.0, 2.0),
    "seed": (0, 2**31 - 1),
}


_CHOICES = {"mode": ("hybrid", "vector", "keyword"), "policy": ("flag", "drop", "strict")}


def _checked(values: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Refuse unknown names, wrong types and values out of range."""
    hints = _types()
    for name, value in values.items():
        if name not in hints:
            raise SettingError(
                f"{origin} sets {name!r}, which is no setting.", fix=f"Settings are: {', '.join(hints)}."
            )
        wanted = hints[name]
        fits = isinstance(value, wanted) or (wanted is float and type(value) is int)
        if not fits or (wanted is not bool and isinstance(value, bool)):
            raise SettingError(
                f"{origin} sets {name} to {value!r}, which is not a {wanted.__name__}.", fix="Change it."
            )
        if name in _RANGES and not _RANGES[name][0] <= value <= _RANGES[name][1]:
            low, high = _RANGES[name]
            raise SettingError(f"{origin} sets {name} to {value}.", fix=f"It must be from {low} to {high}.")
        if name in _CHOICES and value not in _CHOICES[name]:
            raise SettingError(
                f"{origin} sets {name} to {value!r}.", fix=f"It must be one of: {', '.join(_CHOICES[name])}."
            )
    return dict(values)
