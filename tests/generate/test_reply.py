import pytest

from pincite.errors import EndpointUnreachable, GenerationTimeout
from pincite.generate.reply import Draft, draft
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
