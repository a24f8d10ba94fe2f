"""Words of the pages, as a screen reader says them."""

TRY, LIVE, DONE, WHY = (
    "Try it: nothing changes yet",
    "Make it live",
    "Done: it is live.",
    "Why, for the history",
)
FILE = (
    "A file CSV, TSV, Excel or JSON: a question and its answer a line; a fact a line; or a thing a line, with its "
    "facts in columns"
)
MEND = "lines.csv mend a line here, and try again"
