"""Marked regions from Python, through ctypes: nothing to compile.

    from roofline_region import region
    with region("spmv"):
        ...

Without the library, or without the tool, regions do nothing.
"""
import contextlib
import ctypes

try:
    _library = ctypes.CDLL("libroofline-region.so.0")
    _library.roofline_region_begin.argtypes = [ctypes.c_char_p]
    _library.roofline_region_begin.restype = None
    _library.roofline_region_end.argtypes = [ctypes.c_char_p]
    _library.roofline_region_end.restype = None
except OSError:
    _library = None


def begin(name):
    """Begin the region `name` in this thread."""
    if _library:
        _library.roofline_region_begin(name.encode())


def end(name):
    """End it."""
    if _library:
        _library.roofline_region_end(name.encode())


@contextlib.contextmanager
def region(name):
    """A region that lasts as long as the `with` block, exceptions included."""
    begin(name)
    try:
        yield
    finally:
        end(name)
