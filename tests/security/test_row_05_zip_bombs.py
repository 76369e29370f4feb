"""Office files that inflate to gigabytes, lie about it, or hold 100,000 parts."""

from __future__ import annotations

import io
import resource
import struct
import sys
import zipfile
import zlib

import pytest

from pincite.acquire import sandbox
from tests.acquire.made import archive, docx, para

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is counted as Linux does")
ALLOWED = 300 << 10  # kilobytes


def deflated(size: int) -> bytes:
    """So many zeros, packed, without ever being whole in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)  # says the same wherever it stands
    return block * (size >> 20) + packer.flush()


def bomb(claimed: int, packed: bytes, name: str = "word/document.xml") -> bytes:
    """A zip file with one member of which the header says what it likes."""
    title, crc = name.encode(), 0
    local = struct.pack("<4sHHHHHLLLHH", b"PK\3\4", 20, 0, 8, 0, 33, crc, len(packed), claimed, len(title), 0)
    entry = struct.pack(
        "<4sHHHHHHLLLHHHHHLL", b"PK\1\2", 20, 20, 0, 8, 0, 33, crc, len(packed), claimed, len(title), 0, 0, 0, 0, 0, 0
    )
    start = len(local) + len(title) + len(packed)
    end = struct.pack("<4sHHHHLLH", b"PK\5\6", 0, 0, 1, 1, len(entry) + len(title), start, 0)
    return local + title + packed + entry + title + end


def nested(depth: int) -> bytes:
    """A zip in a zip in a zip, each of them ten times the next."""
    data = archive({"zeros.txt": bytes(30 << 20)})
    for level in range(depth):
        data = archive({f"{level}-{number}.zip": data for number in range(10)})
    return data


def crowded() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for number in range(100_000):
            file.writestr(zipfile.ZipInfo(f"xl/worksheets/sheet{number}.xml"), "")
    return buffer.getvalue()


def peaks() -> tuple[int, int]:
    """Kilobytes that this process, and the largest of its children that ended, ever had."""
    sandbox.close()
    return tuple(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


@pytest.mark.parametrize("name", ["honest.docx", "lying.docx", "lying.xlsx", "crowded.xlsx", "nested.zip"])
def test_row_05_a_bomb_is_refused_and_its_neighbour_is_read(library, docs, name):
    if name == "nested.zip":
        data = nested(3)
    elif name == "crowded.xlsx":
        data = crowded()
    else:
        packed = deflated(4 << 30) if name == "honest.docx" else deflated(1 << 30)
        part = "xl/workbook.xml" if name.endswith("xlsx") else "word/document.xml"
        data = bomb((4 << 30) - 1 if name == "honest.docx" else 1000, packed, part)
    (docs / name).write_bytes(data)
    (docs / "z.docx").write_bytes(docx(para("The weir is good.")))
    del data
    before = peaks()
    report = {source.uri.rpartition("/")[2]: source for source in library.add(docs).sources}
    after = peaks()
    assert report["z.docx"].status == "indexed"
    if name == "nested.zip":
        assert not any(source.status == "indexed" and "zeros" in source.uri for source in report.values())
    else:
        assert report[name].status == "failed" and report[name].fix
    assert after[0] - before[0] < ALLOWED
    assert after[1] <= max(before[1], ALLOWED)  # of a child, what its parent held when it was started counts too
