"""The ledger's layout in Redis; no other module names these keys.

    {errata}:log              stream   one commit per entry, id `<version>-0`, never trimmed
                                       commit: canonical JSON; digest: sha256 of those bytes
    {errata}:block:<sha256>   string   rows as safetensors bytes, named by what they hold, never changed
    {errata}:image:<version>  string   manifest: which blocks every memory has at that version (JSON)
    {errata}:images           zset     the versions that have a manifest, scored by themselves
    {errata}:idem:<author>:<key>  string  the version that the author's request with this Idempotency-Key made; 7 days
    {errata}:idem::<key>      string   the same of a proposal, for all approvers, or `closed`; 10 years
    {errata}:imports          hash     unfinished import -> what it has in Redis (service/graph); gone with its commit
    {errata}:dropping         hash     imports claimed as dead, until their rows are deleted
    {errata}:replicas         hash     replica id -> `<server's unix time> <heartbeat as JSON>`; for an hour
    {errata}:tags             hash     name -> its version, author and time (tags.py)
    {errata}:reports          hash     version -> its report as it was completed after the commit (reports.py)
    {errata}:suspects         hash     id of a request that may have ended a process -> the process that works for it
                                       (suspects.py)
    {errata}:restore          string   the version that the last restore leads to; until then only the restore commits;
                                       ` extension` follows it where the ledger was not empty
    {errata}:schema           string   the number of this layout (layout_version.py)
    {errata}:check:<uuid>     stream   scratch of the start-up check, deleted by it

The log and the blocks are the truth. Manifests are derived (about 110 bytes a block) and may be deleted: a
start then replays from an older one. The braces have no meaning any more.
"""

from __future__ import annotations

from urllib.parse import quote

PREFIX = "{errata}:"

LOG = PREFIX + "log"
MANIFESTS = PREFIX + "images"
IMPORTS = PREFIX + "imports"
DROPPING = PREFIX + "dropping"
REPLICAS = PREFIX + "replicas"
TAGS = PREFIX + "tags"
REPORTS = PREFIX + "reports"
SUSPECTS = PREFIX + "suspects"
RESTORE = PREFIX + "restore"
SCHEMA = PREFIX + "schema"

IDEMPOTENCY_TTL_S = 7 * 24 * 3600
PROPOSAL_TTL_S = 10 * 366 * 24 * 3600  # seconds for which it is known whether a proposal was made
PROPOSALS = ""  # owner of the keys of proposals; no person has an empty name
CLOSED = b"closed"  # in place of a version: with this key no commit can be made any more


def block(digest: str) -> str:
    return f"{PREFIX}block:{digest.removeprefix('sha256:')}"


def manifest(version: int) -> str:
    return f"{PREFIX}image:{version}"


def idempotency(owner: str, key: str) -> str:
    """Return the key of one owner's Idempotency-Key, as a rule the author's; the quoted name has no colon."""
    return f"{PREFIX}idem:{quote(owner, safe='')}:{key}"


def proposal(number: int) -> str:
    """Return the Idempotency-Key of a proposal."""
    return f"errata-proposal-{number}"


def check(name: str) -> str:
    return f"{PREFIX}check:{name}"


def entry(version: int) -> str:
    """Return the stream id of a commit; Redis refuses an id that is not above the last one."""
    return f"{version}-0"
