"""`python -m service.extraction.sheet SHEET SECONDS`: write the rows of the workbook on standard input as JSON lines.

The last line has the counts of hidden rows and columns, an object, or the fault of the workbook, a text.
"""

from __future__ import annotations

import json
import sys
from collections import Counter

from errata.tables.workbook import WorkbookError, read_sheet

from service.extraction.process import bound_process


def main() -> None:
    sheet, seconds = map(json.loads, sys.argv[1:])
    bound_process(seconds)
    hidden: Counter[str] = Counter()
    end: str | Counter[str] = hidden
    try:
        for row in read_sheet(sys.stdin.buffer, sheet, hidden):
            sys.stdout.write(f"{json.dumps(row)}\n")
    except WorkbookError as error:
        end = str(error)
    sys.stdout.write(f"{json.dumps(end)}\n")


if __name__ == "__main__":
    main()
