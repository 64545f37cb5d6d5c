"""Tenure inside another project: the library is built there, and nothing else."""

import os
import pathlib
import tempfile
import unittest

from commands import output

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
WAYS = {
    "add_subdirectory": [f"-DTENURE_FOLDER={SOURCE}"],
    "FetchContent": ["-DFETCH=ON", f"-DFETCHCONTENT_SOURCE_DIR_TENURE={SOURCE}"],
}
# What only the program, the tests and the bindings need.
NOT_NEEDED = ("CLI11", "GTest", "Python3")


class Subproject(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.builds = {}
        for way, options in WAYS.items():
            build = cls.builds[way] = pathlib.Path(folder.name, way)
            output(os.environ["CMAKE"], "-G", "Ninja", "-S", HERE / "parent", "-B", build,
                   f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", *options,
                   "-DTENURE_BATCHES=OFF",  # so that ninja names each file
                   *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in NOT_NEEDED))

    def test_only_the_library_is_built(self):
        library = {str(path) for path in SOURCE.glob("src/**/*.cpp")}
        for way, build in self.builds.items():
            with self.subTest(way):
                read = output("ninja", "-C", build, "-t", "inputs", "all").splitlines()
                self.assertEqual({path for path in read if path.startswith(f"{SOURCE}/")},
                                 library | {str(HERE / "main.cpp")})

    def test_no_program_of_javascript_is_looked_for(self):
        for way, build in self.builds.items():
            with self.subTest(way):
                self.assertNotRegex((build / "CMakeCache.txt").read_text(), "(NODE|NPM)_PROGRAM")

    def test_the_project_around_it_keeps_its_own_settings(self):
        for way, build in self.builds.items():
            with self.subTest(way):
                self.assertRegex((build / "CMakeCache.txt").read_text(), r"CMAKE_BUILD_TYPE:\w+=\n")
                self.assertFalse((build / "CPackConfig.cmake").exists())

    def test_its_files_compile_there(self):
        build = self.builds["add_subdirectory"]
        output("ninja", "-C", build, "tenure/CMakeFiles/tenure_core.dir/src/core/dtype.cpp.o")


if __name__ == "__main__":
    unittest.main()
