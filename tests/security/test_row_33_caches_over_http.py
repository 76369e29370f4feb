"""The same question, by two keys and again after the documents or the labels changed: each gets his own answer."""

from __future__ import annotations

from pincite.serve.keys import Keys

QUESTION = "When was the Alder weir built?"


def test_row_33_nothing_passes_from_one_key_to_another(serve, library):
    library.add_text("note:hr", "The Alder weir was built in 1911 by the engineer Ines Holm.")
    library.add_text("note:lab", "The Alder weir was built in 1875 by the engineer Ines Holm.")
    library.label("note:hr", ["hr"])
    library.label("note:lab", ["lab"])
    keys = Keys(library.path)
    tokens = {grant: keys.add(grant, "reader", [grant]) for grant in ("hr", "lab")}
    client = serve(keys=Keys(library.path))

    def asked(grant: str, question: str = QUESTION) -> str:
        headers = {"authorization": f"Bearer {tokens[grant]}"}
        answer = client.post("/v1/ask", json={"question": question, "extract": True}, headers=headers)
        assert answer.headers["cache-control"] == "no-store"
        return answer.json()["text"] + "".join(citation["quote"] for citation in answer.json()["citations"])

    for _ in range(3):
        for question in (QUESTION, QUESTION + " ", QUESTION.lower()):
            assert "1911" in asked("hr", question) and "1875" not in asked("hr", question)
            assert "1875" in asked("lab", question) and "1911" not in asked("lab", question)
    library.label("note:hr", ["lab"])  # the labels change
    assert "1911" not in asked("hr") and "1911" in asked("lab")
    library.add_text("note:lab", "The Alder weir was built in 1642 by the engineer Ines Holm.")  # and the documents
    assert "1642" in asked("lab") and "1875" not in asked("lab")
