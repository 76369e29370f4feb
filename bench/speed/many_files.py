"""Many files, killed three times: complete in the end, nothing twice, found by keyword early, memory bounded. JSON.

    python bench/speed/many_files.py [--files 10000] [--megabytes 1000] [--model] [--output FILE]

A mix of text, Markdown, CSV, HTML, DOCX, XLSX and PDF files of very different sizes is made, then ``pincite add`` runs
over it in a process of its own. It is killed (kill -9) three times, at moments spread over the run, and started again
until it ends. Vectors come from the table of ``memory.py`` unless ``--model`` is given, which embeds with the default
encoder: that takes some seconds for each megabyte of text. "first found": when a keyword search in another process
first found a word of the first file, as a share of the whole time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.acquire.made import docx, xlsx
from tests.data.make_pdf import Pdf, PdfPage, lines

KINDS = ("txt", "md", "csv", "html", "docx", "xlsx", "pdf")
WORDS = (
    "river stone cloud engine paper window market garden signal harbour winter letter bridge copper forest "
    "of the and a to in is that it for with as on by was at from be this which"
)
KILLS = 3


def sentence(chance: random.Random, number: int) -> str:
    return f"{' '.join(chance.choices(WORDS.split(), k=14))} unique{number}x{chance.randrange(10**6)}."


def made(kind: str, number: int, size: int, chance: random.Random) -> bytes:
    """Make a file with about so many bytes of text."""
    said = [f"Number {number} says unique{number}.", *(sentence(chance, number) for _ in range(max(1, size // 95)))]
    if kind == "md":
        return "\n\n".join(f"# Part {n}\n\n{one}" if n % 9 == 0 else one for n, one in enumerate(said)).encode()
    if kind == "csv":
        return "\n".join(["name,value,remark", *(f"n{n},{n * 7},{one}" for n, one in enumerate(said))]).encode()
    if kind == "html":
        return f"<html><body><h1>H</h1>{''.join(f'<p>{one}</p>' for one in said)}</body></html>".encode()
    if kind == "docx":
        return docx("".join(f"<w:p><w:r><w:t>{one}</w:t></w:r></w:p>" for one in said))
    if kind == "xlsx":
        rows = "".join(
            f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{one}</t></is></c><c r="B{n}"><v>{n}</v></c></row>'
            for n, one in enumerate(said, 1)
        )
        return xlsx({"S": rows})
    if kind == "pdf":
        pages = [
            PdfPage(lines(20, 580, [one[:90] for one in said[at : at + 45]], size=8)) for at in range(0, len(said), 45)
        ]
        return bytes(Pdf(pages))
    return "\n\n".join(said).encode()


def fill(folder: Path, files: int, size: int) -> int:
    """Make the files: most are small, some large; give the bytes in all."""
    chance, total = random.Random(1), 0
    for number in range(files):
        kind = KINDS[number % len(KINDS)]
        place = folder / f"{number % 97:02d}"
        place.mkdir(exist_ok=True)
        share = chance.paretovariate(1.2) / 6 * size
        data = made(kind, number, int(min(share, 40 * size)), chance)
        (place / f"{number:06d}.{kind}").write_bytes(data)
        total += len(data)
    return total


CHILD = """
import json, resource, sys
sys.path.insert(0, {root!r})
import pincite
encoder = None
if not {model}:
    sys.path.insert(0, {speed!r})
    from memory import MODEL, TableEncoder
    from pincite.models.fetch import default_models_dir, ensure
    encoder = TableEncoder(ensure(MODEL, models_dir=default_models_dir()) / "tokenizer.json")
with pincite.open({library!r}, encoder=encoder, generator="none") as library:
    counts = {{}}
    for report in library.adding({folder!r}):
        counts[report.status] = counts.get(report.status, 0) + 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([counts, peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))
"""


def start(library: Path, folder: Path, model: bool) -> subprocess.Popen[str]:
    here = Path(__file__).resolve()
    program = CHILD.format(
        root=str(here.parents[2]), speed=str(here.parent), model=model, library=str(library), folder=str(folder)
    )
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def found(library: Path) -> bool:
    """Ask another process's library for a word of the first file."""
    import pincite

    if not (library / "catalog.sqlite").exists():
        return False
    with pincite.open(library, generator="none") as opened:
        return bool(opened.search("unique0", mode="keyword", refresh=False).hits)


def run(folder: Path, library: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Add, kill, add again, until it ends by itself."""
    moments = [float(share) for share in options.kill_after.split(",")]
    spent, first, kills = 0.0, None, []
    while True:
        process, begun = start(library, folder, options.model), time.monotonic()
        limit = moments[len(kills)] if len(kills) < len(moments) else None
        while process.poll() is None:
            now = time.monotonic() - begun
            if first is None and found(library):
                first = spent + now
            if limit is not None and now >= limit:
                process.kill()
                kills.append(round(spent + now, 1))
                break
            time.sleep(0.2)
        output = process.communicate()[0]
        spent += time.monotonic() - begun
        if process.returncode == 0:
            counts, peak, child = json.loads(output)
            return {
                "last run": counts,
                "seconds": round(spent, 1),
                "killed after": kills,
                "first found, seconds": first and round(first, 1),
                "first found, share": first and round(first / spent, 3),
                "peak MB": round(peak / 1024),
                "largest reader MB": round(child / 1024),
            }
        if process.returncode != -9:
            sys.exit(f"the add ended with {process.returncode}")


def checked(library: Path, files: int) -> dict[str, Any]:
    """Look whether all is there, once, whole."""
    import pincite

    with pincite.open(library, generator="none") as opened:
        records = opened.list()
        states: dict[str, int] = {}
        for record in records:
            states[record.status] = states.get(record.status, 0) + 1
        stats = opened.stats()
        spaces = list(stats.spaces)
        missing = sum(len(opened.store.unembedded(space, 10)) for space in spaces)
        ids = [passage.id for record in records for passage in opened.store.passages_of(record.source.uri)]
        sound = [check.name for check in opened.store.verify() if not check.ok]
    return {
        "files": files,
        "sources": len(records),
        "states": states,
        "passages": stats.passages,
        "passages twice": len(ids) - len(set(ids)),
        "without vector": missing,
        "faults": sound,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--megabytes", type=float, default=1_000)
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--kill-after", default="20,40,60", metavar="SECONDS", help="of each run that is killed")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if len(options.kill_after.split(",")) != KILLS:
        parser.error(f"--kill-after takes {KILLS} numbers")
    with tempfile.TemporaryDirectory() as place:
        folder, library = Path(place, "files"), Path(place, "t.pincite")
        folder.mkdir()
        size = fill(folder, options.files, int(options.megabytes * 1e6 / options.files))
        result = {"megabytes": round(size / 1e6, 1), "encoder": "default" if options.model else "table"}
        result |= run(folder, library, options) | checked(library, options.files)
        result |= {
            "load": os.getloadavg()[0],
            "largest of this process MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    print(json.dumps(result, indent=1))
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
