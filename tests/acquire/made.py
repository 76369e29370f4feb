"""Small office files, made by hand from what matters of their XML."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from itertools import pairwise

R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def archive(parts: Mapping[str, str | bytes], *, stored: tuple[str, ...] = ()) -> bytes:
    """Zip parts, each with the same time, so that the bytes are always the same."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return buffer.getvalue()


def relations(*rows: tuple[str, str, str]) -> str:
    """Make a part of relations from (id, kind, target)."""
    inner = "".join(f'<Relationship Id="{key}" Type="{R}/{kind}" Target="{target}"/>' for key, kind, target in rows)
    return f'<Relationships xmlns="{RELS}">{inner}</Relationships>'


def types(main: str, kind: str) -> str:
    """Make the list of content types that strict readers ask for."""
    return (
        f'<Types xmlns="{TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        f'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="application/vnd.openxmlformats-officedocument.{kind}.main+xml"/>'
        "</Types>"
    )


CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
    "<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>"
    "<dcterms:modified>2024-05-06T07:08:09Z</dcterms:modified></cp:coreProperties>"
)


def docx(body: str, *, title: str = "", extra: Mapping[str, str] | None = None, links: tuple = ()) -> bytes:
    """Make a DOCX from the XML inside its body, more parts below word/ and relations to them."""
    parts = {
        "[Content_Types].xml": types("word/document.xml", "wordprocessingml.document"),
        "_rels/.rels": relations(
            ("r1", "officeDocument", "word/document.xml"), ("r2", "core-properties", "docProps/core.xml")
        ),
        "docProps/core.xml": CORE.format(title=title, author="Ann Author"),
        "word/_rels/document.xml.rels": relations(*links),
        "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>',
    }
    return archive(parts | {f"word/{name}": content for name, content in (extra or {}).items()})


def para(text: str, properties: str = "") -> str:
    """Make a paragraph of a DOCX."""
    return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def pptx(*slides: str, extra: Mapping[str, str] | None = None, links: Mapping[int, tuple] | None = None) -> bytes:
    """Make a PPTX from the XML inside each slide's tree; links are relations of a slide, by its number from 1."""
    numbers = range(1, len(slides) + 1)
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in numbers)
    parts = {
        "[Content_Types].xml": types("ppt/presentation.xml", "presentationml.presentation"),
        "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:p xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>{ids}</p:sldIdLst></p:p>',
        "ppt/_rels/presentation.xml.rels": relations(*((f"r{n}", "slide", f"slides/slide{n}.xml") for n in numbers)),
    }
    for n, slide in zip(numbers, slides, strict=True):
        shown, _, tree = slide.rpartition("|SHOW|")
        names = f'xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}" {shown}'
        parts[f"ppt/slides/slide{n}.xml"] = f"<p:sld {names}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>"
        parts[f"ppt/slides/_rels/slide{n}.xml.rels"] = relations(*(links or {}).get(n, ()))
    return archive(parts | {f"ppt/{name}": content for name, content in (extra or {}).items()})


