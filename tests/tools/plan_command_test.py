"""`tenure plan` as a user meets it: sound solutions, exit codes, errors that name the line."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv.pop(1)
# Problems of others that are known to be hard; nobody may copy them here.
PROBLEMS = pathlib.Path(os.environ.get("TENURE_PLANNER_PROBLEMS", ROOT / "../shared/data/planner"))
CAPACITY = 1 << 20


def tenure(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True)


class PlanCommand(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def problem(self, text):
        path = self.folder / "problem.csv"
        path.write_text(text)
        return path

    def check_solution(self, problem, capacity):
        done = tenure("plan", problem, "--capacity", capacity, "--seconds", 60,
                      "-o", self.folder / "out.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "out.csv") as file:
            rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
        with open(problem) as file:
            given = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
        self.assertEqual([{key: row[key] for key in ("id", "lower", "upper", "size")}
                          for row in rows], given)
        for i, a in enumerate(rows):
            self.assertLessEqual(a["offset"] + a["size"], capacity)
            for b in rows[:i]:
                together = a["lower"] < b["upper"] and b["lower"] < a["upper"]
                apart = (a["offset"] + a["size"] <= b["offset"]
                         or b["offset"] + b["size"] <= a["offset"])
                self.assertTrue(apart or not together, (a, b))
        return done.stdout

    def test_solution_fits_and_nothing_overlaps(self):
        # A rectangle of 6 times and 12 bytes, cut up: there is one height that fits.
        problem = self.problem("id,lower,upper,size\n0,0,6,3\n1,0,2,9\n2,2,6,4\n3,2,5,5\n4,5,6,5\n")
        printed = self.check_solution(problem, 12)
        self.assertIn("height       12", printed)
        self.assertIn("lower bound  12", printed)

    def test_hard_problems_fit_their_capacity(self):
        problems = sorted(PROBLEMS.glob(f"*.{CAPACITY}.csv"))
        if not problems:
            self.skipTest(f"no problems in {PROBLEMS}: TENURE_PLANNER_PROBLEMS says where they are")
        for problem in problems:
            with self.subTest(problem.name):
                self.check_solution(problem, CAPACITY)

    def test_says_when_there_is_no_plan(self):
        done = tenure("plan", self.problem("id,lower,upper,size\n0,0,2,5\n1,1,3,5\n"),
                      "--capacity", 9)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no plan within 9 bytes", done.stderr)
        self.assertIn("lower bound  10", done.stdout)

    def test_bad_input_names_file_and_line(self):
        for text, complaint in {
            "id,lower,upper\n": ":1: the first line must be id,lower,upper,size",
            "id,lower,upper,size\n0,0,2\n": ":2: 3 fields, not 4",
            "id,lower,upper,size\n0,0,2,x\n": ':2: not a whole number: "x"',
            "id,lower,upper,size\n0,5,2,1\n": ":2: no lifetime and size",
            "id,lower,upper,size\n": "no buffers",
        }.items():
            done = tenure("plan", self.problem(text))
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(complaint, done.stderr)
        self.assertEqual(tenure("plan", self.folder / "none.csv").returncode, 2)
        self.assertEqual(tenure("plan").returncode, 2)

    def test_help_teaches(self):
        done = tenure("plan", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Example: tenure plan", done.stdout)


if __name__ == "__main__":
    unittest.main()
