"""10,000 files of 1 GB, killed three times by kill -9: complete, nothing twice, found early, memory bounded. JSON.

    python bench/speed/many_files.py [--files 10000] [--megabytes 1000] [--share 1] [--encoder NAME] [--folder FOLDER]
                                     [--output FILE]

A mix as people have it is made: PDF and DOCX and slides with pictures (most of the bytes), sheets, mail with
attachments, HTML, code, notes and tables, each with some kilobytes of text in which every file has a word of its own.
Then ``pincite add FOLDER --json`` runs, as a person runs it, and is killed at 10 and 60 % of the files and at half of
the vectors, and started again until it ends by itself. What is said comes from other processes while it runs, and from
the library afterwards:

- lost: files that were reported as committed before a kill and had to be read again after it;
- first found: when a keyword search in another process first found the word of a file that was committed, as a share of
  the whole time; at each kill the word of the last file that was committed is looked for too;
- peak: the largest sum of the memory of ``pincite add`` and its readers, four times a second;
- the same as uninterrupted: text, blocks and passages of a sample, against a library that was made in one go.

``--folder`` keeps files, library and times there, so that what was stopped goes on when it is started again.
``--share`` takes that part of the mix.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from base64 import encodebytes
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.acquire.made import docx, pptx, rows, shape, xlsx
from tests.data.make_pdf import Pdf, PdfPage, lines, stream

# kind: share of the files, mean characters of text, share of the bytes of pictures
MIX = {
    "pdf": (0.22, 5500, 0.62),
    "docx": (0.15, 3000, 0.20),
    "pptx": (0.05, 1500, 0.18),
    "xlsx": (0.08, 1500, 0.0),
    "eml": (0.15, 1000, 0.0),
    "html": (0.07, 2000, 0.0),
    "py": (0.10, 2000, 0.0),
    "md": (0.08, 1500, 0.0),
    "txt": (0.06, 2000, 0.0),
    "csv": (0.04, 2000, 0.0),
}
KILL_AT = (0.1, 0.6)  # of the files; the third time comes with half of the vectors
SAMPLE = 200  # files
_SYLLABLES = re.findall("..", "bacedifogulamenoporusatevixozu") + re.findall("...", "bracledriflogrustatreplisno")


class Prose:
    """Sentences of 20,000 invented words, the n-th as frequent as 1/n."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.words = ["".join(chance.choices(_SYLLABLES, k=chance.choice((1, 2, 2, 3, 3, 4)))) for _ in range(20_000)]
        self.weights = list(accumulate(1 / n for n in range(1, len(self.words) + 1)))

    def sentences(self, size: int) -> list[str]:
        """Make sentences of about so many characters in all."""
        made, left = [], size
        while left > 0:
            said = self.chance.choices(self.words, cum_weights=self.weights, k=self.chance.randint(6, 22))
            made.append(f"{' '.join(said).capitalize()}.")
            left -= len(made[-1]) + 1
        return made


def word(number: int) -> str:
    """The word that only this file has."""
    return f"planted{number:06d}x"


def made(kind: str, number: int, size: int, picture: bytes, prose: Prose) -> bytes:
    """Make a file of a kind, with about ``size`` characters of text and a picture where the kind has one."""
    said = [f"This is {word(number)}.", *prose.sentences(size)]
    paragraphs = [" ".join(said[at : at + 5]) for at in range(0, len(said), 5)]
    return _MAKERS[kind](said, paragraphs, picture, number)


