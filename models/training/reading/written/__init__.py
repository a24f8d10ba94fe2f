"""Texts that people wrote with questions about them, and variants that keep the answers true."""
