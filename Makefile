# Everything a person runs here. Each target works alone, on a machine with only Python, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: calibration cookbook run test browser-test lint fuzz catalogue counts conversions bench accuracy accuracy-memory accuracy-here clean

run: $(VENV)/run.stamp  ## install, then the main job on this machine
	$(BIN)/estimator detect
	$(BIN)/estimator compare cifar10_cnn cpu "GTX 1080 Ti" "RTX 4090" A100-SXM-40GB

test: $(VENV)/test.stamp lint  ## everything that must hold
	$(BIN)/python -m pytest -n 2

browser-test: $(VENV)/test.stamp  ## the report page in headless Chromium; fails where there is none
	BROWSER_TEST_REQUIRED=1 $(BIN)/python -m pytest -v tests/report/test_report_browser.py

lint: $(VENV)/test.stamp  ## style, types and the floors of the house
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(VENV)/test.stamp  ## the long fuzzing runs, for nights
	$(BIN)/python -m pytest -n 2 -m nightly

catalogue: $(VENV)/run.stamp  ## make the snapshot of the device profiles again
	$(BIN)/python -m estimator.catalog.build

counts: $(VENV)/run.stamp  ## count the networks of the zoo again, for their list
	$(BIN)/python tools/network_counts.py

calibration: $(VENV)/run.stamp  ## fit profiles/calibration again from the shipped measurements
	$(BIN)/estimator calibrate --from profiles/measured --out profiles/calibration

accuracy-here: $(VENV)/test.stamp  ## docs/accuracy-here.md: zoo networks measured on this machine, a quarter of an hour
	$(BIN)/python tools/accuracy_here.py docs

accuracy: $(VENV)/run.stamp  ## docs/accuracy.md from the shipped measurements, each board with its rows unseen
	$(BIN)/python tools/accuracy.py docs

accuracy-memory: $(VENV)/run.stamp  ## the section on memory of docs/accuracy.md, a few minutes
	$(BIN)/python tools/accuracy.py docs --memory

cookbook: $(VENV)/run.stamp  ## write the outputs in docs/cookbook.md anew
	$(BIN)/python tools/cookbook.py docs/cookbook.md

# The packages of the conversions live apart: they want another PyTorch than the tests.
CONVERT := .venv-convert
conversions: $(CONVERT)/stamp  ## convert every architecture of torchvision and timm again (an hour or so)
	PYTHONPATH=. $(CONVERT)/bin/python tools/ship_converted.py convert build/converted
	PYTHONPATH=. $(CONVERT)/bin/python tools/ship_converted.py pack build/converted

$(CONVERT)/stamp: tools/ship_converted.py
	test -x $(CONVERT)/bin/python || $(PYTHON) -m venv $(CONVERT)
	$(CONVERT)/bin/python -m pip install --quiet torch==2.14.1 torchvision==0.29.1 timm==1.0.31 onnx numpy PyYAML
	touch $@

bench: $(VENV)/run.stamp  ## speed, as ratios to importing typer, rich and numpy
	$(BIN)/python -m tests.bench.speed
	$(BIN)/python -m tests.bench.counters
	$(BIN)/python -m tests.bench.zoo

$(VENV)/run.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/test.stamp: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[lint,test]"
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
