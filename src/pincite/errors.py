"""Every error that Pincite raises on purpose.

PinciteError
├── UsageError             exit 2: the call is wrong
│   ├── EmptyQuestion
│   ├── SettingError
│   ├── FilterError
│   ├── PathMissing
│   ├── NotInLibrary
│   └── AccessDenied
├── SourceError            exit 3: one source cannot be taken in; the others can
│   ├── SourceUnreadable
│   ├── SourceUndecodable
│   ├── SourceUnsupported
│   └── SourceTooLarge
├── LibraryError           exit 4: the library cannot be used
│   ├── LibraryNewer
│   ├── LibraryDamaged
│   ├── LibraryReadOnly
│   ├── LibraryBusy
│   ├── DiskFull
│   └── SpaceMismatch
├── ModelError             exit 4: a model cannot be used
│   ├── ModelUnknown
│   ├── ModelMissing
│   ├── ModelDamaged
│   ├── ModelDownload
│   ├── ModelLimit
│   └── ExtraMissing
└── GenerationError        caught by ask, which answers with quotes instead
    ├── GenerationTimeout
    ├── EndpointUnreachable
    ├── EndpointInvalid
    │   └── SchemaRefused
    └── ReplyMalformed
"""

from __future__ import annotations


class PinciteError(Exception):
    """Base of all; ``str(error)`` says what happened, ``fix`` what to do."""

    exit_code = 4

    def __init__(self, message: str, *, fix: str = "") -> None:
        """Keep one sentence for each."""
        super().__init__(message)
        self.fix = fix


class UsageError(PinciteError):
    """The call is wrong."""

    exit_code = 2


class EmptyQuestion(UsageError):
    """The question holds no text."""


class SettingError(UsageError):
    """A setting is unknown or has a bad value."""


class FilterError(UsageError):
    """A filter is malformed."""


class PathMissing(UsageError):
    """A path that was named does not exist."""


class NotInLibrary(UsageError):
    """The document, version or passage is not in the library."""


class AccessDenied(UsageError):
    """The caller's role or grants do not allow this; says nothing of what there is."""

    def __init__(
        self, message: str = "You may not do this.", *, fix: str = "Ask for a key whose role allows it."
    ) -> None:
        """Say that it may not be."""
        super().__init__(message, fix=fix)


class SourceError(PinciteError):
    """One source cannot be taken in."""

    exit_code = 3


class SourceUnreadable(SourceError):
    """The operating system does not give the bytes."""


class SourceUndecodable(SourceError):
    """The bytes are not what they claim to be."""


class SourceUnsupported(SourceError):
    """No reader for this media type yet."""


class SourceTooLarge(SourceError):
    """The source is over a limit."""


class LibraryError(PinciteError):
    """The library cannot be used."""


class LibraryNewer(LibraryError):
    """A newer Pincite wrote this library."""


class LibraryDamaged(LibraryError):
    """The source of truth is damaged."""


class LibraryReadOnly(LibraryError):
    """The library cannot be written."""


class LibraryBusy(LibraryError):
    """Another process held the library for too long."""


class DiskFull(LibraryError):
    """No space is left; nothing was lost."""


class SpaceMismatch(LibraryError):
    """Some passages have no vector in this encoder's space."""


class ModelError(PinciteError):
    """A model cannot be used."""


class ModelUnknown(ModelError):
    """No model has this name."""


class ModelMissing(ModelError):
    """The model is not on this machine and may not be downloaded."""


class ModelDamaged(ModelError):
    """A model file does not have the expected checksum or form."""


class ModelDownload(ModelError):
    """The model could not be downloaded."""


class ModelLimit(ModelError):
    """The model cannot do this within its time or its length."""


class ExtraMissing(ModelError):
    """An optional dependency is not installed."""


class GenerationError(PinciteError):
    """The generator failed; the evidence is still there."""


class GenerationTimeout(GenerationError):
    """The generator did not finish in time."""


class EndpointUnreachable(GenerationError):
    """The endpoint does not answer."""


class EndpointInvalid(GenerationError):
    """The endpoint answers, but not what was agreed."""


class SchemaRefused(EndpointInvalid):
    """The endpoint takes no schema for its reply, or not this one; it can be asked without."""


class ReplyMalformed(GenerationError):
    """The reply does not have the form that was asked for."""
