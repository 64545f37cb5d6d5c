"""How the reference reads a header: declarations as written, without bodies, with their comments."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/docs"))

import header  # noqa: E402


class Headers(unittest.TestCase):
    def declaration(self, text, line=1, **options):
        return header.Source(text).declaration("name", line, **options)

    def test_a_body_and_the_site_are_left_out(self):
        found = self.declaration(
            "Tensor add(Arg a, Arg b,\n"
            "           std::source_location site = std::source_location::current()) {\n"
            "  return f({a, b}, '}', \"}\");\n"
            "}  // adds\n")
        self.assertEqual((found.text, found.beside, found.last), ("Tensor add(Arg a, Arg b);", "adds", 3))

    def test_initialisers_of_members_are_part_of_the_body(self):
        found = self.declaration("Arg(Tensor t) : site_{1}, tensor_(std::move(t)) {}\nint next;\n")
        self.assertEqual((found.text, found.last), ("Arg(Tensor t);", 0))

    def test_a_value_stays(self):
        found = self.declaration("std::size_t most = std::size_t{1} << 30;  // bytes", keep_braces=True)
        self.assertEqual((found.text, found.beside), ("std::size_t most = std::size_t{1} << 30;", "bytes"))

    def test_template_and_requires_are_lines_of_their_own(self):
        found = self.declaration("int before;\ntemplate <class T>\n  requires(sizeof(T) > 1)\n"
                                 "T item() const;\n", line=4)
        self.assertEqual(found.text, "template <class T>\nrequires(sizeof(T) > 1)\nT item() const;")

    def test_a_comment_beside_may_take_several_lines(self):
        found = self.declaration("bool check = false;  // report what\n"
                                 "                     // outlives it\n")
        self.assertEqual(found.beside, "report what outlives it")

    def test_the_comment_above_is_the_declarations(self):
        found = self.declaration("int a;\n\n// Ends it.\n// For good.\nvoid dispose();\n", line=5)
        self.assertEqual((found.above, found.first), (["// Ends it.", "// For good."], 2))

    def test_a_comment_heads_a_run_and_a_later_one_its_declaration(self):
        source = header.Source("// All.\nint a();\n// Only b.\nint b();\n\nint c();\n")
        runs = source.runs([source.declaration(name, line)
                            for name, line in (("a", 2), ("b", 4), ("c", 6))])
        self.assertEqual([run.comment for run in runs], [["All."], []])
        self.assertEqual([[each.name for each in run.declarations] for run in runs], [["a", "b"], ["c"]])
        self.assertEqual(runs[0].declarations[1].above, ["// Only b."])

    def test_macros_that_stand_for_declarations_are_written_out(self):
        text = ("// For all.\n#define TENURE_FIELDS \\\n  int a = 1; /* one */ \\\n"
                "  int b = 2  /* two */\n\nstruct TENURE_API S {\n  TENURE_FIELDS;\n};\n")
        self.assertEqual(header.expand(text, header.macros_of([text])),
                         "\nstruct S {\n  int a = 1;  // one\n  int b = 2;  // two\n};\n")


if __name__ == "__main__":
    unittest.main()
