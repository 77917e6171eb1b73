"""NVIDIA's management library behind one guarded call: an answer or the reason there is none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# Any object with functions named as in nvidia-ml-py's module ``pynvml``: the module, a recording, a fake.
NvmlLike = Any

# nvmlReturn_t, the codes whose remedy differs.
NOT_SUPPORTED, NO_PERMISSION, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND = 3, 4, 12, 13
DRIVER_NOT_LOADED, GPU_IS_LOST, VERSION_MISMATCH = 9, 15, 18
REASONS = {
    NOT_SUPPORTED: "not supported by this device or driver",
    NO_PERMISSION: "permission denied",
    DRIVER_NOT_LOADED: "the driver is not loaded",
    LIBRARY_NOT_FOUND: "the driver's library (libnvidia-ml) is not installed",
    FUNCTION_NOT_FOUND: "the driver is too old to have this call",
    GPU_IS_LOST: "the GPU has fallen off the bus",
    VERSION_MISMATCH: "driver and library have different versions",
}


class Answer(NamedTuple):
    """What a call returned, or its error code (None for an error without one) and reason."""

    value: Any = None
    code: int | None = None
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.reason is None


def ask(nvml: NvmlLike, function: str, *arguments: object) -> Answer:
    """Call a function that may be missing, unsupported, forbidden or broken; never raises."""
    call = getattr(nvml, function, None)
    if call is None:
        return Answer(None, FUNCTION_NOT_FOUND, f"{function} is missing in the installed nvidia-ml-py")
    try:
        return Answer(call(*arguments))
    except Exception as error:  # noqa: BLE001 - bindings and drivers raise anything; one answer lost, not all
        code = getattr(error, "value", None)
        code = code if isinstance(code, int) else None
        return Answer(None, code, REASONS.get(code or -1) or _one_line(error))


def _one_line(error: Exception) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - nvidia-ml-py's own text lookup fails on codes it does not know
        text = ""
    return text[:200] or type(error).__name__


def text_of(answer: Answer) -> str | None:
    """Return a text answer, which older bindings give as bytes; an empty one is None."""
    value = answer.value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value.strip("\0 \t\r\n") or None if isinstance(value, str) else None


def number_of(answer: Answer, *, most: int) -> int | None:
    """Return a whole number above 0 and up to ``most``, else None: drivers answer 0 for "not known"."""
    value = answer.value
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 < value <= most else None


def field_of(answer: Answer, *names: str) -> object:
    """Return the first of the named fields of a structure (or of a mapping), else None."""
    for name in names:
        value = (
            answer.value.get(name) if isinstance(answer.value, dict) else getattr(answer.value, name, None)
        )
        if value is not None:
            return value
    return None


def injected_binding() -> NvmlLike | None:
    """Return ``pynvml`` where somebody has put a Python object in place of the driver's library."""
    module = sys.modules.get("pynvml")
    library = getattr(module, "nvmlLib", None)
    if library is None or type(library).__module__.startswith("ctypes"):
        return None
    return module


def load_binding() -> tuple[NvmlLike | None, str | None]:
    """Return nvidia-ml-py's module, or None with the reason why it cannot be used."""
    try:
        import pynvml
    except ImportError:
        return None, "the package nvidia-ml-py is not installed"
    except Exception as error:  # noqa: BLE001 - a broken or foreign module of that name must not stop us
        return None, f"the module pynvml does not import: {_one_line(error)}"
    return pynvml, None


class RecordedNvmlError(Exception):
    """An error code that a recorded call answered."""

    def __init__(self, value: int) -> None:
        super().__init__(f"NVML error {value}")
        self.value = value


class RecordedNvml:
    """Answers of NVML kept in a mapping: ``system`` calls and, by device, ``devices`` calls.

    Keys are function names, with the arguments behind the handle in brackets:
    ``nvmlDeviceGetMaxClockInfo(1)``. ``{"error": 3}`` is that error code. A call that is not recorded
    answers FunctionNotFound. A device's ``mig`` list holds its slices in the same form, and a device may
    be ``{"error": 15}`` as a whole.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        system = record.get("system")
        devices = record.get("devices")
        self._system: dict[str, Any] = system if isinstance(system, dict) else {}
        self._devices: list[Any] = devices if isinstance(devices, list) else []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - stands in for a module's functions
        """Return a function that answers from the record."""
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def call(*arguments: object) -> object:
            return self._answer(name, arguments)

        return call

    def _answer(self, name: str, arguments: tuple[object, ...]) -> object:
        if name == "nvmlDeviceGetHandleByIndex":
            return self._handle(self._devices, arguments[0])
        if name == "nvmlDeviceGetMigDeviceHandleByIndex":
            return self._handle(_slices(arguments[0]), arguments[1])
        if name == "nvmlDeviceGetCount" and name not in self._system:
            return len(self._devices)
        if name in {"nvmlInit", "nvmlShutdown"} and name not in self._system:
            return None
        of_device = bool(arguments) and isinstance(arguments[0], dict)
        record = arguments[0] if of_device else self._system
        rest = arguments[1:] if of_device else arguments
        key = f"{name}({', '.join(str(a) for a in rest)})" if rest else name
        return _replay(record.get(key, {"error": FUNCTION_NOT_FOUND}))  # type: ignore[attr-defined]

    @staticmethod
    def _handle(devices: list[Any], index: object) -> object:
        if not isinstance(index, int) or not 0 <= index < len(devices):
            raise RecordedNvmlError(2)
        device = devices[index]
        if not isinstance(device, dict):
            raise RecordedNvmlError(999)
        return _replay(device) if set(device) == {"error"} else device


def _slices(device: object) -> list[Any]:
    slices = device.get("mig") if isinstance(device, dict) else None
    return slices if isinstance(slices, list) else []


def _replay(value: object) -> object:
    if isinstance(value, dict) and set(value) == {"error"}:
        code = value["error"]
        raise RecordedNvmlError(code if isinstance(code, int) else 999)
    return value
