import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_output"


class CheckOutput(unittest.TestCase):
    def check(self, expected, printed, status=0):
        file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "expected.txt")
        file.write_text(expected)
        program = f"import sys; sys.stdout.write({printed!r}); sys.exit({status})"
        run = subprocess.run([sys.executable, TOOL, file, sys.executable, "-c", program],
                             capture_output=True, text=True)
        return run.returncode, run.stderr

    def test_equal_lines_pass(self):
        self.assertEqual(self.check("a (1)\n\nb\n", "a (1)\n\nb\n")[0], 0)

    def test_dots_match_any_text_within_a_line(self):
        self.assertEqual(self.check("born ... tanh\n", "born rnn.cpp:41   tanh\n")[0], 0)
        self.assertEqual(self.check("a...\n", "a\nb\n")[0], 1)

    def test_n_matches_a_number_and_nothing_else(self):
        for number in ("0", "-12", "1.", "3.25", ".5", "1e-07", "-inf", "nan"):
            self.assertEqual(self.check("x = <n> ms\n", f"x = {number} ms\n")[0], 0, number)
        for text in ("", "1.2.3", "one", "e5"):
            self.assertEqual(self.check("x = <n> ms\n", f"x = {text} ms\n")[0], 1, text)

    def test_other_characters_are_literal(self):
        self.assertEqual(self.check("[1]. a*\n", "1x aa\n")[0], 1)

    def test_missing_and_extra_lines_fail(self):
        self.assertEqual(self.check("a\nb\n", "a\n")[0], 1)
        self.assertEqual(self.check("a\n", "a\nb\n")[0], 1)

    def test_a_failing_program_fails(self):
        self.assertEqual(self.check("a\n", "a\n", status=3)[0], 1)

    def test_the_difference_names_its_line(self):
        message = self.check("a\nb\n", "a\nc\n")[1]
        self.assertIn("expected.txt:2: expected 'b'", message)
        self.assertIn("printed  'c'", message)


if __name__ == "__main__":
    unittest.main()
