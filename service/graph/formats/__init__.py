"""Knowledge-graph files as they come: bytes in, rows out, and each line that is no good named with its reason.

Nothing here knows Redis or HTTP. `GraphFileReader` is the way in. A file passes through `gunzip`, `lines`, `detect`
and the reader of its format; `text` is the one place that says what a name may look like.
"""
