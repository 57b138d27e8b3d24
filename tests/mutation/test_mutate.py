"""The mutation tool itself: the list is well-formed and fits today's sources, and a mutation that no longer applies is
an error, never a pass."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import mutate  # noqa: E402


def entry(**changes):
    return {"name": "a", "file": "f.cpp", "find": "x", "replace": "y", "breaks": "x", "ci": False} | changes


class List(unittest.TestCase):
    def test_every_text_is_found_once(self):
        mutations = mutate.load(mutate.MUTATIONS)
        self.assertGreaterEqual(len(mutations), 30)
        for mutation in mutations:
            with self.subTest(mutation["name"]):
                mutate.mutated(ROOT, mutation)

    def test_some_run_in_ci(self):
        self.assertGreaterEqual(sum(m["ci"] for m in mutate.load(mutate.MUTATIONS)), 8)


class Errors(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)

    def load(self, *mutations):
        path = self.root / "mutations.json"
        path.write_text(json.dumps(mutations))
        return mutate.load(path)

    def refused(self, text, function, *arguments):
        with self.assertRaisesRegex(mutate.MutationError, text):
            function(*arguments)

    def test_text_is_replaced(self):
        (self.root / "f.cpp").write_text("a x b")
        self.assertEqual(mutate.mutated(self.root, entry())[1], "a y b")

    def test_text_not_found(self):
        (self.root / "f.cpp").write_text("a b")
        self.refused("found 0 times", mutate.mutated, self.root, entry())

    def test_text_found_twice(self):
        (self.root / "f.cpp").write_text("x x")
        self.refused("found 2 times", mutate.mutated, self.root, entry())

    def test_file_missing(self):
        self.refused("no file", mutate.mutated, self.root, entry())

    def test_name_given_twice(self):
        self.refused("named twice", self.load, entry(), entry())

    def test_mutation_without_change(self):
        self.refused("changes nothing", self.load, entry(replace="x"))

    def test_unknown_key(self):
        self.refused("keys must be", self.load, entry(extra=1))

    def test_unknown_name_chosen(self):
        self.refused("no mutation named z", mutate.select, [entry()], mutate.options(["--only", "z"]))

    def test_ci_subset(self):
        chosen = mutate.select([entry(), entry(name="b", ci=True)], mutate.options(["--ci"]))
        self.assertEqual([m["name"] for m in chosen], ["b"])


class FakeBench:
    """A bench whose compiler and test answer as told."""

    def __init__(self, tree, builds, red):
        self.tree = tree
        self.builds = builds
        self.is_red = red
        self.seen = ""

    def compile(self):
        self.seen = (self.tree / "f.cpp").read_text()
        return self.builds

    def red(self):
        return self.is_red


class Verdicts(unittest.TestCase):
    def verdict(self, builds, red):
        with tempfile.TemporaryDirectory() as directory:
            tree = pathlib.Path(directory)
            (tree / "f.cpp").write_text("x")
            bench = FakeBench(tree, builds, red)
            result = mutate.try_mutation(bench, entry())
            self.assertEqual(bench.seen, "y")
            self.assertEqual((tree / "f.cpp").read_text(), "x")
            return result

    def test_red_is_caught(self):
        self.assertEqual(self.verdict(True, True), "caught")

    def test_green_survives(self):
        self.assertEqual(self.verdict(True, False), "survived")

    def test_patience_grows_with_the_unmutated_run(self):
        self.assertEqual(mutate.patience(0.5), mutate.LEAST_PATIENCE)
        self.assertEqual(mutate.patience(30), 90)

    def test_no_build_is_no_catch(self):
        self.assertEqual(self.verdict(False, True), "does not build")


if __name__ == "__main__":
    unittest.main()
