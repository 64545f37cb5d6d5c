"""`tenure new` as a user meets it: the project is built, run and tested as it says, against an
installed Tenure; names and folders that cannot be are refused."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from commands import output

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = BUILD / "apps/tenure/tenure"
FILES = {"CMakeLists.txt", "README.md", ".gitignore", "src/model.h", "src/model.cpp",
         "src/main.cpp", "tests/model_test.cpp"}


class NewProject(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def new(self, name, folder=None, program=PROGRAM):
        return subprocess.run([program, "new", str(name)], text=True, capture_output=True,
                              cwd=folder or self.folder)

    def files(self, folder):
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    def check_refused(self, name, why):
        done = self.new(name)
        self.assertEqual(done.returncode, 2, name)
        self.assertIn(why, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_builds_runs_and_passes_its_test_by_the_commands_it_prints(self):
        prefix = self.folder / "some place"
        output(os.environ["CMAKE"], "--install", BUILD, "--prefix", prefix)
        done = self.new("my_app", program=prefix / "bin/tenure")
        self.assertEqual(done.returncode, 0, done.stderr)
        commands = done.stdout.split(":\n\n")[1]
        self.assertIn(f'-DCMAKE_PREFIX_PATH="{prefix}"', commands)
        environment = {**os.environ, "CMAKE_GENERATOR": "Ninja"}
        environment["PATH"] = f"{pathlib.Path(os.environ['CMAKE']).parent}:{environment['PATH']}"
        said = output("bash", "-ec", commands, cwd=self.folder, env=environment)
        self.assertIn("binary_accuracy 0.9", said)
        self.assertIn("100% tests passed", said)
        self.assertTrue((self.folder / "my_app/my_app.safetensors").exists())
        recording = self.folder / "run.tenure"
        output("./build/my_app", cwd=self.folder / "my_app",
               env={**environment, "TENURE_TRACE": str(recording)})
        self.assertIn("no findings", output(prefix / "bin/tenure", "leaks", "--strict", recording))

    def test_an_empty_folder_is_filled_and_can_be_the_one_one_is_in(self):
        for name, folder in (("one", self.folder), (".", self.folder / "two"),
                             (f"{self.folder}/three/", None), ("deep/er/four", None)):
            (self.folder / "two").mkdir(exist_ok=True)
            done = self.new(name, folder)
            self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("one", "two", "three", "deep/er/four"):
            self.assertEqual(self.files(self.folder / name), FILES)
            build = (self.folder / name / "CMakeLists.txt").read_text()
            self.assertIn(f"project({pathlib.Path(name).name} ", build)
            self.assertNotRegex(build, "@[A-Z]+@")

    def test_what_is_there_is_left_alone(self):
        (self.folder / "full").mkdir()
        (self.folder / "full/.hidden").write_text("mine")
        (self.folder / "file").write_text("mine")
        self.check_refused("full", "the folder is not empty")
        self.check_refused("file", "there is a file of that name")
        self.assertEqual(self.files(self.folder), {"full/.hidden", "file"})

    def test_a_name_that_cannot_be_a_project_s_is_refused_with_what_can(self):
        for name in ("9lives", "my app", "a/b.c", "caf\u00e9", ""):
            self.check_refused(name, "use letters, digits, _ and -, and begin with a letter")
        for name in ("test", "all", "tenure"):
            self.check_refused(name, "choose another name")
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipIf(os.geteuid() == 0, "may write anywhere")
    def test_a_folder_that_cannot_be_made_is_named(self):
        self.folder.chmod(0o500)
        self.check_refused("my_app", "cannot be written")

    def test_a_folder_below_a_file_is_named(self):
        (self.folder / "file").write_text("mine")
        done = self.new("file/my_app")
        self.assertEqual(done.returncode, 2)
        self.assertIn("file/my_app", done.stderr)


if __name__ == "__main__":
    unittest.main()
