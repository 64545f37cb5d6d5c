"""Writes the .npy and .npz files of this folder with NumPy; run once, by hand."""

import pathlib

import numpy
from numpy.lib import format as npy

HERE = pathlib.Path(__file__).resolve().parent

ARRAYS = {
    "f4": numpy.array([[1.5, -2, 3], [4, 5, 6.25]], "<f4"),
    "f8": numpy.array([[0.1, -2e300, 3], [4, 5, 6]], "<f8"),
    "f2": numpy.array([0.5, -65504, 0.099975586], "<f2"),
    "i4": numpy.array([1, -2, 2147483647], "<i4"),
    "i8": numpy.array([1, -2, 1 << 40], "<i8"),
    "i1": numpy.array([1, -128, 127], "|i1"),
    "u1": numpy.array([1, 128, 255], "|u1"),
    "b1": numpy.array([True, False, True], "|b1"),
    "c8": numpy.array([1 + 2j, -3.5 - 4j], "<c8"),
    "big_f4": numpy.array([[1.5, -2, 3], [4, 5, 6.25]], ">f4"),
    "big_i8": numpy.array([1, -2, 1 << 40], ">i8"),
    "big_c8": numpy.array([1 + 2j, -3.5 - 4j], ">c8"),
    "fortran": numpy.asfortranarray(numpy.arange(24, dtype="<f4").reshape(2, 3, 4)),
    "fortran_big": numpy.asfortranarray(numpy.arange(6, dtype=">i4").reshape(2, 3)),
    "scalar": numpy.array(2.5, "<f8"),
    "empty": numpy.zeros((0, 3), "<f4"),
    "u2": numpy.array([1, 2], "<u2"),
    "structured": numpy.array([(1, 2.5)], [("a", "<i4"), ("b", "<f4")]),
}

for name, array in ARRAYS.items():
    numpy.save(HERE / f"{name}.npy", array)
for version in (2, 3):
    with open(HERE / f"version{version}.npy", "wb") as file:
        npy.write_array(file, ARRAYS["f4"], version=(version, 0))
numpy.savez(HERE / "stored.npz", w=ARRAYS["f4"], b=ARRAYS["i8"], s=ARRAYS["scalar"])
numpy.savez_compressed(HERE / "packed.npz", w=ARRAYS["f4"], zeros=numpy.zeros((64, 64), "<f4"))
