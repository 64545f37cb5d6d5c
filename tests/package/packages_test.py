"""What `make package` makes, where there is neither a compiler nor a checkout.

The Debian packages are installed, by dpkg, into a root that holds Debian's essential packages and
what theirs depend on; the archive is unpacked into one that holds the C and C++ libraries alone.
"""

import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

from clean_root import CleanRoot, Installed
from commands import output

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
BUILD = pathlib.Path(sys.argv.pop(1))
CMAKE = os.environ["CMAKE"]
VERSION = re.search(r"VERSION (\d+\.\d+\.\d+)", (SOURCE / "CMakeLists.txt").read_text())[1]
ABI = VERSION.rpartition(".")[0]
USER_PRINTS = (HERE / "expected.txt").read_text()
BUILD_TOOLS = ("c++", "g++", "gcc", "cc", "clang", "ld", "as", "make", "ninja", "cmake", "node",
               "python3")


def setUpModule():
    global scratch, packages, archive
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    scratch = pathlib.Path(folder.name)
    output(pathlib.Path(CMAKE).with_name("cpack"), "--config", BUILD / "CPackConfig.cmake",
           "-B", scratch / "made")
    packages = {path.name.partition("_")[0]: path for path in scratch.glob("made/*.deb")}
    (archive,) = scratch.glob("made/*.tar.gz")


def field(package, name):
    return output("dpkg-deb", "--field", packages[package], name).strip()


def needs(package):
    return field(package, "Depends").split(", ")


