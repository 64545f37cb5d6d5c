import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/doc_snippets"


class DocSnippets(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def page(self, text):
        file = self.root / "docs/page.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file

    def tool(self, command, path):
        return subprocess.run([sys.executable, TOOL, command, path, "--root", self.root],
                              capture_output=True, text=True)

    def generated(self):
        out = self.root / "out"
        run = self.tool("generate", out)
        self.assertEqual(run.returncode, 0, run.stderr)
        return (out / "other.cpp").read_text()

    def refused(self):
        run = self.tool("generate", self.root / "out")
        self.assertEqual(run.returncode, 1)
        return run.stderr.strip()

    def program(self, printed, status=0):
        """A program that prints the same whatever snippet it is to run."""
        file = self.root / "program"
        file.write_text(f"#!{sys.executable}\nimport sys\n"
                        f"if sys.argv[1] == '--tests': sys.exit(0)\n"
                        f"sys.stdout.write({printed!r}); sys.exit({status})\n")
        file.chmod(0o755)
        return file

    def test_statements_become_a_function_with_the_names_they_use(self):
        self.page("""\
            <!-- snippet: uses x, std::pair<int, int> p -->
            ```cpp
            x + p.first;
            ```
            """)
        text = self.generated()
        self.assertIn("void snippet_1(tn::Tensor& x, std::pair<int, int> p) {\n"
                      '#line 3 "docs/page.md"\nx + p.first;\n}', text)

    def test_a_block_that_continues_shares_the_function(self):
        self.page("""\
            ```cpp
            int a = 1;
            ```

            <!-- snippet: continues -->
            ```cpp
            int b = a;
            ```
            """)
        text = self.generated()
        self.assertEqual(text.count("void snippet_"), 1)
        self.assertIn("int a = 1;\n#line 7", text)

    def test_declarations_stand_outside_of_functions_and_includes_at_the_head(self):
        self.page("""\
            <!-- snippet: declarations -->
            ```cpp
            #include <list>
            struct S {};
            ```
            """)
        text = self.generated()
        self.assertNotIn("void snippet_", text)
        self.assertLess(text.index("#include <list>"), text.index("namespace docs_page_md"))
        self.assertIn('#line 3 "docs/page.md"\n\nstruct S {};', text)

    def test_a_program_is_run_under_its_name(self):
        self.page("""\
            <!-- snippet: run a.cpp -->
            ```cpp
            int main() {
            }
            ```

            ```
            ```
            """)
        text = self.generated()
        self.assertIn('#line 1 "a.cpp"\nint snippet_1() {\nreturn 0; }', text)
        self.assertIn('snippets::add("docs/page.md#a.cpp"', text)

    def test_other_languages_and_fragments_are_left_alone(self):
        self.page("""\
            ```sh
            ls
            ```
            <!-- snippet: fragment: a sketch -->
            ```cpp
            auto f = ...;
            ```
            """)
        self.assertNotIn("auto f", self.generated())

    def test_a_fragment_gives_a_reason(self):
        self.page("<!-- snippet: fragment -->\n```cpp\n...\n```\n")
        self.assertEqual(self.refused(), "docs/page.md:3: fragment needs to say what")

    def test_an_unknown_directive_is_refused(self):
        self.page("<!-- snippet: skip -->\n```cpp\nint a;\n```\n")
        self.assertEqual(self.refused(), "docs/page.md:3: no such kind of snippet: skip")

    def test_a_run_without_an_output_is_refused(self):
        self.page("<!-- snippet: run a.cpp -->\n```cpp\nint a;\n```\n")
        self.assertEqual(self.refused(), "docs/page.md:3: nothing shows what it prints")

    def test_a_fence_that_is_never_closed_is_refused(self):
        self.page("```cpp\nint a;\n")
        self.assertEqual(self.refused(), "docs/page.md:1: a fence that is never closed")

    def shows(self, output):
        return self.page("<!-- snippet: run a.cpp -->\n```cpp\nf();\n```\n\n"
                         f"```\n{output}```\n\nmore\n")

    def test_output_that_is_shown_passes(self):
        self.shows("a <n>\n\nb ...\n")
        run = self.tool("check", self.program("a 5\n\nb and c\n"))
        self.assertEqual((run.returncode, run.stdout), (0, "1 snippets were run\n"))

    def test_output_that_differs_names_its_line(self):
        self.shows("a\nb\n")
        run = self.tool("check", self.program("a\nc\n"))
        self.assertEqual(run.returncode, 1)
        self.assertIn("docs/page.md:8: shows   'b'\na.cpp prints 'c'", run.stderr)

    def test_a_program_that_fails_is_told(self):
        self.shows("a\n")
        self.assertEqual(self.tool("check", self.program("a\n", status=3)).returncode, 1)

    def test_write_puts_in_what_is_printed_and_touches_nothing_else(self):
        for before in ("", "old\nlines\n"):
            page = self.shows(before)
            self.assertEqual(self.tool("write", self.program("new\n\nlines\n")).returncode, 0)
            self.assertIn("```\n\n```\nnew\n\nlines\n```\n\nmore\n", page.read_text())


if __name__ == "__main__":
    unittest.main()
