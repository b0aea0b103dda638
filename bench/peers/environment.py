"""The Python environment of the peers, outside the repository."""

import json
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
        wanted = json.dumps([requirement, build_settings])
        record = self._folder / "peers" / requirement.split("==")[0]
        if record.exists() and record.read_text() == wanted:
            return
        print(f"==> Installing {requirement} into {self._folder}", file=sys.stderr)
        self._create()
        # In the background of whatever else the machine does; a build from source takes a quarter of an hour.
        command = ["nice", "-n", "15", self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
        if build_settings:  # what was built with others, here or into pip's cache, is another thing
            command += ["--force-reinstall", "--no-deps", "--no-cache-dir"]
        subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, **(build_settings or {})})
        record.parent.mkdir(exist_ok=True)
        record.write_text(wanted)

    def package_folder(self, module):
        """Where an installed top-level module lies."""
        code = f"import importlib.util as u; print(u.find_spec({module!r}).submodule_search_locations[0])"
        return pathlib.Path(subprocess.run([self.python, "-c", code], check=True, capture_output=True, text=True).stdout.strip())

    def _create(self):
        if not self.python.exists():
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, "-m", "venv", self._folder], check=True, stdout=sys.stderr)
