"""NVML with every answer kept, in the form that `RecordedNvml` answers from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.detect.nvml import NvmlLike

_BY_INDEX, _MIG_BY_INDEX = "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetMigDeviceHandleByIndex"
_NO_CODE = 999


class NvmlRecorder:
    """Pass calls on to another NVML and keep what it answers in ``record``."""

    def __init__(self, inner: NvmlLike) -> None:
        self._inner = inner
        self._of_handle: dict[int, tuple[object, dict[str, Any]]] = {}
        self.record: dict[str, Any] = {"system": {}, "devices": []}

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Return a function that calls and records; AttributeError where the inner one has none."""
        call = getattr(self._inner, name)

        def recorded(*arguments: object) -> object:
            try:
                value = call(*arguments)
            except Exception as error:
                code = getattr(error, "value", None)
                self._keep(name, arguments, {"error": code if isinstance(code, int) else _NO_CODE})
                raise
            self._keep(name, arguments, value)
            return value

        return recorded

    def _keep(self, name: str, arguments: tuple[object, ...], value: object) -> None:
        if name == _BY_INDEX:
            self._keep_handle(self.record["devices"], arguments[0], value)
            return
        owner = self._owner(arguments[0]) if arguments else None
        if name == _MIG_BY_INDEX and owner is not None:
            self._keep_handle(owner.setdefault("mig", []), arguments[1], value)
            return
        rest = arguments[1:] if owner is not None else arguments
        key = f"{name}({', '.join(str(a) for a in rest)})" if rest else name
        (owner if owner is not None else self.record["system"])[key] = plain(value)

    def _keep_handle(self, devices: list[dict[str, Any]], index: object, handle: object) -> None:
        if not isinstance(index, int):
            return
        while len(devices) <= index:
            devices.append({"error": 2})
        failed = isinstance(handle, dict) and set(handle) == {"error"}
        devices[index] = dict(handle) if isinstance(handle, dict) and failed else {}
        if not failed:
            # The handle is kept alive, so that its identity is not used again.
            self._of_handle[id(handle)] = (handle, devices[index])

    def _owner(self, handle: object) -> dict[str, Any] | None:
        found = self._of_handle.get(id(handle))
        return found[1] if found is not None else None


def plain(value: object) -> object:
    """Return an answer as plain data: texts, numbers, lists, and mappings for structures."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    fields = getattr(value, "_fields_", None)
    if fields:
        return {field[0]: plain(getattr(value, field[0], None)) for field in fields}
    return str(value)
