"""Backpack: a language model whose words are bundles of sense vectors (Hewitt et al., ACL 2023)."""
