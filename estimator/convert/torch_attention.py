"""Translators of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.torch_translate import UntranslatableError, arguments, translates

if TYPE_CHECKING:
    from estimator.convert.torch_trace import Call
    from estimator.convert.torch_translate import Translation


@translates("torch.nn.functional.scaled_dot_product_attention", "torch._C._nn.scaled_dot_product_attention")
def scaled_dot_product_attention(t: Translation, call: Call) -> None:
    """Translate: a mask is a fourth input."""
    a = arguments(call, "query key value attn_mask dropout_p is_causal")
    args: dict[str, Any] = {}
    if a.get("dropout_p"):
        args["dropout"] = a["dropout_p"]
    if a.get("is_causal"):
        args["causal"] = True
    operands = [a["query"], a["key"], a["value"]]
    sources = [t.source(r) for r in operands]
    mask = a.get("attn_mask")
    if mask is not None and t.value(mask).dtype == "bool":
        args["mask"] = True  # a mask of truth values is turned into one of numbers
    elif mask is not None:
        sources.append(t.source(mask))
    t.hold(call, t.step(call, "ScaledDotProductAttention", args, sources))


@translates("torch.nn.functional.multi_head_attention_forward")
def multi_head_attention(t: Translation, call: Call) -> None:
    """Translate: the function works sequence-first: a module that is batch-first transposes around it."""
    names = (
        "query key value embed_dim_to_check num_heads in_proj_weight in_proj_bias bias_k bias_v "
        "add_zero_attn dropout_p out_proj_weight out_proj_bias training key_padding_mask need_weights "
        "attn_mask"
    )
    a = arguments(call, names)
    if a.get("use_separate_proj_weight"):
        raise UntranslatableError("separate projections of different widths")
    if a.get("bias_k") is not None or a.get("add_zero_attn"):
        raise UntranslatableError("attention with extra keys")
    operands = [a["query"], a["key"], a["value"]]
    args: dict[str, Any] = {"num_heads": a["num_heads"], "style": "torch"}
    if a.get("dropout_p") and a.get("training", True):
        args["dropout"] = a["dropout_p"]
    if a.get("in_proj_bias") is None:
        args["bias"] = False
    if a.get("is_causal"):
        args["causal"] = True
    elif a.get("attn_mask") is not None or a.get("key_padding_mask") is not None:
        args["mask"] = True
    if a.get("need_weights", True):
        args["kernel"] = "math"
    if len(t.shape(operands[0])) != 2:  # noqa: PLR2004 - (length, features) has no batch
        args["batch_first"] = False
    unique = {ref.index for ref in operands}
    weights = [a["in_proj_weight"], a.get("in_proj_bias"), a["out_proj_weight"], a.get("out_proj_bias")]
    t.emit(call, "MultiheadAttention", args, operands[:1] if len(unique) == 1 else operands, weights)
