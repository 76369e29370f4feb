"""Pages of documents as images, and where on them the words of a span stand."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from pincite.serve.http.documents import Version, identified
from pincite.serve.http.guard import Seen
from pincite.serve.http.limits import reading
from pincite.serve.http.work import run
from pincite.stop import check_stop

router = APIRouter(tags=["documents"], dependencies=[reading])
_AT_A_TIME = threading.BoundedSemaphore(2)  # pages painted: each has a process with limits of its own
_KEPT_BYTES = 32 << 20  # of painted pages
Number = Annotated[int, Path(ge=1, le=10_000_000)]


class _Painted:
    """The pages that were painted last, by what they were painted from; whoever asks was allowed to before."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._images: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._bytes = 0

    def get(self, key: tuple[object, ...]) -> bytes:
        """Give an image, b"" if it is not kept."""
        with self._lock:
            image = self._images.pop(key, b"")
            if image:
                self._images[key] = image
            return image

    def keep(self, key: tuple[object, ...], image: bytes) -> None:
        """Keep an image, and let go of those that were not asked for the longest time."""
        with self._lock:
            self._bytes += len(image) - len(self._images.pop(key, b""))
            self._images[key] = image
            while self._bytes > _KEPT_BYTES:
                self._bytes -= len(self._images.popitem(last=False)[1])


_painted = _Painted()


@router.get("/v1/documents/{document_id}/pages/{number}.png", response_class=Response)
async def page_image(
    request: Request,
    document_id: str,
    number: Number,
    library: Seen,
    version: Version = None,
    scale: Annotated[float, Query(ge=0.1, le=4.0, description="Pixels for each point (1/72 inch).")] = 2.0,
) -> Response:
    """Paint a page of a PDF."""

    def work() -> bytes:
        record = identified(document_id, library)
        source = library.document(record.source.uri, version).source
        key = (source.uri, source.content_hash, number, scale)
        image = _painted.get(key)
        if not image:
            with _AT_A_TIME:
                check_stop()
                image = library.page(source.uri, number, version, scale=scale)
            _painted.keep(key, image)
        return image

    return Response(await run(request, work), media_type="image/png")


@router.get("/v1/documents/{document_id}/pages/{number}/boxes")
async def page_boxes(
    request: Request,
    document_id: str,
    number: Number,
    library: Seen,
    start: Annotated[int, Query(ge=0)],
    end: Annotated[int, Query(ge=0)],
    version: Version = None,
) -> dict[str, Any]:
    """Give the boxes around the words of a span on a page, as fractions of it from its upper left corner."""

    def work() -> dict[str, Any]:
        record = identified(document_id, library)
        with _AT_A_TIME:
            check_stop()
            return {"boxes": library.page_boxes(record.source.uri, number, start, end, version)}

    return await run(request, work)
