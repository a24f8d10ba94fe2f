"""The systems of this repository by name, each with its loader as `--system NAME=MODULE:LOADER` takes it.

A system adds its line to KNOWN, and to SERVED if it starts where a command names none.
"""

KNOWN = {
    "nkb": "models.nkb.system:load",
    "kbert": "models.kbert.system:load",
    "backpack": "models.backpack.system:load",
    "ernie-doc": "models.ernie_doc.system:load",
}
SERVED = (
    "nkb",
    "kbert",
)  # names of the systems that start by default; the first answers where a request names none
