"""The root's help names every command with the first line of its own help, without importing it."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from estimator.cli.main import COMMANDS, program


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_the_root_says_what_the_command_says(name: str) -> None:
    module = import_module(f"estimator.cli.{name}")
    own = module.app.info.help if hasattr(module, "app") else inspect.getdoc(getattr(module, name))
    assert own
    assert " ".join(own.split("\n\n")[0].split()) == COMMANDS[name]


def test_the_whole_program_has_all_commands() -> None:
    app = program()
    groups = {group.name for group in app.registered_groups}
    assert groups == {"plot", "devices", "networks", "cluster", "prices"}
    assert groups | {command.name for command in app.registered_commands} == set(COMMANDS)


def test_only_the_wanted_command_is_imported() -> None:
    code = (
        "import sys; sys.argv = ['estimator', '--help']\n"
        "from estimator.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "print([n for n in sys.modules if n.startswith('estimator.cli.') and n != 'estimator.cli.main'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert done.stdout.rstrip().endswith("[]")


def test_a_slip_in_a_command_names_the_nearest() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "estimator", "predcit", "resnet50"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "predict" in done.stderr
    assert "Traceback" not in done.stderr
