"""Every rule of docs/guide/rules.md has a test, and no test is named after a rule that is not there."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/docs"))

import rules  # noqa: E402


class Rules(unittest.TestCase):
    def setUp(self):
        self.rules = rules.rules_of((ROOT / "docs/guide/rules.md").read_text(encoding="utf-8"))
        self.tests = rules.tests_of(ROOT / "tests")

    def test_rules_are_numbered_in_order(self):
        self.assertEqual(self.rules, list(range(1, len(self.rules) + 1)))
        self.assertGreaterEqual(len(self.rules), 36)

    def test_every_rule_has_a_test(self):
        self.assertEqual([number for number in self.rules if number not in self.tests], [])

    def test_every_test_names_a_rule_that_is_there(self):
        self.assertEqual([number for number in self.tests if number not in self.rules], [])


if __name__ == "__main__":
    unittest.main()
