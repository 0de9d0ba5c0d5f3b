"""The notebook runs, and its own checks hold."""

import json
import pathlib

import pytest

NOTEBOOK = pathlib.Path(__file__).parents[1] / "notebooks/orders.ipynb"


def test_the_notebook_runs():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    for need in ("ipykernel", "matplotlib"):
        pytest.importorskip(need, reason=f"{need} is not installed")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    figures = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert len(figures) == 4


def test_the_notebook_is_stored_without_outputs():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert all(not cell.get("outputs") for cell in cells)
