"""Readers as they are on a machine without Tesseract, unless a test asks for it."""

from __future__ import annotations

import shutil

import pytest

from pincite.acquire import recognise


@pytest.fixture(autouse=True)
def without_tesseract(monkeypatch):
    monkeypatch.setattr(recognise, "program", lambda: "")


@pytest.fixture
def tesseract(without_tesseract, monkeypatch):
    path = shutil.which("tesseract")
    if path is None:
        pytest.skip("Tesseract is not installed here")
    monkeypatch.setattr(recognise, "program", lambda: path)
