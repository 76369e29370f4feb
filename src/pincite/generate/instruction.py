"""Sentences of a document that tell a language model what to do: they state nothing, so they support nothing.

Known wordings are found, not every one: what is not found is still only text, and shown with the place it came from.
Steps for people ("Press the button", "Reply by Friday") are no such sentences; a model has to be addressed, its task or
its answer named, or its words put into its mouth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPEAK = r"(?:say|respond|reply|answer|output|print|repeat|write)"
_ORDERED = r"(?:^|[,;:.!]\s*|\b(?:and|then|please|must|should|always|instead|only|just|simply)\s+)"  # before a verb
_MODEL = (
    r"(?:AI|LLM|GPT(?:-\d\w*)?|ChatGPT|Claude|assistant|chat ?bot|(?:large )?language model|AI (?:assistant|model))"
)
_TEXT = r"(?:answer|response|reply|output|summary)"
_PATTERNS = (
    # what was said before does not hold
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,3}"
    r"(?:instructions?|prompts?|directions?|guidelines|rules|commands|questions?|passages|user|everything)\b"
    r"(?=.*\b(?:previous|prior|above|earlier|preceding|your|system|original|user|question|everything|passages|and)\b)",
    r"\b(?:ignore|disregard|forget)\s+(?:\w+\s+){0,2}(?:previous|prior|above|preceding)\s+(?:\w+\s+){0,2}"
    r"(?:messages?|context|text|task|orders?|requests?)\b",
    # a new role
    r"\bfrom now on,? you (?:are|will|must|act|answer|respond|only)\b|\byou are now (?:an? |in |the )",
    rf"\b(?:act as|pretend to be|pretend you are) (?:an? )?(?:\w+ )?(?:{_MODEL}|system)\b|\bnew instructions?\s*:",
    # a model is spoken to
    rf"^\W*(?:dear|hey|hello|attention)?\W*{_MODEL}s?\s*[,!]",
    rf"^\W*(?:note|message|instructions?|attention)[:,]? (?:to|for)? ?(?:the |any |all )?{_MODEL}s?\b",
    rf"\bto you, (?:the )?{_MODEL}\b|\bif you are (?:an? )?{_MODEL}\b",
    # words are put into its mouth
    rf"{_ORDERED}{_SPEAK}(?: only| exactly| just| with| the following| as follows| that| back| verbatim| to the user)*"
    r"\s*[:\"“]|^(?:please )?(?:say|claim|state|pretend) that\b",
    r"\b(?:tell|inform|convince|advise|urge|remind|warn) the user\b",
    rf"{_ORDERED}(?:{_SPEAK}|include|mention|append|add|insert|end|begin|start|finish)\b.{{0,80}}"
    rf"\b(?:in|to|of|with) your {_TEXT}\b|^in your {_TEXT}\b",
    r"\b(?:when|if|whenever) (?:you are |you're )?(?:asked|answering|responding|summari[sz]ing)\b.{0,80}"
    rf"\b(?:{_SPEAK}|claim|state|always|must|never)\b",
    # its task and its secrets
    r"\b(?:before|instead of|after) (?:you (?:can )?)?(?:answer|solv|respond|do)\w*\b.{0,80}"
    r"\b(?:the|this|your|you can) .{0,20}\b(?:task|question|solve|answer)\b",
    r"\b(?:reveal|print|show|output|repeat|leak|disclose)\b.{0,30}\byour (?:\w+ )?(?:prompt|instructions?)\b",
    r"\b(?:do not|don't|never) (?:tell|reveal|mention|inform|disclose)\b.{0,40}"
    r"\b(?:the user|this instruction|these instructions)\b",
)
_INSTRUCTION = re.compile("|".join(_PATTERNS), re.IGNORECASE)
_LONGEST = 2000  # characters of a sentence that are looked at
# Each pattern needs one of these; looking for them first makes other sentences ten times as quick.
_NEEDED = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|now|act|pretend|instructions?|ai|llm|gpt|chatgpt|claude|assistants?"
    r"|chatbots?|bot|models?|say|respond|reply|answer|output|print|repeat|write|claim|state|user|response|summary|asked"
    r"|answering|responding|summari[sz]ing|task|question|solve|prompt)\b"
)


def is_instruction(sentence: str) -> bool:
    """Tell whether a sentence tells a language model what to do."""
    text = sentence[:_LONGEST].strip()
    return bool(_NEEDED.search(text.lower()) and _INSTRUCTION.search(text))


def instructions(sentences: Sequence[str]) -> list[bool]:
    """Tell which sentences of a passage are instructions to a model; what follows a colon of one belongs to it.

    Args:
        sentences: in the order of the passage.

    Returns:
        One for each.
    """
    found: list[bool] = []
    for index, sentence in enumerate(sentences):
        follows = index > 0 and found[-1] and sentences[index - 1].rstrip().endswith(":")
        found.append(follows or is_instruction(sentence))
    return found
