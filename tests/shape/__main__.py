"""The shape of the code: `python -m tests.shape [--at REVISION] [PATH ...]` prints it, `--lint` holds it.

`--lint` exits with 1 if a name is a pronoun or a participle, if a limit of `limits.toml` is exceeded, or if a test or
a Markdown file has a riddle such as "nobody", or if the table of files in a folder's README is stale, or if a file
seems to hold two ideas (`ideas.py`). `--prose` lists every fault of prose, those that the limits still allow, too.
"""

import argparse
import sys

from tests.shape.figures import table
from tests.shape.ideas import check_ideas
from tests.shape.limits import exceeded_shapes, exceeded_words, find_exceeded, read_limits
from tests.shape.links import list_pages
from tests.shape.names import find_forbidden_names
from tests.shape.prose import find_bad_prose, find_riddles
from tests.shape.sources import ROOT, read_revision, read_working_tree
from tests.shape.statements import exceeded_weights, weigh
from tests.shape.tables import find_stale_tables


def main() -> None:
    """Print figures or complaints about the files of the project."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--at", help="a git revision; without it the working tree")
    options.add_argument(
        "--lint", action="store_true", help="list what breaks a rule and exit with 1 if anything does"
    )
    options.add_argument("--prose", action="store_true", help="list the faults of prose and exit with 0")
    options.add_argument("paths", nargs="*", help="only files whose path begins with one of these")
    args = options.parse_args()
    sources = read_working_tree() if args.at is None else read_revision(args.at)
    if args.paths:
        sources = {path: text for path, text in sources.items() if path.startswith(tuple(args.paths))}
    if args.prose:
        print("\n".join(fault for _, fault in find_bad_prose(sources)))
    elif args.lint:
        limits = read_limits()
        problems = [*find_forbidden_names(sources), *find_exceeded(sources, limits)]
        pages = {path: (ROOT / path).read_text("utf-8") for path in list_pages()}
        problems += [*find_riddles(sources, pages), *find_stale_tables(pages, sources)]
        if not args.paths:
            problems += exceeded_weights(sources, limits["statements"])
            problems += exceeded_shapes(sources, limits["area"])
            problems += [
                *exceeded_words(pages, limits["pages"]["words"]),
                *check_ideas(sources, limits["ideas"]),
            ]
        print("\n".join(problems) or "names, sentences, sizes and tables of files are as they should be")
        sys.exit(bool(problems))
    else:
        print(table(sources), *(f"{part}: {n:,}" for part, n in weigh(sources).items()), sep="\n")
        print("\nFiles that seem to hold two ideas:", *check_ideas(sources, {}), sep="\n")


if __name__ == "__main__":
    main()
