"""Which systems are served where nobody says otherwise: name -> `module:loader`, as `--system` takes it.

A system of the repository adds its line here; nothing in the service names one.
"""

SYSTEMS = {"nkb": "models.nkb.system:load", "kbert": "models.kbert.system:load"}
