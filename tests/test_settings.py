"""One table of settings: file, environment, call, in this order; anything unknown or malformed is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite.errors import SettingError
from pincite.settings import Settings, changed, load_settings, settings_table


@pytest.fixture(autouse=True)
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("PINCITE_CONFIG", str(path))
    return path


def test_defaults_without_a_file() -> None:
    assert load_settings(environ={}) == Settings()


def test_later_sources_win(config_file: Path) -> None:
    config_file.write_text("limit = 3\ncandidates = 50\nmode = 'vector'\n")
    settings = load_settings({"limit": 5, "mode": None}, environ={"PINCITE_CANDIDATES": "70", "PINCITE_OFFLINE": "1"})
    assert (settings.limit, settings.candidates, settings.mode, settings.offline) == (5, 70, "vector", True)


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        ({"PINCITE_LIMITS": "3"}, ""),
        ({"PINCITE_LIMIT": "three"}, ""),
        ({"PINCITE_LIMIT": "0"}, ""),
        ({"PINCITE_MODE": "fuzzy"}, ""),
        ({"PINCITE_OFFLINE": "maybe"}, ""),
        ({}, "limits = 3"),
        ({}, "limit = '3'"),
        ({}, "limit = true"),
        ({}, "limit ="),
    ],
)
def test_what_is_refused(environ: dict[str, str], file: str, config_file: Path) -> None:
    config_file.write_text(file)
    with pytest.raises(SettingError) as raised:
        load_settings(environ=environ)
    assert raised.value.fix
    assert raised.value.exit_code == 2


def test_changed_checks_too() -> None:
    assert changed(Settings(), limit=7, mode=None).limit == 7
    with pytest.raises(SettingError):
        changed(Settings(), limit=-1)


def test_every_row_has_a_unit_and_help() -> None:
    for row in settings_table():
        assert row["unit"], row
        assert row["help"].endswith("."), row
