"""Small networks, and a folder of the user's own that tests may write to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TINY = """
format: 1
name: tiny
params: {width: 8}
inputs: {image: [3, 8, 8]}
layers:
  - {type: Conv2d, out_channels: $width, kernel_size: 3, padding: 1, name: first}
  - {type: ReLU, inplace: true}
  - {type: Residual, layers: [{type: Conv2d, out_channels: $width, kernel_size: 1}, BatchNorm2d]}
  - Flatten
  - {type: Linear, out_features: 5}
loss: CrossEntropyLoss
training: {batch: 4, optimizer: momentum, samples: 400}
"""
WORDS = """
format: 1
name: words
inputs:
  tokens: {shape: [6], dtype: int64}
layers:
  - {type: Embedding, num_embeddings: 50, embedding_dim: 12, name: table}
  - {type: LSTM, hidden_size: 12, batch_first: true}
  - {type: Linear, out_features: 50, bias: false, tie: table}
loss: CrossEntropyLoss
training: {batch: 2, optimizer: adamw}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY, encoding="utf-8")
    return path


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.yaml"
    path.write_text(WORDS, encoding="utf-8")
    return path


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's configuration folder, empty and away from the real one."""
    folder = tmp_path / "config"
    for variable in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder
