"""How the checkpoint of the relational reader is trained and measured."""
