# ruff: noqa: ANN401 - onnx is optional, so its nodes have no types
from __future__ import annotations

from typing import Any

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.convert.write import plain_network, yaml_text
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training

onnx = pytest.importorskip("onnx")


def model(*nodes: Any, weights: dict[str, tuple[int, ...]], output: list[Any]) -> bytes:
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    import numpy as np

    initial = [numpy_helper.from_array(np.zeros(s, np.float32), n) for n, s in weights.items()]
    image = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 3, 32, 32])
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, output)
    graph = helper.make_graph(list(nodes), "g", [image], [result], initial)
    return bytes(helper.make_model(graph).SerializeToString())


def test_an_onnx_graph_becomes_layers_and_unknown_operators_are_named() -> None:
    from estimator.convert.onnx_file import onnx_network

    node = onnx.helper.make_node
    content = model(
        node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], name="conv"),
        node("BatchNormalization", ["a", "g", "b", "m", "v"], ["c"], name="bn"),
        node("Relu", ["c"], ["d"], name="relu"),
        node("GlobalAveragePool", ["d"], ["e"], name="pool"),
        node("Flatten", ["e"], ["f"], name="flat"),
        node("Gemm", ["f", "k", "l"], ["h"], transB=1, name="fc"),
        node("Hardmax", ["h"], ["y"], name="odd"),
        weights={
            "w": (16, 3, 3, 3),
            "g": (16,),
            "b": (16,),
            "m": (16,),
            "v": (16,),
            "k": (10, 16),
            "l": (10,),
        },
        output=["N", 10],
    )
    converted = onnx_network(content, "net")
    assert [gap.function.split()[0] for gap in converted.gaps] == ["Hardmax"]
    network = read_network(read_document(yaml_text(plain_network(converted)), "net.yaml"))
    work = lower(network, Training(batch=1))
    assert work.parameters == 16 * 27 + 32 + 170
    assert work.forward_flops == 2 * 16 * 16 * 16 * 27 + 2 * 160
