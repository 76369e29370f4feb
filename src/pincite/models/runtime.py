"""Import OpenVINO without its model converter, which reports each import to its makers over the network."""

from __future__ import annotations

import sys
from threading import Lock
from typing import Any

_CONVERTER = "openvino.tools.ovc"
_lock = Lock()


def import_openvino() -> Any:
    """Give the ``openvino`` module; everything here that needs it, or ``openvino_genai``, must call this first.

    ``import openvino`` tries to import ``openvino.tools.ovc``, and that sends an "import" event through
    ``openvino_telemetry`` unless the person has opted out beforehand. Nothing here needs the converter, and OpenVINO
    goes on without it when it cannot be imported, so it cannot be, for as long as this import takes. It is also quicker
    by a third.
    """
    with _lock:
        if "openvino" not in sys.modules and _CONVERTER not in sys.modules:
            modules: dict[str, Any] = sys.modules
            modules[_CONVERTER] = None  # means that it cannot be imported
            try:
                import openvino
            finally:
                del sys.modules[_CONVERTER]
        import openvino

        return openvino
