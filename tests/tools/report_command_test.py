"""`tenure report` as a user meets it: a page from a recording, exit codes, errors that name files."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

EXAMPLE = sys.argv.pop(2)
PROGRAM = sys.argv.pop(1)


def report(*arguments):
    return subprocess.run([PROGRAM, "report", *map(str, arguments)], text=True,
                          capture_output=True)


class ReportCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.recording = cls.folder / "run.tenure"
        # Tests run side by side: threads that wait for each other would only be in the way.
        subprocess.run([EXAMPLE, cls.recording], check=True, capture_output=True,
                       env={**os.environ, "OMP_NUM_THREADS": "1"})
        # A build without the page says so, whatever it is asked.
        if "TENURE_REPORT=OFF" in report(cls.recording).stderr:
            raise unittest.SkipTest("built without the page")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_page_is_written_where_it_was_asked_for(self):
        page = self.folder / "page.html"
        done = report(self.recording, "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{page}: ", done.stdout)
        self.assertIn("1 finding", done.stdout)
        text = page.read_text()
        self.assertIn("<title>recorded_training - Tenure report</title>", text)
        self.assertNotIn("<!--tenure:", text)
        self.assertNotIn("http://", text.replace("http://www.w3.org/2000/svg", ""))

    def test_page_stands_beside_the_recording_by_default(self):
        self.assertEqual(report(self.recording).returncode, 0)
        self.assertTrue((self.folder / "run.html").exists())

    def test_bad_input_names_the_file(self):
        none = self.folder / "none.tenure"
        wrong = self.folder / "wrong.tenure"
        wrong.write_text("this is no recording")
        for bad in (none, wrong):
            done = report(bad)
            self.assertEqual(done.returncode, 2)
            self.assertIn(bad.name, done.stderr)
            self.assertFalse(bad.with_suffix(".html").exists())
        done = report(self.recording, "-o", self.folder / "no" / "page.html")
        self.assertEqual(done.returncode, 2)
        self.assertIn("page.html", done.stderr)
        self.assertEqual(report().returncode, 2)

    def test_help_teaches(self):
        done = report("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Example: TENURE_TRACE=run.tenure", done.stdout)


if __name__ == "__main__":
    unittest.main()
