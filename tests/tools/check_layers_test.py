import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/check_layers"


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "tools").mkdir()
        shutil.copy(ROOT / "tools/layers.json", self.root / "tools")

    def plant(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run_tool(self):
        run = subprocess.run([sys.executable, TOOL, "--root", self.root],
                             stdout=subprocess.PIPE, text=True)
        return run.returncode, run.stdout.splitlines()

    def assert_allowed(self):
        self.assertEqual(self.run_tool(), (0, []))

    def assert_refused(self, *lines):
        self.assertEqual(self.run_tool(), (1, list(lines)))

    def test_earlier_layers_public_headers_and_libraries_are_allowed(self):
        self.plant("src/memory/pool.cpp",
                   '#include "memory/pool.h"\n#include <memory>\n#include "core/shape.h"\n'
                   '#include "tenure/shape.h"\n#include <tenure/dtype.h>\n#include <fmt/core.h>\n')
        self.assert_allowed()

    def test_a_later_layer_is_refused_with_its_line(self):
        self.plant("src/core/shape.cpp", '#include "core/shape.h"\n\n#include "memory/pool.h"\n')
        self.assert_refused("src/core/shape.cpp:3: layer core may not include memory/pool.h")

    def test_angle_brackets_and_relative_paths_do_not_hide_a_layer(self):
        self.plant("src/memory/pool.h", "")
        self.plant("src/core/a.cpp", "#  include <memory/pool.h>\n")
        self.plant("src/core/b.cpp", '#include "../memory/pool.h"\n')
        self.assert_refused("src/core/a.cpp:1: layer core may not include memory/pool.h",
                            "src/core/b.cpp:1: layer core may not include memory/pool.h")

    def test_kernels_are_hidden_from_autodiff_and_graph(self):
        text = '#include "backend/cpu/parallel.h"\n'
        self.plant("src/autodiff/tape.cpp", text)
        self.plant("src/graph/executor.cpp", text)
        self.plant("src/runtime/init.cpp", text)
        self.assert_refused(
            "src/autodiff/tape.cpp:1: layer autodiff may not include backend/cpu/parallel.h",
            "src/graph/executor.cpp:1: layer graph may not include backend/cpu/parallel.h")

    def test_the_planner_sees_core_only(self):
        self.plant("src/graph/plan/plan.cpp",
                   '#include "graph/plan/plan.h"\n#include "core/shape.h"\n'
                   '#include "memory/pool.h"\n#include "graph/ir.h"\n')
        self.plant("src/graph/passes.cpp", '#include "graph/plan/plan.h"\n')
        self.assert_refused(
            "src/graph/plan/plan.cpp:3: layer graph/plan may not include memory/pool.h",
            "src/graph/plan/plan.cpp:4: layer graph/plan may not include graph/ir.h")

    def test_folders_below_a_layer_belong_to_it(self):
        self.plant("src/backend/cpu/onednn/gemm.cpp", '#include "autodiff/tape.h"\n')
        self.assert_refused("src/backend/cpu/onednn/gemm.cpp:1: "
                            "layer backend/cpu may not include autodiff/tape.h")

    def test_a_file_outside_every_layer_is_refused(self):
        self.plant("src/backend/common.h", "")
        self.assert_refused("src/backend/common.h:1: in no layer of tools/layers.json")

    def test_public_headers_include_public_headers_and_the_standard_library_only(self):
        self.plant("include/tenure/tensor.h",
                   '#include "tenure/shape.h"\n#include <source_location>\n'
                   '#include "core/shape.h"\n#include <fmt/core.h>\n#include <omp.h>\n')
        self.assert_refused(
            "include/tenure/tensor.h:3: layer include/tenure may not include core/shape.h",
            "include/tenure/tensor.h:4: layer include/tenure may not include fmt/core.h",
            "include/tenure/tensor.h:5: layer include/tenure may not include omp.h")

    def test_every_exception_names_layers(self):
        data = json.loads((ROOT / "tools/layers.json").read_text())
        for rule in ("except", "only"):
            for layer, others in data[rule].items():
                self.assertLessEqual({layer, *others}, set(data["order"]))


class CheckCalls(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.compile("core", "void high(); void low() { high(); }")
        self.compile("memory", "void low(); void high() { low(); }")

    def compile(self, layer, text):
        folder = self.root / f"objects/tenure_{layer}.dir"
        folder.mkdir(parents=True)
        subprocess.run(["c++", "-c", "-x", "c++", "-", "-o", folder / "file.o"], check=True,
                       input=f"namespace tenure {{ {text} }}", text=True)

    def run_tool(self, **upward):
        layers = json.loads((ROOT / "tools/layers.json").read_text()) | {"upward": upward}
        (self.root / "tools").mkdir(exist_ok=True)
        (self.root / "tools/layers.json").write_text(json.dumps(layers))
        run = subprocess.run([sys.executable, TOOL, "--root", self.root,
                              "--objects", self.root / "objects"],
                             stdout=subprocess.PIPE, text=True)
        return run.returncode, run.stdout.splitlines()

    def test_a_call_of_a_later_layer_is_refused(self):
        self.assertEqual(self.run_tool(), (1, ["layer core may not call tenure::high()"]))

    def test_unless_it_is_listed(self):
        self.assertEqual(self.run_tool(core=["high("]), (0, []))

    def test_what_is_listed_is_called(self):
        self.assertEqual(
            self.run_tool(core=["high("], memory=["gone("]),
            (1, ["layer memory does not call tenure::gone(: take it out of tools/layers.json"]))


if __name__ == "__main__":
    unittest.main()
