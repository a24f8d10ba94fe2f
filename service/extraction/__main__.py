"""`python -m service.extraction TYPE CHARSET`: read a file from standard input, and write its text as JSON.

This process is bounded, because a hostile file can unpack into gigabytes or take hours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping

from errata.tables.limits import MAX_SECONDS

from service.extraction.html import read_html
from service.extraction.pdf import read_pdf
from service.extraction.process import FileText, Unreadable, bound_process

# Media type -> the function that reads a file of it, which comes with an encoding or ""
READERS: Mapping[str, Callable[[bytes, str], FileText]] = {
    "text/html": read_html,
    "application/xhtml+xml": read_html,
    "application/pdf": lambda data, _: read_pdf(data),
}


def main() -> None:
    media_type, charset = sys.argv[1:]
    bound_process(MAX_SECONDS)
    try:
        reply = READERS[media_type](sys.stdin.buffer.read(), charset)._asdict()
    except Unreadable as error:
        reply = {"error": str(error)}
    sys.stdout.write(json.dumps(reply))


if __name__ == "__main__":
    main()
