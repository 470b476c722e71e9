        pytest.importorskip("openpyxl")
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("ipywidgets")
    pytest.importorskip("ipywidgets")
