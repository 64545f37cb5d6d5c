"""`tenure inspect` as a user meets it: tables, checks, exit codes, errors that name the fault."""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "data" / "io"
PROGRAM = sys.argv.pop(1)


def inspect(*arguments):
    return subprocess.run([PROGRAM, "inspect", *map(str, arguments)], text=True,
                          capture_output=True)


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class InspectCommand(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, data):
        path = self.folder / "file"
        path.write_bytes(data)
        return path

    def rows(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split() for line in done.stdout.splitlines()]

    def test_safetensors_are_listed_and_checked(self):
        data = struct.pack("<4f", 1, float("nan"), float("inf"), float("-inf"))
        done = inspect(self.file(safetensors({
            "__metadata__": {"format": "pt"},
            "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
            "half": {"dtype": "BF16", "shape": [1], "data_offsets": [16, 18]},
            "ids": {"dtype": "I8", "shape": [2], "data_offsets": [18, 20]},
            "odd": {"dtype": "U16", "shape": [1], "data_offsets": [20, 22]},
        }, data + b"\xc0\x7f" + b"\x01\x02" + b"ab")))
        rows = self.rows(done)
        self.assertIn("name dtype shape size NaN Inf".split(), rows)
        self.assertIn("w float32 [2, 2] 16 B 1 2".split(), rows)
        self.assertIn("half bfloat16 [1] 2 B 1 0".split(), rows)
        self.assertIn("ids int8 [2] 2 B - -".split(), rows)
        self.assertIn("odd U16 [1] 2 B ? ?".split(), rows)
        self.assertIn("4 tensors, 8 elements, 22 B (22 bytes); 2 NaN, 2 Inf".split(), rows)
        self.assertIn("format: pt".split(), rows)

    def test_npy_and_npz_are_known_by_what_they_hold(self):
        rows = self.rows(inspect(self.file((FIXTURES / "f8.npy").read_bytes())))
        self.assertIn("- float64 [2, 3] 48 B 0 0".split(), rows)
        rows = self.rows(inspect(self.file((FIXTURES / "packed.npz").read_bytes())))
        self.assertIn("w float32 [2, 3] 24 B 0 0".split(), rows)
        self.assertIn("zeros float32 [64, 64] 16.0 KiB 0 0".split(), rows)
        rows = self.rows(inspect(FIXTURES / "structured.npy"))
        self.assertIn("[('a',", rows[3])

    def test_the_layers_and_weights_of_a_javascript_model_are_listed(self):
        models = pathlib.Path(__file__).resolve().parents[1] / "io" / "fixtures" / "tfjs"
        rows = self.rows(inspect(models / "dense" / "model.json"))
        self.assertIn("dense_Dense1 (Dense) [any, 4] 16".split(), rows)
        self.assertIn("dense_Dense2/kernel float32 [4, 2] 32 B 0 0".split(), rows)
        self.assertIn("TensorFlow.js", rows[0])
        rows = self.rows(inspect(models / "shared_uint8" / "model.json"))
        self.assertIn("twin (Dense) [any, 2] (shared) b".split(), rows)

    def test_the_layers_of_a_model_are_listed_beside_its_weights(self):
        layer = {"class_name": "Dense", "config": {
            "name": "d", "units": 2, "use_bias": False, "batch_input_shape": [None, 1]}}
        model = {"class_name": "Sequential", "config": {"name": "m", "layers": [layer]}}

        def file(metadata):
            return self.file(safetensors({
                "__metadata__": {"tenure.format": "1", "tenure.model": json.dumps(metadata)},
                "d/kernel": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
            }, struct.pack("<2f", 1, 2)))

        rows = self.rows(inspect(file(model)))
        self.assertIn("d (Dense) [any, 2] 2".split(), rows)
        self.assertIn("d/kernel float32 [1, 2] 8 B 0 0".split(), rows)
        layer["class_name"] = "Unknown"
        done = inspect(file(model))
        self.assertEqual(done.returncode, 0)
        self.assertIn('no layer is called "Unknown"', done.stdout)
        layer.update(class_name="Dense", config={"name": "d", "units": 2**40,
                                                 "batch_input_shape": [None, 1]})
        done = inspect(file(model))
        self.assertEqual(done.returncode, 1)
        self.assertIn("bytes left for it", done.stderr)

    def test_a_broken_file_is_named_and_the_answer_is_no(self):
        whole = (FIXTURES / "stored.npz").read_bytes()
        damaged = bytearray(whole)
        damaged[whole.index(struct.pack("<f", 1.5))] ^= 1
        for data, complaint in {
            (FIXTURES / "f4.npy").read_bytes()[:-1]: "has 24 bytes, and 23 follow the head",
            bytes(damaged): "CRC error",
            whole[:100]: "not a sound zip archive",
            b"": "0 bytes, too few for a safetensors file",
            b"plain text, no tensors": "not a safetensors file",
            safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"1234"):
                'tensor "w" ends at byte 8 of 4',
        }.items():
            done = inspect(self.file(data))
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(complaint, done.stderr)
            self.assertIn(str(self.folder / "file"), done.stderr)
            self.assertEqual(done.stdout, "")

    def test_no_file_is_bad_input(self):
        for arguments in ([self.folder / "none"], [self.folder], []):
            self.assertEqual(inspect(*arguments).returncode, 2, arguments)

    def test_names_cannot_drive_the_terminal(self):
        done = inspect(self.file(safetensors(
            {"\x1b[31mred": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]}}, b"1")))
        self.assertIn("\\x1b[31mred", done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_help_teaches(self):
        done = inspect("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Example: tenure inspect", done.stdout)


if __name__ == "__main__":
    unittest.main()
