"""One network on several systems: the predictions, and the systems they are for, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.app.prediction import predict_named
from estimator.app.request import training_of
from estimator.app.roofline import roofline_result
from estimator.app.source import described
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.app.request import Request
    from estimator.app.systems import NamedSystem
    from estimator.catalog.text_files import SourceText
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.results.prediction import Prediction
    from estimator.results.roofline import RooflineResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What was asked and what came of it; ``systems`` are those of ``predictions``, in their order."""

    request: Request
    network: Network
    training: Training
    systems: tuple[System, ...]
    predictions: tuple[Prediction, ...]
    warnings: tuple[str, ...]
    inputs: Mapping[str, object]

    def roofline(self, index: int) -> RooflineResult:
        """Return the roofline of one of the systems; raises InputError where a ceiling is not known."""
        return roofline_result(
            self.network,
            self.training,
            self.systems[index].device,
            self.predictions[index],
            {**self.request.inputs(), **self.inputs},
        )


def study(
    source: SourceText, request: Request, systems: Sequence[NamedSystem], calibration: Calibration
) -> Study:
    """Predict a network, read once, on every system that can run it.

    Raises InputError where none can.
    """
    found = described(source, request.overrides)
    training = training_of(request, found.training)
    predictions, refused = predict_named(found.network, request, training, systems, calibration)
    if not predictions:
        raise InputError(refused[0])
    by_name = {(s.system.device.id, s.system.count): s.system for s in systems}
    return Study(
        request=request,
        network=found.network,
        training=training,
        systems=tuple(by_name[p.device.id, p.device.devices] for p in predictions),
        predictions=predictions,
        warnings=refused,
        inputs={
            "network": found.network.name,
            "devices": [_label(p) for p in predictions],
            "batch": training.batch,
            "precision": training.precision.name,
            "optimizer": training.optimizer.name,
            "accumulation": training.accumulation,
            "epochs": training.epochs,
            "steps": training.steps,
            "samples": training.samples,
            "parameters": dict(found.network.parameters),
            "network_file": request.network,
        },
    )


def _label(prediction: Prediction) -> str:
    count = prediction.device.devices
    return f"{count}x {prediction.device.id}" if count > 1 else prediction.device.id
