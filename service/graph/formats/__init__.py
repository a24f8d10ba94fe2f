"""Readers of knowledge-graph files: they turn bytes into rows, and list each rejected line with its reason.

No module here knows Redis or HTTP. `GraphFileReader` is the entry point. A file passes through `gunzip`, `lines`,
`detect` and the reader of its format; `text` alone holds the rules for names.
"""
