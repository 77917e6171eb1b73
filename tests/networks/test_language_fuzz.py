"""Whatever is in a file, reading it ends soon with a network or with errors meant for people."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import estimator
from estimator.catalog.yaml_reader import read_document
from estimator.errors import InputError
from estimator.layers.library import LAYERS
from estimator.networks.language.containers import CONTAINERS
from estimator.networks.language.parse import RESERVED
from estimator.networks.language.read import KEYS, read_network
from estimator.networks.lowering import check

_FOLDER = Path(estimator.__file__).parent.parent / "profiles" / "networks"
LONGEST = 4000  # characters: with thousands of large blocks, a mutation is a valid network that takes long
ZOO = [text for path in sorted(_FOLDER.glob("*.yaml")) if len(text := path.read_text("utf-8")) < LONGEST]
SLOWEST_S = 1.0
MOST_BYTES = 300 * 10**6
WORDS = [
    *RESERVED, *KEYS, *list(LAYERS)[::9], *CONTAINERS, "shape", "dtype", "layers", "branches", "shortcut",
    "args", "out_features", "kernel_size", "$d", "${d}", "${d // 0}", "${max(w)}", "${i}", "prev", "in",
    "prev.1", "a", "b", "1", "0", "-1", "8", "1e9", "99999", ".nan", ".inf", "010", "no", "true", "null",
    "10000", "2147483647", "[]", "{}", "[1, 2]", "*a", "&a", "!!str", "!x", "<<", "---", "...", "|", ">", "'",
    '"', "#", "%", "\t",
    "\0", "\n", "\n  ", "\n- ", ": ", "- ", ", ", "{", "}", "[", "]", "é", "\u2028", "\ufeff",
    "9" * 40, "[" * 70,
]  # fmt: skip
PLAIN = [word for word in WORDS if word[0].isalnum() or word.startswith("$")]
WORDS_ONLY = 0.5
MANY_LAYERS = 20_000  # a valid network of more may take longer
TOKEN = re.compile(r"\s+|[A-Za-z_0-9.$]+|.", re.DOTALL)


def survives(text: str) -> None:
    """Read a text and check every shape; anything but InputError is a bug."""
    started = time.process_time()
    layers = 0
    try:
        network = read_network(read_document(text, "fuzz.yaml"))
        layers = len(network.nodes)
        check(network)
    except InputError as error:
        said = str(error)
        if not said or (error.at is not None and error.at.line < 1):
            pytest.fail(f"an error without a place or message: {said!r}")
    assert time.process_time() - started < SLOWEST_S * max(1, layers / MANY_LAYERS)


def mutated(text: str, chance: random.Random) -> str:
    """Return the text with a few tokens replaced, removed, doubled, swapped or put in.

    Half the cases keep to words, so that what comes out is mostly YAML and the later stages are reached.
    """
    tokens = TOKEN.findall(text)
    only_words = chance.random() < WORDS_ONLY
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        words = [n for n, token in enumerate(tokens) if token[0].isalnum() or token[0] == "$"]
        place = chance.choice(words) if only_words and words else chance.randrange(len(tokens))
        match chance.randrange(2 if only_words else 6):
            case 0:
                tokens[place] = chance.choice(PLAIN if only_words else WORDS)
            case 1:
                other = chance.choice(words) if only_words and words else chance.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 2:
                tokens.insert(place, chance.choice(WORDS))
            case 3:
                tokens[place] = ""
            case 4:
                tokens[place:place] = tokens[place : place + chance.randrange(1, 40)]
            case _:
                del tokens[place : place + chance.randrange(1, 40)]
        tokens = [token for token in tokens if token] or [" "]
    return "".join(tokens)


def fuzz_mutations(cases: int, seed: int) -> None:
    for case in range(cases):
        chance = random.Random(f"{seed}-{case}")  # noqa: S311 - to be repeatable, not secret
        text = mutated(chance.choice(ZOO), chance)
        try:
            survives(text)
        except Exception as error:
            message = f"case {seed}-{case}: {type(error).__name__}: {error}\n{text}"
            raise AssertionError(message) from error


def test_mutations_of_the_zoo_give_networks_or_clean_errors() -> None:
    fuzz_mutations(300, seed=1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_mutations_of_the_zoo_give_networks_or_clean_errors(seed: int) -> None:
    fuzz_mutations(2000, seed=seed)


@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_words_in_any_order_give_networks_or_clean_errors(text: str) -> None:
    survives(text)


VALUES = st.recursive(
    st.sampled_from([word for word in WORDS if word.isprintable() and '"' not in word]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(st.sampled_from(WORDS[:40]), inner, max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs.items()) + "}"
        ),
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_values_under_the_keys_of_a_network_give_networks_or_clean_errors(pairs: dict[str, str]) -> None:
    survives("inputs: {x: [8]}\n" + "".join(f"{key}: {value}\n" for key, value in pairs.items()))


@given(st.binary(max_size=300))
@settings(max_examples=50, deadline=None)
def test_any_bytes_give_clean_errors(data: bytes) -> None:
    survives(data.decode("utf-8", "surrogateescape"))


HOSTILE = {
    "bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)),
    "list": "a: [" + "x, " * 10**6 + "]",
    "text": "a: '" + "x" * (2**22 - 10) + "'",
    "repeats": "inputs: {x: [8]}\nlayers: [{repeat: 10000, layers: [{repeat: 10000, layers: [ReLU]}]}]",
    "errors": "inputs: {x: [8]}\nlayers: [" + "Bad, " * 100_000 + "]",
    "names": "inputs: {x: [8]}\nlayers: [" + "{type: ReLU, name: a}, " * 30_000 + "]",
}
PROGRAM = """
import re, sys
from pathlib import Path
from estimator.catalog.yaml_reader import read_document
from estimator.errors import InputError
from estimator.networks.language.read import read_network
try:
    read_network(read_document(sys.stdin.read(), "fuzz.yaml"))
except InputError:
    # The high-water mark of this program alone: ru_maxrss keeps that of the process it was forked from.
    print(int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux only")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_take_little_memory(name: str) -> None:
    done = subprocess.run(  # noqa: S603 - this interpreter, a program from this file
        [sys.executable, "-c", PROGRAM], input=HOSTILE[name], capture_output=True, text=True, check=True
    )
    assert 0 < int(done.stdout) < MOST_BYTES


def test_the_same_case_is_the_same_text_everywhere() -> None:
    texts = [mutated(ZOO[0], random.Random("x")) for _ in range(2)]  # noqa: S311 - as above
    assert texts[0] == texts[1]
