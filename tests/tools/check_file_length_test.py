import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_file_length"


class CheckFileLength(unittest.TestCase):
    def check(self, path, lines):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("\n" * lines)
        run = subprocess.run([sys.executable, TOOL, "--root", root],
                             stdout=subprocess.PIPE, text=True)
        return run.returncode, run.stdout

    def test_800_lines_pass(self):
        self.assertEqual(self.check("src/ops/unary.cpp", 800), (0, ""))

    def test_801_lines_fail(self):
        self.assertEqual(self.check("src/ops/unary.cpp", 801),
                         (1, "src/ops/unary.cpp: 801 lines, more than 800\n"))

    def test_built_and_installed_files_do_not_count(self):
        self.assertEqual(self.check("build/release/generated.cpp", 801), (0, ""))
        self.assertEqual(self.check("bindings/node/node_modules/x/index.js", 801), (0, ""))


if __name__ == "__main__":
    unittest.main()
