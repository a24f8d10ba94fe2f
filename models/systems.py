"""The systems of this repository by name, each with its loader as `--system NAME=MODULE:LOADER` takes it.

A system adds its line to SYSTEMS, and to DEFAULT_SYSTEMS if it starts where a command names none.
"""

SYSTEMS = {
    "nkb": "models.nkb.system:load",
    "kbert": "models.kbert.system:load",
    "relational": "models.relational.system:load",
    "backpack": "models.backpack.system:load",
    "ernie-doc": "models.ernie_doc.system:load",
    "thu-ernie": "models.thu_ernie.system:load",
}
# Names of the systems that start by default; the first answers where a request names none.
DEFAULT_SYSTEMS = ("nkb", "kbert")
# Names of the systems whose edits have a scope, so that they can stand before another model's answers.
WITH_SCOPE = ("nkb",)
WITH_GRAPH = ("kbert", "relational", "thu-ernie")  # names of the systems that read the graph
