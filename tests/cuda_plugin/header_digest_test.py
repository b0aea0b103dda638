"""The digest of headers that a program and a plugin compare.

usage: header_digest_test.py CMAKE SCRIPT
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest


def digest_of(files):
    """Of a tree of these texts by their paths, wherever it lies."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        output = root / "header_digest.cpp"
        headers = ";".join(str(root / path) for path in files)
        subprocess.run([CMAKE, f"-DROOT={root}", f"-DHEADERS={headers}", f"-DOUTPUT={output}", "-P", SCRIPT], check=True)
        return re.search('return "([0-9a-f]{16})";', output.read_text()).group(1)


TREE = {"base/a.h": "int a;\n", "engine/b.h": "int b;\n"}


class HeaderDigest(unittest.TestCase):
    def test_is_the_same_for_the_same_headers_in_any_folder_and_order(self):
        self.assertEqual(digest_of(TREE), digest_of(dict(reversed(TREE.items()))))

    def test_is_another_for_another_text(self):
        self.assertNotEqual(digest_of(TREE), digest_of(TREE | {"engine/b.h": "int  b;\n"}))

    def test_is_another_for_another_path(self):
        self.assertNotEqual(digest_of(TREE), digest_of({"base/a.h": "int a;\n", "engine/c.h": "int b;\n"}))

    def test_is_another_for_a_header_more(self):
        self.assertNotEqual(digest_of(TREE), digest_of(TREE | {"engine/c.h": ""}))


if __name__ == "__main__":
    CMAKE, SCRIPT = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
