#!/usr/bin/env python3
"""Tests of documents.py: `python3 benches/documents_test.py`."""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

import documents
from documents import Computed, Results, Table, Wrong, fill, number, parse, spread, unmarked

HEAD = "# $ a command\ndate,revision,machine,name,length,seconds\n"
ORIGIN = "2026-01-02,0123abc,a machine,"


class Cells(unittest.TestCase):
    def test_rows_have_an_origin_and_a_cell_for_each_column(self):
        rows = parse(HEAD + ORIGIN + '"a, b",257,2\n' + ORIGIN + '"a, b",257,1\n')
        self.assertEqual(rows.comments, ["$ a command"])
        self.assertEqual(rows.origins(), ["2026-01-02, revision 0123abc, a machine"])
        self.assertAlmostEqual(rows.speed("a, b"), 257 / 1.5)
        for wrong in ["a,257\n", "a,257,2,3\n", "a|b,257,2\n"]:
            self.assertRaises(Wrong, parse, HEAD + ORIGIN + wrong)
        for origin in ["2026-1-02,0123abc,m,", "2026-01-02,xyz,m,", "2026-01-02,0123abc,,"]:
            self.assertRaises(Wrong, parse, HEAD + origin + "a,257,2\n")
        self.assertRaises(Wrong, parse, "name,length\na,1\n")

    def test_columns_of_one_name_are_numbered(self):
        rows = parse("date,revision,machine,x,x\n2026-01-02,0123abc,m,1,2\n")
        self.assertEqual((rows.text("x"), rows.text("x (2)")), ("1", "2"))

    def test_of_several_rows_the_median_counts(self):
        rows = parse(HEAD + "".join(f"{ORIGIN}a,256,{s}\n" for s in (4, 1, 2)))
        self.assertEqual(rows.speed("a"), 128)
        self.assertTrue(rows.speed("b") != rows.speed("b"), "not a number")

    def test_numbers_have_their_digits(self):
        self.assertEqual((number(2.345, 1), spread([2, 1, 1.5], 1), spread([1.01, 1.02], 1)),
                         ("2.3", "1.0 to 2.0", "1.0"))
        self.assertRaises(Wrong, number, float("nan"), 1)

    def test_a_sentence_quotes_a_cell(self):
        table = Table(["items", "way", "ms", "ms"], [["1", "there", "2.5", "7"], ["1", "back", "3", ""]])
        self.assertEqual((table.cell("1", "ms"), table.cell("1 / back", "ms"), table.cell("1", "ms (2)")),
                         ("2.5", "3", "7"))
        for wrong in [("2", "ms"), ("1", "s"), ("1", "ms (3)")]:
            self.assertRaises(Wrong, table.cell, *wrong)


class Markers(unittest.TestCase):
    def setUp(self):
        table = Table(["new"], [["1"]])
        self.computed = Computed(None, {"table": lambda _: table}, {"speed": lambda _: "2.5"})

    def test_only_what_is_between_markers_is_replaced(self):
        text = ("a <!-- figure: speed -->1<!-- /figure --> b <!-- figure: table; 1; new --><!-- /figure -->\n"
                "<!-- peers table begin -->\nold\n<!-- peers table end -->\nrest\n")
        new = ("a <!-- figure: speed -->2.5<!-- /figure --> b <!-- figure: table; 1; new -->1<!-- /figure -->\n"
               "<!-- peers table begin -->\n\n| new |\n| --- |\n| 1 |\n\n<!-- peers table end -->\nrest\n")
        self.assertEqual(fill(text, self.computed), new)
        self.assertEqual(fill(new, self.computed), new)
        self.assertEqual(self.computed.unused(), [])

    def test_unknown_and_open_markers_are_errors(self):
        for text in ["a <!-- figure: other -->1<!-- /figure -->", "a <!-- figure: speed -->1",
                     "a <!-- figure: speed -->1 <!-- figure: speed -->1<!-- /figure -->",
                     "a <!-- figure: speed", "a\n  <!-- figure: speed -->1<!-- /figure -->",
                     "<!-- peers other begin --><!-- peers other end -->",
                     "<!-- peers table begin -->\n", "<!-- peers table end -->"]:
            with self.assertRaises(Wrong, msg=text):
                fill(text, self.computed)

    def test_a_number_with_a_unit_in_a_sentence_needs_a_marker(self):
        for text in ["It is 2.5 times as fast.\n", "It takes (3\nms), and so on.", "**0.41 s**"]:
            self.assertIsNotNone(unmarked(text), text)
        for text in ["It is <!-- figure: x -->2.5<!-- /figure --> times as fast, on 2 threads.",
                     "CUDA 12.0, 2^26 s and `3 ms`.\n```console\nsleep 3 s\n```\n",
                     "<!-- peers table begin -->\n| 3 s |\n<!-- peers table end -->\n"]:
            self.assertIsNone(unmarked(text), text)


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path in ["docs", "benches/notes", "benches/results", "benches/testu01/results"]:
            shutil.copytree(documents.ROOT / path, self.root / path)
        shutil.copy(documents.ROOT / "README.md", self.root)

    def test_the_documents_say_what_the_rows_say(self):
        self.assertEqual(documents.run(documents.ROOT, check=True), [])

    def test_another_headline_is_found_and_another_row_changes_it(self):
        page = self.root / "docs/results/gpu.md"
        text = page.read_text()
        page.write_text(text.replace("| 2^29 + 1 | 50.0 |", "| 2^29 + 1 | 60.0 |"))
        self.assertIn("60.0", "".join(documents.run(self.root, check=True)))
        documents.run(self.root, check=False)
        self.assertEqual(page.read_text(), text)

        rows = self.root / "benches/results/gpu-peers.csv"
        lines = rows.read_text()
        rows.write_text(lines.replace(",thrust::", ",9,thrust::"))
        self.assertRaises(Wrong, documents.run, self.root, True)
        rows.write_text(re.sub(r",[\d.]+(e-\d+)$", r",9\1", lines, flags=re.M))
        self.assertIn("docs/results/gpu.md", "".join(documents.run(self.root, check=True)))

    def test_rows_that_nothing_uses_and_pages_without_their_figure_are_found(self):
        other = self.root / "benches/results/other.csv"
        other.write_text(HEAD)
        with self.assertRaisesRegex(Wrong, "other.csv"):
            documents.run(self.root, True)
        other.unlink()
        page = self.root / "README.md"
        page.write_text(page.read_text() + "\nIt takes 3 s.\n")
        with self.assertRaisesRegex(Wrong, "3 s"):
            documents.run(self.root, True)


if __name__ == "__main__":
    unittest.main()
