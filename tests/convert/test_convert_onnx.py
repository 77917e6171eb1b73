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
    assert work.forward_flops == 2 * 16 * 16 * 16 * 27 + 2 * 160 + 10


def of_input(shape: list[Any], *nodes: Any, weights: dict[str, Any], output: list[Any]) -> Any:
    import numpy as np

    from estimator.convert.onnx_file import onnx_network

    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    arrays = {
        n: np.zeros(v, np.float32) if isinstance(v, tuple) else np.array(v, np.int64)
        for n, v in weights.items()
    }
    initial = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, output)
    graph = helper.make_graph(list(nodes), "g", [given], [result], initial)
    return onnx_network(helper.make_model(graph).SerializeToString(), "net")


def work_of(converted: Any) -> Any:
    network = read_network(read_document(yaml_text(plain_network(converted)), "net.yaml"))
    return lower(network, Training(batch=1))


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_operators_are_layers(kind: str, gates: int) -> None:
    node = onnx.helper.make_node
    converted = of_input(
        ["N", 5, 8],
        node("Transpose", ["x"], ["t"], perm=[1, 0, 2], name="turn"),
        node(kind, ["t", "w", "r", "b"], ["h"], hidden_size=6, direction="bidirectional", name="cells"),
        node("Transpose", ["h"], ["y"], perm=[2, 0, 1, 3], name="back"),
        weights={"w": (2, 6 * gates, 8), "r": (2, 6 * gates, 6), "b": (2, 12 * gates)},
        output=["N", 5, 2, 6],
    )
    assert not converted.gaps
    work = work_of(converted)
    assert work.parameters == 2 * (6 * gates * (8 + 6) + 12 * gates)
    assert work.forward_flops == 2 * 2 * 5 * 6 * gates * (8 + 6)
    assert work.layers[-1].output_shape == (1, 5, 2, 6)


def test_padding_resampling_and_norms_are_layers() -> None:
    node = onnx.helper.make_node
    converted = of_input(
        ["N", 3, 8, 8],
        node("Pad", ["x", "p"], ["a"], mode="reflect", name="pad"),
        node("InstanceNormalization", ["a", "s", "b"], ["c"], name="norm"),
        node("Resize", ["c", "", "", "z"], ["d"], mode="linear", name="resize"),
        node("ReduceMin", ["d"], ["y"], axes=[2, 3], keepdims=0, name="least"),
        weights={"p": [0, 0, 1, 1, 0, 0, 1, 1], "s": (3,), "b": (3,), "z": [2, 3, 20, 20]},
        output=["N", 3],
    )
    assert [gap.function for gap in converted.gaps] == []
    work = work_of(converted)
    assert [layer.kind for layer in work.layers] == ["Pad", "InstanceNorm2d", "Upsample", "Min"]
    assert work.parameters == 6


def test_what_no_layer_describes_has_flops_or_says_that_they_are_not_known() -> None:
    node = onnx.helper.make_node
    converted = of_input(
        ["N", 4, 8],
        node("Einsum", ["x", "w"], ["a"], equation="nij,jk->nik", name="einsum"),
        node("Hardmax", ["a"], ["y"], name="odd"),
        weights={"w": (8, 6)},
        output=["N", 4, 6],
    )
    einsum, odd = converted.gaps
    assert (einsum.flops, einsum.unknown) == (2 * 4 * 8 * 6, "")
    assert (odd.flops, odd.unknown) == (4 * 6, "FLOPs")
    assert work_of(converted).forward_flops >= 2 * 4 * 8 * 6
