"""The Python environment of the peers, outside the repository."""

import os
import pathlib
import subprocess
import sys


def peers_folder():
    return pathlib.Path(os.environ.get("SLUICE_PEERS") or pathlib.Path.home() / ".cache/sluice/peers")


class Environment:
    """A virtual environment that packages are installed into when first asked for."""

    def __init__(self, folder):
        self._folder = folder / "venv"
        self.python = self._folder / "bin/python"

    def require(self, requirement, build_settings=None):
        """`requirement` is name==version. `build_settings` are environment variables for a package that is built from source."""
        if self._has(requirement):
            return
        print(f"==> Installing {requirement} into {self._folder}", file=sys.stderr)
        self._create()
        # In the background of whatever else the machine does; a build from source takes a quarter of an hour.
        command = ["nice", "-n", "15", self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
        subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, **(build_settings or {})})

    def package_folder(self, module):
        """Where an installed top-level module lies."""
        return pathlib.Path(self._ask(f"import importlib.util as u; print(u.find_spec({module!r}).submodule_search_locations[0])"))

    def _has(self, requirement):
        name, version = requirement.split("==")
        question = f"import importlib.metadata as m; print(next((d.version for d in m.distributions(name={name!r})), ''))"
        return self.python.exists() and self._ask(question) == version

    def _create(self):
        if not self.python.exists():
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, "-m", "venv", self._folder], check=True, stdout=sys.stderr)

    def _ask(self, code):
        return subprocess.run([self.python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
