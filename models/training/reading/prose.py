"""Free English prose as paragraphs: packages of Debian, which `install.sh` unpacks."""

import gzip
import html
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

INSTALL = Path(__file__).parent / "install.sh"
HTML_PAGES = "usr/share/doc/anarchism/html/*.html"
DICTIONARY = "usr/share/dictd/foldoc.dict.dz"
PARAGRAPH = re.compile(r"<p[^>]*>(.*?)(?=<p[^>]*>|</p>|<h\d|<ul|<ol|<hr|</body)", re.DOTALL | re.IGNORECASE)
TAG = re.compile(r"<[^>]+>")
ENTRY = re.compile(r"\n(?=\S)")  # the headword of an entry stands at the margin
LEAST_CHARS = 500  # characters of a paragraph; shorter ones repeat too little


def read_prose(folder: Path) -> list[str]:
    """Return the paragraphs of all packages, which are fetched first where they are not there.

    Raises:
        CalledProcessError: They can neither be found nor fetched.
    """
    subprocess.run(["sh", INSTALL, folder], check=True)
    paragraphs = [*_read_pages(folder), *_read_entries(folder)]
    return [paragraph for paragraph in paragraphs if len(paragraph) >= LEAST_CHARS]


def _read_pages(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob(HTML_PAGES)):
        for match in PARAGRAPH.finditer(path.read_text("utf-8", errors="replace")):
            yield " ".join(html.unescape(TAG.sub("", match[1])).split())


def _read_entries(folder: Path) -> Iterator[str]:
    text = gzip.decompress((folder / DICTIONARY).read_bytes()).decode("utf-8", errors="replace")
    for entry in ENTRY.split(text):
        head, _, body = entry.partition("\n")
        yield f"{head.strip()}: {' '.join(re.sub('[{}]', '', body).split())}"
