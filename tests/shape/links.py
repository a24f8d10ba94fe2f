"""Links between the Markdown files of the project: each leads to a file that exists, and to a heading of it."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.shape.sources import ROOT

LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def list_pages() -> list[str]:
    """Return the paths of the Markdown files that git knows or does not ignore."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    paths = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [path for path in sorted(set(paths)) if (ROOT / path).exists()]


def find_broken_links(pages: Iterable[str], root: Path = ROOT) -> Iterator[str]:
    """Yield a sentence for each link to a file or a heading that does not exist.

    Args:
        pages: Paths of Markdown files, from `root`.
        root: The folder of the project.
    """
    for page in pages:
        for path, heading in LINK.findall(CODE.sub("", (root / page).read_text("utf-8"))):
            target = (
                root / os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else root / page
            )
            if not target.exists():
                yield f"{page}: the link to {path} leads nowhere"
            elif heading and heading not in anchors(target.read_text("utf-8")):
                yield f"{page}: {path or page} has no heading for #{heading}"


def anchors(markdown: str) -> set[str]:
    """Return the anchors that a page's headings get where code is read."""
    headings = HEADING.findall(markdown)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
