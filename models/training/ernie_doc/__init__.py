"""How the default checkpoint of ernie-doc is made: `python -m models.training.ernie_doc`."""
