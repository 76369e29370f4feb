"""What is not granted does not exist: 10,000 random cases are in tests/test_access.py and tests/serve/test_no_leaks.py.

Here: the two answers, for what is hidden and for what never was, are the same bytes on every route with an id.
"""

from __future__ import annotations

import statistics
import time

from pincite.serve.keys import Keys
from tests.security.routes import bodies, filled, routes, send


def test_row_21_hidden_and_absent_are_the_same_answer_on_every_route_with_an_id(serve, library, docs):
    (docs / "open.md").write_text("The weir is good.")
    (docs / "hidden.md").write_text("The salary of Mallory is zorblax.")
    library.add(docs)
    library.label(docs / "hidden.md", ["hr"])
    hidden = library.record(docs / "hidden.md").document_id
    passage = library.store.passages_of((docs / "hidden.md").as_uri())[0].id
    keys = Keys(library.path)
    token = keys.add("anna", "editor", ["lab"])
    client, taken = serve(keys=Keys(library.path)), bodies()
    headers = {"authorization": f"Bearer {token}"}
    pairs = (
        (hidden, "0123456789ab"),
        (passage.replace("/", "%2f"), passage.replace(hidden, "0123456789ab").replace("/", "%2f")),
    )
    count = 0
    for method, path in routes():
        for real, absent in pairs:
            if "{" in path:
                body = taken.get((method, path)) if method != "GET" else None
                one, other = (
                    send(client, method, filled(path, value), json=body, headers=headers) for value in (real, absent)
                )
                assert one.status_code == other.status_code >= 400, (method, path)
                assert one.text.replace(real, "ID") == other.text.replace(absent, "ID"), (method, path)
                count += one.status_code == 404
    assert count > 10
    assert "zorblax" not in client.post(
        "/v1/search", json={"question": "salary zorblax"}, headers=headers
    ).text.replace('"salary zorblax"', "")


def test_row_21_the_time_tells_nothing_either(serve, library):
    """Of the same kind: medians within a factor of each other that other work on the machine makes too."""
    for number in range(50):
        library.add_text(f"note:{number}", f"The weir {number} is good. " * 50)
    library.label("note:1", ["hr"])
    hidden = library.record("note:1").document_id
    token = Keys(library.path).add("anna", "reader", [])
    client = serve(keys=Keys(library.path))
    taken: dict[str, list[float]] = {hidden: [], "0123456789ab": []}
    for _ in range(40):
        for value, seconds in taken.items():
            started = time.perf_counter()
            answer = client.get(f"/v1/documents/{value}/text", headers={"authorization": f"Bearer {token}"})
            seconds.append(time.perf_counter() - started)
            assert answer.status_code == 404
    one, other = (statistics.median(seconds) for seconds in taken.values())
    assert 1 / 3 < one / other < 3