def build_with_cmake(prefix):
    """A user's program, built outside of any checkout against what is installed in `prefix`."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    output(CMAKE, "-S", HERE, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
           "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF")
    output(CMAKE, "--build", folder)
    return folder / "user"


def build_with_pkg_config(prefix):
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    flags = output("pkg-config", "--cflags", "--libs", "tenure",
                   env=os.environ | {"PKG_CONFIG_LIBDIR": str(prefix / "lib/pkgconfig")})
    output("sh", "-c", f'"$0" -std=c++20 "$1" -o "$2" {flags}',
           os.environ["CXX"], HERE / "main.cpp", folder / "user")
    return folder / "user"


def elf(path, pattern):
    return re.findall(pattern, output("readelf", "--wide", "--dynamic", path))


class DebianPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        installed = Installed()
        wanted = [*installed.essential]
        for package in packages:
            wanted += [need for need in needs(package) if need.split()[0] not in packages]
        cls.root = CleanRoot(scratch / "debian", installed.closure(", ".join(wanted)))
        cls.before = cls.files()
        cls.install()

    @classmethod
    def install(cls):
        cls.root.dpkg("--install", *packages.values())

    @classmethod
    def files(cls):
        return {path for path in cls.root.folder.rglob("*")
                if path.relative_to(cls.root.folder).parts[0] not in ("proc", "tmp", "var")}

    def test_there_is_one_for_the_library_one_for_its_users_and_one_for_the_program(self):
        self.assertEqual(set(packages), {f"libtenure{ABI}", "libtenure-dev", "tenure"})
        for package, path in packages.items():
            architecture = output("dpkg", "--print-architecture").strip()
            self.assertEqual(path.name, f"{package}_{VERSION}_{architecture}.deb")
            self.assertEqual(field(package, "Version"), VERSION)
            self.assertEqual(field(package, "Architecture"), architecture)

    def test_the_library_is_named_after_its_abi(self):
        library = self.root.folder / f"usr/lib/libtenure.so.{ABI}"
        self.assertEqual(elf(library, r"SONAME.*\[(.*)\]"), [library.name])
        shlibs = output("dpkg-deb", "--info", packages[f"libtenure{ABI}"], "shlibs")
        self.assertEqual(shlibs.strip(), f"libtenure {ABI} libtenure{ABI} (>= {VERSION})")

    def test_headers_need_the_library_they_describe_and_nothing_else(self):
        self.assertEqual(needs("libtenure-dev"), [f"libtenure{ABI} (= {VERSION})"])

    def test_the_build_of_openblas_that_can_be_told_its_threads_is_asked_for(self):
        for package in (f"libtenure{ABI}", "tenure"):
            openblas = [need for need in needs(package) if "openblas" in need]
            self.assertEqual(openblas, ["libopenblas0-openmp"])

    def test_nothing_carries_symbols_for_a_debugger(self):
        for path in (f"usr/lib/libtenure.so.{VERSION}", "usr/bin/tenure"):
            sections = output("readelf", "--wide", "--sections", self.root.folder / path)
            self.assertNotRegex(sections, r"\.(debug_\w+|symtab)\b")

    def test_each_tells_its_licences(self):
        for package in packages:
            copyright = (self.root.folder / f"usr/share/doc/{package}/copyright").read_text()
            self.assertIn("License: Apache-2.0", copyright)

    def test_what_is_bundled_into_the_page_is_among_the_licences(self):
        lock = json.loads((SOURCE / "web/report/package-lock.json").read_text())
        copyright = (HERE / "../../cmake/package/copyright").read_text()
        for path, package in lock["packages"].items():
            if path and not package.get("dev"):
                self.assertIn(f"{path.removeprefix('node_modules/')}/*", copyright)

    def test_nothing_can_be_built_where_they_are_installed(self):
        for tool in BUILD_TOOLS:
            self.assertFalse([*self.root.folder.glob(f"usr/*bin/{tool}")], tool)

    def test_the_program_runs_there_and_is_well(self):
        report = self.root.run("/usr/bin/tenure", "doctor")
        self.assertIn("all is well", report)
        self.assertRegex(report, rf"Tenure +{re.escape(VERSION)},")
        self.assertIn("USE_OPENMP", report)

    def test_a_program_that_cmake_built_runs_there(self):
        self.check_runs(build_with_cmake(self.root.folder / "usr"))

    def test_a_program_that_pkg_config_helped_to_build_runs_there(self):
        self.check_runs(build_with_pkg_config(self.root.folder / "usr"))

    def check_runs(self, program):
        self.assertEqual(self.root.run_copy(program), USER_PRINTS)

    def test_they_leave_nothing_when_they_go(self):
        self.root.dpkg("--purge", *packages)
        self.addCleanup(self.install)
        self.assertEqual(self.files() ^ self.before, {self.root.folder / "etc/ld.so.cache"})


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = CleanRoot(scratch / "bare", Installed().closure("libc6, libstdc++6"))
        cls.place = "/some place/tenure"
        (folder := cls.root.folder / "some place").mkdir()
        output("tar", "-C", folder, "-xf", archive)
        cls.prefix = folder / "tenure"
        next(folder.iterdir()).rename(cls.prefix)

    def test_is_a_prefix(self):
        self.assertRegex(archive.name, rf"^tenure-{re.escape(VERSION)}-linux-\w+\.tar\.gz$")
        self.assertEqual({path.name for path in self.prefix.iterdir()},
                         {"bin", "include", "lib", "share"})

    def test_the_system_gives_the_c_and_the_cpp_library_and_nothing_else(self):
        for path in ("bin/tenure", f"lib/libtenure.so.{ABI}"):
            loaded = self.root.run("/lib64/ld-linux-x86-64.so.2", "--list", f"{self.place}/{path}")
            self.assertNotIn("not found", loaded)
            from_system = {name for name, path in re.findall(r"(\S+) => (.*) \(", loaded)
                           if not path.startswith(self.place)}
            self.assertLessEqual(from_system, {"libc.so.6", "libm.so.6", "libstdc++.so.6",
                                               "libgcc_s.so.1"})

    def test_asks_no_more_of_the_system_than_the_readme_says(self):
        libraries = [*self.prefix.glob("lib/*.so.*"), *self.prefix.glob("lib/tenure/*")]
        asked = "".join(output("readelf", "--wide", "--version-info", path)
                        for path in (self.prefix / "bin/tenure", *libraries))
        latest = {library: max(tuple(map(int, version.split(".")))
                               for version in re.findall(rf"Name: {library}_([\d.]+) ", asked))
                  for library in ("GLIBC", "GLIBCXX")}
        self.assertEqual(latest, {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 30)})
        self.assertIn("glibc 2.34 and the C++ library of GCC 12", (SOURCE / "README.md").read_text())

    def test_the_program_runs_and_is_well(self):
        self.assertIn("all is well", self.root.run(f"{self.place}/bin/tenure", "doctor"))

    def test_a_program_that_was_built_with_it_runs(self):
        program = build_with_cmake(self.prefix)
        self.assertEqual(
            self.root.run_copy(program, LD_LIBRARY_PATH=f"{self.place}/lib"), USER_PRINTS)

    def test_the_licence_of_every_library_in_it_comes_along(self):
        documents = self.prefix / "share/doc/tenure"
        text = (documents / "libraries.txt").read_text()
        listed = dict(re.findall(r"^(\S+): (\S+) ", text, re.M))
        self.assertEqual(set(listed),
                         {path.name for path in (self.prefix / "lib/tenure").iterdir()})
        for package in listed.values():
            self.assertTrue((documents / f"{package}.copyright").read_text())
        self.assertEqual((documents / "LICENSE").read_text(), (SOURCE / "LICENSE").read_text())


if __name__ == "__main__":
    unittest.main()
