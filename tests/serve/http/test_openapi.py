"""The OpenAPI document is true: what it allows is served, what it forbids is refused, and nothing fails."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from pincite.library import Library
from pincite.serve.http.app import create_app
from tests.serve.http.conftest import opened, serving

EXAMPLES = 6  # of each operation and kind
CHECKED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    negative_data_rejection,
]


def described() -> dict:
    """Give the document without keys: the server under test needs none."""
    document = create_app(Library.__new__(Library)).openapi()
    for methods in document["paths"].values():
        for operation in methods.values():
            operation.pop("security", None)
    return document


SCHEMA = schemathesis.openapi.from_dict(described())
OPERATIONS = {operation.ok().label: operation.ok() for operation in SCHEMA.get_all_operations()}


@pytest.fixture(scope="module")
def url(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that many malformed requests may wear out."""
    folder = tmp_path_factory.mktemp("described")
    with opened(shutil.copytree(indexed, folder / "library")) as library, serving(library) as served:
        yield served.rstrip("/")


def kinds() -> Iterator[tuple[str, GenerationMode]]:
    """List what is tried: requests as described, and others where more than a word of the path can be wrong."""
    for label, operation in OPERATIONS.items():
        yield label, GenerationMode.POSITIVE
        if operation.body or operation.query:
            yield label, GenerationMode.NEGATIVE


@pytest.mark.parametrize(("label", "mode"), list(kinds()), ids=lambda part: getattr(part, "value", part))
def test_the_document_is_true(label: str, mode: GenerationMode, url: str) -> None:
    operation = OPERATIONS[label]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def holds(case: schemathesis.Case) -> None:
        response = case.call(base_url=url, timeout=20)
        case.validate_response(response, checks=CHECKED if response.status_code != 413 else CHECKED[:-1])
        if response.status_code >= 400 and case.method != "HEAD":
            assert set(response.json()["error"]) >= {"code", "message", "fix"}

    holds()
