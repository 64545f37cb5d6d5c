"""Every planted bug is named by its exact line, and its healthy twin has no finding."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TENURE = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
EXAMPLES = pathlib.Path(sys.argv.pop(1)).resolve()

# Some raise errors on purpose, to show them; none leaks.
EXAMPLES_TO_RUN = ["activations", "after_dispose", "async_training", "co2_forecast", "demo",
                   "escape", "files", "model_cache", "model_in_a_loop", "scopes", "story"]


def recorded(program, recording, *arguments):
    return subprocess.run([program, *arguments], text=True, capture_output=True,
                          cwd=recording.parent,
                          env={**os.environ, "TENURE_TRACE": str(recording),
                               # Some of the bugs are leaks to a sanitizer as well.
                               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")
                                               + ":detect_leaks=0"})


def leaks(recording):
    done = subprocess.run([TENURE, "leaks", "--json", recording], text=True, capture_output=True)
    if done.returncode not in (0, 1):
        raise AssertionError(done.stderr)
    return done.returncode, json.loads(done.stdout)["findings"]


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.recording = pathlib.Path(folder.name) / "run.tenure"

    def check_planted(self, source):
        text = source.read_text()
        lines = [number for number, line in enumerate(text.splitlines(), 1) if "// PLANTED" in line]
        self.assertEqual(len(lines), 1)
        expected = re.findall(r"^// Finds: (\w+)(?: (\w+))?$", text, re.MULTILINE)
        self.assertTrue(expected)
        done = recorded(PROGRAMS / source.stem, self.recording, "--planted")
        code, found = leaks(self.recording)
        self.assertEqual(code, 1, f"nothing was found\n{done.stdout}{done.stderr}")
        for problem, error in expected:
            at_line = [each for each in found if each["problem"] == problem
                       and (each.get("line") == lines[0] or error == "OutOfMemoryError")
                       and (problem == "misused"
                            or pathlib.Path(each["file"]).name == source.name)]
            self.assertTrue(at_line, f"{problem} of line {lines[0]} is not among {found}")
            self.assertTrue(at_line[0]["remedy"])
            if problem == expected[0][0]:
                self.check_figures(text, at_line[0])
            if error:
                self.assertNotEqual(done.returncode, 0)
                if error in ("DisposedError", "InaccessibleTensorError"):
                    self.assertIn(f"{source.name}:{lines[0]}", done.stdout + done.stderr)
                self.assertIn(error, at_line[0]["title"])
        wrong = [each for each in found
                 if (each["problem"], each.get("line")) not in
                 [(problem, lines[0]) for problem, _ in expected]
                 and "OutOfMemoryError" not in each["title"]]
        self.assertEqual(wrong, [], "other lines were blamed as well")

    def check_figures(self, text, finding):
        for fact, key in (("Counts", "count"), ("Bytes", "bytes")):
            for number in re.findall(rf"^// {fact}: (\d+)$", text, re.MULTILINE):
                self.assertEqual(finding[key], int(number), finding["title"])

    def check_healthy(self, program, *arguments):
        done = recorded(program, self.recording, *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        code, found = leaks(self.recording)
        self.assertEqual((code, found), (0, []))


    def check_example(self, program):
        done = recorded(program, self.recording)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        _, found = leaks(self.recording)
        self.assertEqual([each for each in found if each["problem"] != "misused"], [])


def add(name, check):
    setattr(Planted, name, check)


for source in sorted(HERE.glob("*.cpp")):
    add(f"test_{source.stem}_is_named_by_its_line",
        lambda self, source=source: self.check_planted(source))
    add(f"test_healthy_{source.stem}_has_no_finding",
        lambda self, source=source: self.check_healthy(PROGRAMS / source.stem))
for pattern in subprocess.run([PROGRAMS / "patterns"], text=True, capture_output=True,
                              check=True).stdout.split():
    add(f"test_pattern_{pattern}_has_no_finding",
        lambda self, pattern=pattern: self.check_healthy(PROGRAMS / "patterns", pattern))
for example in EXAMPLES_TO_RUN:
    add(f"test_example_{example}_leaks_nothing",
        lambda self, example=example: self.check_example(EXAMPLES / example))

if __name__ == "__main__":
    unittest.main()
