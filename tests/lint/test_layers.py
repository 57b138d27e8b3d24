"""check_layers goes red on each kind of forbidden include, and on a rule that would allow a cycle."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from bad_tree import BadTree  # noqa: E402

import check_layers  # noqa: E402


class Layers(BadTree):
    def setUp(self):
        super().setUp()
        self.write("include/fovea/fovea.h", "/* public */\n")
        self.write("src/core/error.h", '#include "fovea/fovea.h"\n#include <string>\n')
        self.write("src/plan/plan.h", '#include "core/error.h"\n')

    def test_allowed_includes_pass(self):
        self.write("tests/unit/plan_test.cpp", '#include "plan/plan.h"\n#include "fovea/fovea.h"\n')
        self.assert_only(check_layers.check)

    def test_upward_include(self):
        self.write("src/core/bad.cpp", '// x\n#include "plan/plan.h"\n')
        self.assert_only(check_layers.check, "src/core/bad.cpp:2: src/core may not include src/plan")

    def test_reference_sees_public_headers_only(self):
        self.write("reference/bad.cpp", '#include "core/error.h"\n')
        self.assert_only(check_layers.check, "reference may not include src/core")

    def test_tool_sees_public_headers_only(self):
        self.write("tools/fovea/bad.cpp", '#include <fovea/fovea.h>\n#include "../../src/core/error.h"\n')
        self.assert_only(check_layers.check, "tools/fovea/bad.cpp:2: tools/fovea may not include src/core")

    def test_device_tree_is_freestanding(self):
        self.write("device/base/bad.h", "#include <cstdint>\n")
        self.assert_only(check_layers.check, "freestanding")

    def test_foreign_library(self):
        self.write("src/core/bad.cpp", "#include <cuda_runtime.h>\n#include <torch/torch.h>\n")
        self.assert_only(check_layers.check, "cuda_runtime.h is of a library", "torch/torch.h is of a library")

    def test_include_of_nothing(self):
        self.write("src/core/bad.cpp", '#include "core/gone.h"\n')
        self.assert_only(check_layers.check, "is not in the tree")

    def test_unknown_directory(self):
        self.write("src/new/bad.cpp", '#include "fovea/fovea.h"\n')
        self.assert_only(check_layers.check, "not in scripts/lint/layers.toml")

    def test_rule_that_allows_a_cycle(self):
        rules = self.root / "scripts/lint/layers.toml"
        text = rules.read_text().replace(
            '"src/core" = { level = 1, may_include = [', '"src/core" = { level = 1, may_include = ["src/plan", '
        )
        rules.write_text(text)
        self.assert_only(check_layers.check, "src/core may not be allowed src/plan")
