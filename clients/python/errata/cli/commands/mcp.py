"""`errata mcp`: the tools of the Model Context Protocol."""

from __future__ import annotations

import typer

from errata.cli.session import Session

NEEDS_MCP = "this needs the package mcp: pip install 'errata[mcp]'"


def mcp(session: Session) -> None:
    """Serve tools to a program that starts this command: it asks, looks back, and proposes corrections."""
    try:
        from errata.mcp.stdio import run
    except ImportError as error:
        raise typer.BadParameter(NEEDS_MCP) from error
    run(str(session.errata.url), session.errata.headers)
