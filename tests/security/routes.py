"""The route table of the server, walked: a new route is attacked like the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx

from pincite.library import Library
from pincite.serve.http.app import create_app

JSON = {"content-type": "application/json"}
STREAMS = ("/mcp",)  # a GET there waits for events


def routes() -> list[tuple[str, str]]:
    """Every method and template of the server, those of the page and of other protocols too."""
    return sorted(set(routes_of(create_app(Library.__new__(Library)))))


def routes_of(app: Any) -> Iterator[tuple[str, str]]:
    """List all routes, those of included routers and those that are in no schema too."""
    pending = list(app.routes)
    while pending:
        route = pending.pop()
        pending += getattr(getattr(route, "original_router", None), "routes", [])
        for method in getattr(route, "methods", None) or ():
            if method not in ("HEAD", "OPTIONS"):
                yield method, route.path


def filled(template: str, value: str = "1") -> str:
    """Put a value, as it is, in the place of each parameter."""
    return re.sub(r"\{[^}]*\}", lambda _: value, template)


def send(client: httpx.Client, method: str, path: str, **given: Any) -> httpx.Response:
    """Send a request whose path is not tidied up on its way."""
    url = client.base_url.copy_with(raw_path=path.encode("ascii"))
    return client.send(client.build_request(method, url, **given))


def bodies() -> dict[tuple[str, str], Any]:
    """An example of the JSON that each route takes, as the OpenAPI document says."""
    document = create_app(Library.__new__(Library)).openapi()
    found = {}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            content = route.get("requestBody", {}).get("content", {}).get("application/json")
            if content:
                found[method.upper(), path] = example(content["schema"], document)
    return found


def example(schema: dict[str, Any], document: dict[str, Any]) -> Any:
    """Make the smallest value that has the form of a schema."""
    if "$ref" in schema:
        return example(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return example(schema[several][0], document)
    if "enum" in schema or "const" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    kind = schema.get("type")
    if kind == "object":
        wanted = schema.get("required", [])
        return {name: example(schema["properties"][name], document) for name in wanted}
    if kind == "array":
        return [example(schema.get("items", {}), document)] * max(1, schema.get("minItems", 1))
    return {"integer": 1, "number": 1.0, "boolean": False, "string": "weir"}.get(str(kind))
