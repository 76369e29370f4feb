import pytest

from pincite.errors import EndpointUnreachable, GenerationTimeout, ReplyMalformed, SchemaRefused
from pincite.generate.reply import Draft, draft, reply
from pincite.models.protocols import GenerationOptions
from pincite.types import Message
from tests.ground.fakes import Failing, Hanging, Scripted

ASK = (Message("user", "Why?"),)


def whole(generator, **options):
    pieces, stream = [], draft(generator, ASK, GenerationOptions(**options))
    try:
        while True:
            pieces.append(next(stream))
    except StopIteration as stop:
        return pieces, stop.value


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_pieces_come_as_written_and_the_draft_is_their_sum(seconds):
    generator = Scripted("one two")
    pieces, result = whole(generator, seconds=seconds)
    assert pieces == ["one ", "two "]
    assert result == Draft("one two ", "stop", 100, 2, 7)
    assert generator.calls[0][0] == ASK
    assert generator.closed == 1


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_a_stream_without_an_end_was_dropped(seconds):
    assert whole(Scripted("one", finish=None), seconds=seconds)[1].reason == "dropped"


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_errors_go_up(seconds):
    with pytest.raises(EndpointUnreachable):
        whole(Failing("some text"), seconds=seconds)


@pytest.mark.parametrize("seconds", [None, 30.0])
def test_closing_cancels_the_generator(seconds):
    generator = Scripted("one two three four")
    stream = draft(generator, ASK, GenerationOptions(seconds=seconds))
    assert next(stream) == "one "
    stream.close()
    assert generator.closed == 1


def test_a_generator_that_hangs_is_left_behind():
    generator = Hanging()
    try:
        with pytest.raises(GenerationTimeout) as caught:
            whole(generator, seconds=0.05)
        assert caught.value.fix
    finally:
        generator.release.set()


class Endpoint(Scripted):
    """Replies with each of its texts in turn; an error is raised."""

    def __init__(self, *replies, form="json"):
        super().__init__("")
        self.replies, self.reply_form = list(replies), form

    def stream(self, messages, options):
        self.text = self.replies.pop(0)
        if isinstance(self.text, Exception):
            self.calls.append((messages, options))
            raise self.text
        yield from super().stream(messages, options)


JSON = '{"sentences": [{"passages": [1], "text": "Because it rained."}]}'


def replied(generator, **options):
    options = GenerationOptions(**options)
    stream = reply(generator, lambda form: (Message("user", form),), options, [1, 2])
    pieces = []
    try:
        while True:
            pieces.append(next(stream))
    except StopIteration as stop:
        assert "".join(pieces) == stop.value.text
        return stop.value


def asked(generator):
    return [(messages[0].content, options.schema is not None) for messages, options in generator.calls]


def test_an_endpoint_is_asked_by_a_schema():
    generator = Endpoint(JSON)
    assert replied(generator).text == "Because it rained. [1] "
    assert asked(generator) == [("json", True)]
    assert generator.calls[0][1].max_tokens > GenerationOptions().max_tokens


@pytest.mark.parametrize("first", [SchemaRefused("no"), "Because it rained.", "<html>"])
def test_an_endpoint_that_keeps_to_no_schema_is_asked_for_lines_from_then_on(first):
    generator = Endpoint(first, "[2] So.", "[1] Again.")
    made = replied(generator, seconds=30.0)
    assert (made.text, made.form, made.reason) == ("So. [2] ", "lines", "stop")
    assert generator.calls[1][1].seconds < 30.0
    assert replied(generator).text == "Again. [1] "
    assert asked(generator) == [("json", True), ("lines", False), ("lines", False)]


def test_a_reply_that_has_no_form_at_all_is_a_typed_failure():
    with pytest.raises(ReplyMalformed):
        replied(Endpoint("Sure!", "Sure! The answer is rain."))


def test_a_reply_that_leaves_its_form_keeps_what_came_before():
    made = replied(Endpoint("[1] So.\nAnd that is that.\n", form="lines"))
    assert (made.text, made.reason) == ("So. [1] ", "malformed")
    made = replied(Endpoint(JSON.replace("]}", ", 7]}")))
    assert (made.text, made.reason) == ("Because it rained. [1] ", "malformed")


def test_a_generator_that_says_nothing_of_forms_writes_prose():
    generator = Scripted("Anything goes.")
    assert replied(generator).text == "Anything goes. "
    assert asked(generator) == [("prose", False)]


def test_a_failure_is_not_asked_again_in_another_form():
    generator = Endpoint(EndpointUnreachable("gone"), "[1] So.")
    with pytest.raises(EndpointUnreachable):
        replied(generator)
    assert len(generator.calls) == 1
