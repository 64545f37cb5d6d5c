"""The README's first program is examples/story.cpp, and what it prints is what that prints."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ReadmeTest(unittest.TestCase):
    def test_the_first_screen_is_a_real_program_and_its_real_output(self):
        readme = (ROOT / "README.md").read_text()
        blocks = re.findall(r"```(\w*)\n(.*?)```", readme, re.S)
        self.assertEqual([kind for kind, _ in blocks[:2]], ["cpp", ""])
        self.assertEqual(blocks[0][1], (ROOT / "examples/story.cpp").read_text())
        self.assertEqual(blocks[1][1], (ROOT / "examples/expected/story.txt").read_text())


if __name__ == "__main__":
    unittest.main()