def _pdf(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    broken = [one[at : at + 80] for one in said for at in range(0, len(one), 80)]
    pages = [lines(40, 560, broken[at : at + 44], size=9) for at in range(0, len(broken), 44)]
    side = max(1, int((len(picture) / 3) ** 0.5))
    entries = f"/Type /XObject /Subtype /Image /Width {side} /Height {side} /ColorSpace /DeviceRGB /BitsPerComponent 8"
    image = stream(picture[: 3 * side * side], entries)
    first = PdfPage(f"q 300 0 0 40 40 5 cm /I Do Q\n{pages[0]}", resources="/XObject << /I 1000 0 R >>")
    return bytes(Pdf([first, *map(PdfPage, pages[1:])], {"Title": f"Report {number}"}, more={1000: image}))


def _docx(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    body = "".join(f"<w:p><w:r><w:t>{one}</w:t></w:r></w:p>" for one in paragraphs)
    return docx(body, title=f"Document {number}", extra={"media/image1.jpg": picture})


def _pptx(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    slides = [shape(f"Slide {n}", kind="title") + shape(one, kind="body") for n, one in enumerate(paragraphs, 1)]
    return pptx(*slides, extra={"media/image1.png": picture})


def _xlsx(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    return xlsx({"Data": rows(("What", "Count", "Price"), *((one, n, n * 1.25) for n, one in enumerate(said)))})


def _eml(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    head = (
        f"From: ann@example.org\nTo: bob@example.org\nSubject: Mail {number}\nDate: Mon, 06 May 2024 07:08:09 +0200\n"
    )
    body = "\n\n".join(paragraphs)
    if number % 5:
        return f"{head}Content-Type: text/plain; charset=utf-8\n\n{body}\n".encode()
    table = encodebytes(_csv(said, paragraphs, b"", number)).decode()
    return (
        f"{head}MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\n"
        f"Content-Type: text/plain\n\n{body}\n--B\nContent-Type: text/csv\n"
        f"Content-Disposition: attachment; filename=table.csv\n"
        f"Content-Transfer-Encoding: base64\n\n{table}\n--B--\n"
    ).encode()


def _html(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    inner = "".join(f"<h2>Part {n}</h2><p>{one}</p>" for n, one in enumerate(paragraphs))
    return f"<html><head><title>Page {number}</title></head><body><nav>Menu</nav>{inner}</body></html>".encode()


def _py(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    return "\n\n".join(
        f'def function_{n}(value):\n    """{one}"""\n    return value * {n}\n' for n, one in enumerate(said)
    ).encode()


def _md(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    return "\n\n".join(f"# Part {n}\n\n{one}" for n, one in enumerate(paragraphs)).encode()


def _txt(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    return "\n\n".join(paragraphs).encode()


def _csv(said: list[str], paragraphs: list[str], picture: bytes, number: int) -> bytes:
    return "\n".join(["name,value,remark", *(f"n{n},{n * 7},{one}" for n, one in enumerate(said))]).encode()


_MAKERS = {
    "pdf": _pdf, "docx": _docx, "pptx": _pptx, "xlsx": _xlsx, "eml": _eml, "html": _html, "py": _py, "md": _md,
    "txt": _txt, "csv": _csv,
}  # fmt: skip


def fill(folder: Path, files: int, megabytes: float) -> dict[str, Any]:
    """Make the files: most are small, some large, and the same again for the same numbers."""
    chance = random.Random(1)
    prose, kinds, names = Prose(chance), Counter[str](), list(MIX)
    total = text = 0
    for number in range(files):
        kind = chance.choices(names, [MIX[name][0] for name in names])[0]
        large = min(20.0, chance.paretovariate(1.5) / 2.7)  # of mean 1
        mean = MIX[kind][2] / MIX[kind][0] * megabytes * 1e6 / files
        data = made(kind, number, int(large * MIX[kind][1]), chance.randbytes(int(large * mean)), prose)
        place = folder / f"{number % 97:02d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:06d}.{kind}").write_bytes(data)
        kinds[kind] += 1
        total += len(data)
        text += int(large * MIX[kind][1])
    (folder / ".gitignore").write_text("")
    return {"files": files, "megabytes": round(total / 1e6, 1), "characters of text": text, "kinds": dict(kinds)}


# --- the run


def command(library: Path, options: argparse.Namespace) -> list[str]:
    encoder = ["--encoder", options.encoder] if options.encoder else []
    return [sys.executable, "-m", "pincite.serve.cli.main", "--library", str(library), "--json", *encoder]


def memory(process: int) -> int:
    """Sum the memory that a process and its descendants hold now, in bytes. Linux only."""
    held, families = 0, {process}
    for entry in sorted(int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()):
        try:
            parent = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            if entry == process or parent in families:
                families.add(entry)
                held += 4096 * int(Path(f"/proc/{entry}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            continue  # it has ended
    return held


def found(library: Path, number: int) -> bool:
    """Ask another process's library for the word of a file."""
    import pincite

    if not (library / "catalog.sqlite").exists():
        return False
    with pincite.open(library, generator="none") as opened:
        hits = opened.search(word(number), mode="keyword", refresh=False).hits
        return any(f"{number:06d}." in hit.passage.uri for hit in hits)


class Run:
    """What is known of one run, kept on disk between attempts."""

    def __init__(self, folder: Path, options: argparse.Namespace, files: int) -> None:
        self.folder, self.options, self.files = folder, options, files
        self.library, self.notes = folder / "t.pincite", folder / "state.json"
        empty = {"seconds": 0.0, "kills": [], "first found": None, "peak": 0, "lost": 0, "late": 0, "done": []}
        self.state: dict[str, Any] = json.loads(self.notes.read_text()) if self.notes.exists() else empty
        self.done = set(self.state["done"])
        self.asked = 0.0

    def attempt(self) -> bool:
        """Add until it ends or is to be killed; tell whether it ended by itself."""
        said = self.folder / "said.jsonl"
        with said.open("wb") as output, said.open("rb") as reader:
            adding = [*command(self.library, self.options), "add", str(self.folder / "files")]
            process = subprocess.Popen(adding, stdout=output, stderr=subprocess.DEVNULL)
            last = self._watched(process, reader)
        if process.returncode == -signal.SIGKILL:
            self.state["late"] += last >= 0 and not found(self.library, last)
            return False
        if process.returncode not in (0, 3):
            sys.exit(f"the add ended with {process.returncode}")
        return True

    def _watched(self, process: subprocess.Popen[bytes], reader: BinaryIO) -> int:
        """Listen to it, kill it when it is time, and keep what is known; give the last file that was committed."""
        state, begun, spent = self.state, time.monotonic(), self.state["seconds"]
        before, last, rest = set(self.done), -1, b""
        try:
            while True:
                ended = process.poll() is not None
                *whole, rest = (rest + reader.read()).split(b"\n")
                for line in whole:
                    last = self._heard(json.loads(line), before, last)
                state["peak"] = max(state["peak"], 0 if ended else memory(process.pid))
                if state["first found"] is None and last >= 0 and found(self.library, last):
                    state["first found"] = spent + time.monotonic() - begun
                if ended or self._is_time_to_kill():
                    break
                time.sleep(0.25)
            if not ended:
                state["kills"].append([len(self.done), round(spent + time.monotonic() - begun, 1)])
        finally:
            process.kill()
            process.wait()
            state |= {"seconds": spent + time.monotonic() - begun, "done": sorted(self.done)}
            self.notes.write_text(json.dumps(state))
        return last

    def _is_time_to_kill(self) -> bool:
        """Tell whether the next kill is due: by files, at last by vectors, for which the library is asked."""
        import pincite

        count, now = len(self.state["kills"]), time.monotonic()
        if count < len(KILL_AT):
            return len(self.done) >= KILL_AT[count] * self.files
        if count > len(KILL_AT) or len(self.done) < self.files or now - self.asked < 5:
            return False
        self.asked = now
        with pincite.open(self.library, generator="none") as opened:
            stats = opened.stats()
        return max(stats.spaces.values(), default=0) >= stats.passages / 2

    def _heard(self, report: dict[str, Any], before: set[str], last: int) -> int:
        """Take one line of ``pincite add``; give the number of the last file that was committed."""
        if "uri" not in report:
            return last
        if report["status"] in ("indexed", "updated", "partly"):
            self.state["lost"] += report["uri"] in before
        if report["status"] in ("indexed", "updated", "partly", "unchanged"):
            self.done.add(report["uri"])
            number = report["uri"].rpartition("/")[2].partition(".")[0]
            return int(number) if number.isdecimal() and report["status"] == "indexed" else last
        return last


def logical(library: Path, uris: list[str]) -> dict[str, Any]:
    """Give what a library says of some documents, without what differs by chance: times, keys, floating point."""
    import pincite

    content = {}
    with pincite.open(library, generator="none") as opened:
        for uri in uris:
            document = opened.document(uri)
            passages = [(p.id, p.start, p.end, p.context, p.text) for p in opened.store.passages_of(uri)]
            metadata = sorted(document.metadata.items())
            content[uri] = [document.version, document.text, document.blocks, document.pages, metadata, passages]
    return content


def checked(run: Run) -> dict[str, Any]:
    """Look whether all is there, once, whole, and as if nothing had happened."""
    import pincite

    with pincite.open(run.library, generator="none") as opened:
        records = opened.list()
        stats = opened.stats()
        missing = sum(len(opened.store.unembedded(space, 10)) for space in stats.spaces)
        ids = [passage.id for record in records for passage in opened.store.passages_of(record.source.uri)]
        faults = [check.name for check in opened.store.verify() if not check.ok]
    on_disk = sum(path.is_file() for path in (run.folder / "files").rglob("[0-9]*.*"))
    uris = sorted(random.Random(2).sample([record.source.uri for record in records], min(SAMPLE, len(records))))
    names = [path for uri in uris if (path := Path(uri.removeprefix("file://"))).is_file()]
    fresh = run.folder / "fresh.pincite"
    add = [*command(fresh, run.options), "add", *map(str, names)]
    subprocess.run(add, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    uris = [path.as_uri() for path in names]
    return {
        "files on disk": on_disk,
        "sources, attachments too": len(records),
        "states": dict(Counter(record.status for record in records)),
        "passages": stats.passages,
        "sources twice": len(records) - len({record.source.uri for record in records}),
        "passages twice": len(ids) - len(set(ids)),
        "without vector": missing,
        "faults": faults,
        "sample": len(uris),
        "different from uninterrupted": sum(
            one != other
            for one, other in zip(logical(run.library, uris).values(), logical(fresh, uris).values(), strict=True)
        ),
    }


def measured(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Make the files if they are not there, run, and look."""
    mix = folder / "mix.json"
    if not mix.exists():
        count = int(options.files * options.share)
        mix.write_text(json.dumps(fill(folder / "files", count, options.megabytes * options.share)))
    about = json.loads(mix.read_text())
    run = Run(folder, options, about["files"])
    while not run.attempt():
        pass
    state = run.state
    first = state["first found"]
    return {
        **about,
        "encoder": options.encoder or "default",
        "seconds": round(state["seconds"], 1),
        "killed at [files, seconds]": state["kills"],
        "committed before a kill and lost": state["lost"],
        "last committed not found after a kill": state["late"],
        "first found, seconds": first and round(first, 1),
        "first found, share": first and round(first / state["seconds"], 4),
        "peak MB with readers": round(state["peak"] / 1e6),
        **checked(run),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--megabytes", type=float, default=1_000)
    parser.add_argument("--share", type=float, default=1.0, help="of the files and megabytes")
    parser.add_argument("--encoder", help="the embedding model (default: the product's)")
    parser.add_argument("--folder", type=Path, help="where files and library are kept")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        result = measured(folder, options)
    print(json.dumps(result, indent=1))
    if options.output:
        options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
