"""`python -m service.extraction TYPE`: read a file from standard input, and write its text as JSON.

This process is bounded, because a hostile file can unpack into gigabytes or take hours.
"""

import json
import resource
import sys

from service.extraction.formats import READERS
from service.extraction.process import MAX_MEMORY_BYTES, MAX_SECONDS, Unreadable


def main() -> None:
    """Set the bounds, read and write."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    try:
        reply = READERS[sys.argv[1]](sys.stdin.buffer.read())._asdict()
    except Unreadable as error:
        reply = {"error": str(error)}
    sys.stdout.write(json.dumps(reply))


if __name__ == "__main__":
    main()
