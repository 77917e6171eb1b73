"""NVLink: which other GPU or switch each GPU is joined to, by how many links."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from estimator.detect.facts import PeerLink
from estimator.detect.nvidia_facts import NVLINK_BYTES_PER_S
from estimator.detect.nvml import FUNCTION_NOT_FOUND, Answer, ask, field_of, text_of

if TYPE_CHECKING:
    from estimator.detect.nvml import NvmlLike

_MOST_LINKS = 36
_REMOTE_SWITCH = 2
# A link number beyond the last is an invalid argument; a single link may be unsupported or lost.
_NO_MORE_LINKS = frozenset({2, FUNCTION_NOT_FOUND})
SWITCH = "switch"


def nvlink_peers(nvml: NvmlLike, handle: object, capability: tuple[int, int] | None) -> tuple[PeerLink, ...]:
    """Return the active links by peer; a GPU without NVLink has none."""
    peers: Counter[str] = Counter()
    for link in range(_MOST_LINKS):
        state = ask(nvml, "nvmlDeviceGetNvLinkState", handle, link)
        if state.code in _NO_MORE_LINKS:
            break
        if state.ok and state.value == 1:
            peers[_peer(nvml, handle, link)] += 1
    rate = NVLINK_BYTES_PER_S.get(capability) if capability else None
    return tuple(
        PeerLink(peer=peer, links=links, bytes_per_s=links * rate if rate is not None else None)
        for peer, links in sorted(peers.items())
    )


def _peer(nvml: NvmlLike, handle: object, link: int) -> str:
    kind = ask(nvml, "nvmlDeviceGetNvLinkRemoteDeviceType", handle, link)
    if kind.ok and kind.value == _REMOTE_SWITCH:
        return SWITCH
    remote = ask(nvml, "nvmlDeviceGetNvLinkRemotePciInfo", handle, link)
    bus_id = text_of(Answer(field_of(remote, "busId", "busIdLegacy")))
    if bus_id is None or ":" not in bus_id:
        return "unknown"
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"
