"""Readers of knowledge-graph files: bytes in, rows out, and each rejected line with its reason.

No module here knows Redis or HTTP. `GraphFileReader` is the way in. A file passes through `gunzip`, `lines`, `detect`
and the reader of its format; `text` alone holds the rules for names.
"""
