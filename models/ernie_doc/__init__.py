"""ERNIE-Doc: a transformer that reads a long document in segments and carries a memory between them."""
