"""Whether a Linux host is a virtual machine: then its clock, sockets and flags are the hypervisor's story."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.detect.cpuinfo import CpuInfo
    from estimator.detect.tree import Tree

# /sys/class/dmi/id/sys_vendor and product_name of hypervisors; clouds' bare metal says only the vendor.
_VENDORS = ("qemu", "xen", "vmware", "innotek", "parallels", "bochs", "bhyve", "firecracker", "red hat")
VIRTUAL_PRODUCTS = (
    "virtual machine", "kvm", "virtualbox", "vmware", "hvm domu", "google compute engine", "droplet",
)  # fmt: skip


def is_virtual(tree: Tree, info: CpuInfo) -> bool | None:
    """Return True or False where something tells, None where nothing does."""
    if "hypervisor" in info.words("flags") or tree.exists("/sys/hypervisor/type"):
        return True
    if "microsoft" in (tree.line("/proc/version") or "").lower():
        return True
    vendor = (tree.line("/sys/class/dmi/id/sys_vendor") or "").lower()
    product = (tree.line("/sys/class/dmi/id/product_name") or "").lower()
    compatible = (tree.line("/proc/device-tree/compatible") or "").lower()
    if any(name in vendor for name in _VENDORS) or any(name in product for name in VIRTUAL_PRODUCTS):
        return True
    if "dummy-virt" in compatible or tree.exists("/proc/device-tree/hypervisor"):
        return True
    # Every hypervisor on x86 sets the flag; on Arm there is none to miss.
    return False if info.words("flags") or vendor or compatible else None
