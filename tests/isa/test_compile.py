"""Every function of the contract assembles on every target that has it, and is refused by the nearest that has not."""

import re
import unittest

import nvrtc
import probes

NVRTC, REASON = nvrtc.find()
REFUSAL = re.compile(r"(not supported on|requires|supported on) \.?target|\.target 'sm_|PTX ISA")


def warnings(log):
    """Without the assembler's advice on speed (multicast on targets without the hardware for it)."""
    return [line for line in log.splitlines() if "warning" in line and "Advisory" not in line]


@unittest.skipUnless(NVRTC, REASON)
class Compile(unittest.TestCase):
    def setUp(self):
        self.headers = nvrtc.project_headers(probes.ROOT)

    def test_every_function_on_every_target(self):
        for target in probes.TARGETS:
            for family, source in probes.families(target).items():
                with self.subTest(target=target, family=family):
                    cubin, log = NVRTC.compile(source, target, self.headers)
                    self.assertIsNotNone(cubin, log)
                    self.assertEqual(warnings(log), [])

    def test_refused_below_the_minimum(self):
        count = 0
        for function, target, source in probes.refusals():
            with self.subTest(function=function.signature(), target=target):
                cubin, log = NVRTC.compile(source, target, self.headers)
                self.assertIsNone(cubin, f"{function.name} assembles on {target}")
                self.assertRegex(log, REFUSAL)
                count += 1
        self.assertGreater(count, 0)


if __name__ == "__main__":
    unittest.main()
