"""Folders to change the root to, with some of this machine's Debian packages and nothing else."""

import os
import pathlib
import re
import shutil
import subprocess

from commands import output

# A user who is not root becomes one in a namespace of their own.
AS_ROOT = ["unshare"] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
DATABASE = "var/lib/dpkg"
# Nothing there is needed to run a program.
LEFT_OUT = re.compile(r"/usr/share/(doc|man|locale|info|lintian)/")


class Installed:
    """The packages of this machine."""

    def __init__(self):
        fields = ("binary:Package", "Package", "Essential", "Provides", "Pre-Depends", "Depends")
        self.named = {}
        self.essential = []
        self.needs = {}
        form = "\t".join(f"${{{field}}}" for field in fields) + "\n"
        for line in output("dpkg-query", "--show", "--showformat", form).splitlines():
            full, name, essential, provides, *needs = line.split("\t")
            self.needs[full] = ", ".join(filter(None, needs))
            if essential == "yes":
                self.essential.append(full)
            for alias in [name, *re.findall(r"(?:^|, )([^ ,]+)", provides)]:
                self.named.setdefault(alias, full)
            self.named[name] = full

    def closure(self, needs):
        """What `needs`, a Depends field, takes to be met."""
        packages = set()
        waiting = [needs]
        while waiting:
            for alternatives in filter(None, waiting.pop().split(", ")):
                names = [re.split("[ :(]", name)[0] for name in alternatives.split(" | ")]
                package = next((self.named[name] for name in names if name in self.named), None)
                if package is None:
                    raise AssertionError(f"nothing that is installed here is {alternatives}")
                if package not in packages:
                    packages.add(package)
                    waiting.append(self.needs[package])
        return packages


class CleanRoot:
    def __init__(self, folder, packages):
        self.folder = pathlib.Path(folder)
        (self.folder / "usr").mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.folder / "usr" / name).mkdir()
            if os.path.islink(f"/{name}"):
                (self.folder / name).symlink_to(f"usr/{name}")
        (self.folder / "tmp").mkdir()
        self._copy_files(packages)
        self._copy_database(packages)

    def _copy_files(self, packages):
        listed = output("dpkg-query", "--listfiles", *packages).splitlines()
        files = sorted({name for name in listed
                        if name.startswith("/") and not LEFT_OUT.match(name)
                        and (os.path.islink(name) or os.path.isfile(name))})
        pack = subprocess.Popen(["tar", "-C", "/", "-cf", "-", "-T", "-"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        unpack = subprocess.Popen(["tar", "-C", str(self.folder), "--keep-directory-symlink",
                                   "--no-same-owner", "-xf", "-"], stdin=pack.stdout)
        pack.stdout.close()
        pack.stdin.write("".join(f".{name}\n" for name in files).encode())
        pack.stdin.close()
        if pack.wait() != 0 or unpack.wait() != 0:
            raise AssertionError(f"files of {sorted(packages)} were not copied")

    def _copy_database(self, packages):
        database = self.folder / DATABASE
        for name in ("info", "updates", "triggers"):
            (database / name).mkdir(parents=True, exist_ok=True)
        names = {package.split(":")[0] for package in packages}
        stanzas = re.findall(r"^Package: (\S+)\n(.*?\n)\n", pathlib.Path("/", DATABASE, "status")
                             .read_text(), re.S | re.M)
        (database / "status").write_text("".join(
            f"Package: {name}\n{fields}\n" for name, fields in stanzas if name in names))
        for package in packages:
            for name in (package, package.split(":")[0]):
                lists = pathlib.Path("/", DATABASE, "info", f"{name}.list")
                if lists.exists():
                    shutil.copy(lists, database / "info")

    def run(self, program, *arguments, **variables):
        """What a program prints with this root as the whole file system. Of /proc there is what
        tells a program where it lies."""
        (self.folder / "proc/self").mkdir(parents=True, exist_ok=True)
        link = self.folder / "proc/self/exe"
        link.unlink(missing_ok=True)
        link.symlink_to(program)
        return output(*AS_ROOT, "--root", self.folder, program, *arguments,
                      env=ENVIRONMENT | variables)

    def run_copy(self, program, **variables):
        """The same for a program from outside, which may write to the folder it is given."""
        shutil.copy(program, self.folder / "tmp/program")
        return self.run("/tmp/program", "/tmp", **variables)

    def dpkg(self, *arguments):
        return output(*AS_ROOT, "dpkg", "--root", self.folder, *arguments, env=ENVIRONMENT)