def shape(*lines: str, kind: str | None = None, properties: str = "") -> str:
    """Make an object with text; a placeholder if it has a kind."""
    holder = "" if kind is None else f'<p:ph type="{kind}"/>' if kind else "<p:ph/>"
    text = "".join(f"<a:p><a:pPr>{properties}</a:pPr><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return f"<p:sp><p:nvSpPr><p:nvPr>{holder}</p:nvPr></p:nvSpPr><p:txBody>{text}</p:txBody></p:sp>"


def xlsx(sheets: Mapping[str, str], *, extra: Mapping[str, str] | None = None, links: Mapping[int, tuple] | None = None,
         states: Mapping[str, str] | None = None) -> bytes:  # fmt: skip
    """Make an XLSX from the XML inside each sheet's data."""
    numbers = range(1, len(sheets) + 1)
    named = "".join(
        f'<sheet name="{name}" sheetId="{n}" state="{(states or {}).get(name, "visible")}" r:id="r{n}"/>'
        for n, name in zip(numbers, sheets, strict=True)
    )
    parts = {
        "[Content_Types].xml": types("xl/workbook.xml", "spreadsheetml.sheet"),
        "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(*((f"r{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in numbers)),
    }
    for n, data in zip(numbers, sheets.values(), strict=True):
        parts[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{S}"><sheetData>{data}</sheetData></worksheet>'
        parts[f"xl/worksheets/_rels/sheet{n}.xml.rels"] = relations(*(links or {}).get(n, ()))
    return archive(parts | {f"xl/{name}": content for name, content in (extra or {}).items()})


def rows(*values: tuple[object, ...], first: int = 1, columns: str = "ABCDEFGHIJ") -> str:
    """Make the rows of a sheet: text inline, numbers as numbers, None as no cell."""
    lines = []
    for at, row in enumerate(values, first):
        cells = []
        for column, value in zip(columns, row, strict=False):
            if isinstance(value, str):
                cells.append(f'<c r="{column}{at}" t="inlineStr"><is><t>{value}</t></is></c>')
            elif value is not None:
                cells.append(f'<c r="{column}{at}"><v>{value}</v></c>')
        if cells:
            lines.append(f'<row r="{at}">{"".join(cells)}</row>')
    return "".join(lines)


def ole(streams: Mapping[str, bytes]) -> bytes:
    """Make an OLE container (MS-CFB) of streams by path ("a", "folder/a"); each is padded to the 4,096 bytes from
    which on streams are kept in sectors of their own.
    """
    padded = {path: content.ljust(4096, b"\0") for path, content in streams.items()}
    entries: list[list] = [["Root Entry", 5, -1, 0, 0]]  # name, type, child, first sector, size
    content, at, siblings = b"", 0, {}

    def inside(folder: str) -> list[str]:
        names = [path.removeprefix(folder) for path in padded if path.startswith(folder)]
        inner = sorted({name.partition("/")[0] for name in names if "/" in name})
        return [folder + name for name in (*(name for name in names if "/" not in name), *inner)]

    def add(paths: list[str]) -> int:
        """Add the entries of one folder as a chain to the right; give the first."""
        nonlocal content, at
        numbers = []
        for path in paths:
            numbers.append(len(entries))
            name = path.rpartition("/")[2]
            if path in padded:
                data = padded[path] + bytes(-len(padded[path]) % 512)
                entries.append([name, 2, -1, at, len(padded[path])])
                content, at = content + data, at + len(data) // 512
            else:
                entries.append([name, 1, -1, 0, 0])
        siblings.update(pairwise(numbers))
        for number, path in zip(numbers, paths, strict=True):
            if path not in padded:
                entries[number][2] = add(inside(f"{path}/"))
        return numbers[0] if numbers else -1

    entries[0][2] = add(inside(""))
    directory = b"".join(
        struct.pack("<64sHBBiii16xI16xiII", name.encode("utf-16-le"), 2 * len(name) + 2, kind, 1, -1,
                    siblings.get(number, -1), child, 0, first if kind == 2 else -2, size, 0)
        for number, (name, kind, child, first, size) in enumerate(entries)
    )  # fmt: skip
    directory += bytes(-len(directory) % 512)
    fat = []
    for _, kind, _, first, size in entries:
        if kind == 2:
            count = -(-size // 512)
            fat += [*range(first + 1, first + count), -2]
    start = len(fat)
    fat += [*range(start + 1, start + len(directory) // 512), -2]
    sectors = -(-(len(fat) + 1) // 128)
    while sectors * 128 < len(fat) + sectors:
        sectors += 1
    place = len(fat)
    fat += [-3] * sectors
    fat += [-1] * (sectors * 128 - len(fat))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack(
        "<HHHHH6xIIiIIiIiI", 0x3E, 3, 0xFFFE, 9, 6, 0, sectors, start, 0, 4096, -2, 0, -2, 0
    )  # fmt: skip
    header += struct.pack("<109i", *(list(range(place, place + sectors)) + [-1] * (109 - sectors)))
    return header + content + directory + struct.pack(f"<{len(fat)}i", *fat)


def msg(texts: Mapping[str, str], files: Mapping[str, bytes] | None = None) -> bytes:
    """Make an Outlook message of texts by property number, and attachments by name."""
    streams = {"__properties_version1.0": bytes(32)}
    streams |= {f"__substg1.0_{key}001F": text.encode("utf-16-le") for key, text in texts.items()}
    for number, (name, content) in enumerate((files or {}).items()):
        folder = f"__attach_version1.0_#{number:08X}"
        streams[f"{folder}/__substg1.0_3707001F"] = name.encode("utf-16-le")
        streams[f"{folder}/__substg1.0_37010102"] = content
    return ole(streams)
