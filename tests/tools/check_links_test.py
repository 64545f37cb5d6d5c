import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check_links"


class CheckLinks(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def plant(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def check(self, *arguments):
        run = subprocess.run([sys.executable, TOOL, "--root", self.root, *arguments],
                             stdout=subprocess.PIPE, text=True)
        return run.returncode, run.stdout.splitlines()

    def test_files_folders_and_headings_that_are_there_pass(self):
        self.plant("README.md", "[a](docs/a.md) [b](docs/a.md#two-words) [c](docs/) [d](#top)\n\n# Top\n")
        self.plant("docs/a.md", "# One\n\n## Two `words`\n\n[up](../README.md) <span id=\"x\"></span>\n")
        self.plant("docs/b.md", "[a](a.md#x) [w](https://example.org/#y) [mail](mailto:a@example.org)\n")
        self.assertEqual(self.check(), (0, []))

    def test_a_file_that_is_not_there_is_named_with_its_line(self):
        self.plant("docs/a.md", "# A\n\n[b](b.md)\n")
        self.assertEqual(self.check(), (1, ["docs/a.md:3: b.md: no such file"]))

    def test_a_heading_that_is_not_there_is_named(self):
        self.plant("docs/a.md", "# A\n\n[b](#b), [c](c.md#c)\n")
        self.plant("docs/c.md", "# D\n")
        self.assertEqual(self.check(), (1, ["docs/a.md:3: #b: no such heading",
                                            "docs/a.md:3: c.md#c: no such heading"]))

    def test_the_second_heading_of_a_name_has_a_number(self):
        self.plant("docs/a.md", "# A\n\n## Why\n\n## Why\n\n[1](#why) [2](#why-1)\n")
        self.assertEqual(self.check(), (0, []))

    def test_a_link_out_of_the_tree_is_refused(self):
        self.plant("docs/a.md", "[b](../../b.md)\n")
        self.assertEqual(self.check(), (1, ["docs/a.md:1: ../../b.md: leads outside"]))

    def test_code_holds_no_links_and_no_headings(self):
        self.plant("docs/a.md", "```cpp\nf[i](x.md)\n# no\n```\n\n`[a](b.md)` [c](#no)\n")
        self.assertEqual(self.check(), (1, ["docs/a.md:6: #no: no such heading"]))

    def test_a_site_is_checked_by_its_pages(self):
        self.plant("site/a.html", '<a href="b.html#x">b</a>\n<a href="b.html#y">b</a>\n'
                                  '<script src="c.js"></script>\n<a href="https://example.org">w</a>\n')
        self.plant("site/b.html", '<h2 id="x">x</h2>\n')
        self.assertEqual(self.check("--site", str(self.root / "site")),
                         (1, ["a.html:2: b.html#y: no such heading", "a.html:3: c.js: no such file"]))


if __name__ == "__main__":
    unittest.main()
