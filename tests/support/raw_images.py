"""Files of images that Pillow does not write, byte by byte from their values."""

import struct
import zlib

import numpy as np


def png(values: np.ndarray, bits: int, kind: int, transparency: bytes) -> bytes:
    """A PNG by the book, with a colour that is transparent; its values are (height, width, channels) or grey."""
    height, width = values.shape[:2]
    lines = b"".join(b"\0" + line.astype(">u2" if bits == 16 else "u1").tobytes() for line in values)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0))
    rest = chunk(b"tRNS", transparency) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header + rest


def tiff(data: bytes, width: int, height: int, bits: list[int], sample: int, photometric: int) -> bytes:
    """An uncompressed TIFF by the book: `sample` is 1 for whole numbers, 2 for signed ones, 3 for floats."""
    tags = {
        256: [width], 257: [height], 258: bits, 259: [1], 262: [photometric], 273: [0], 277: [len(bits)],
        278: [height], 279: [len(data)], 339: [sample] * len(bits),
    }  # fmt: skip
    end = 8 + 2 + 12 * len(tags) + 4
    start = end + sum(2 * len(values) for values in tags.values() if len(values) > 2)
    tags[273] = [start]
    entries, beyond = b"", b""
    for tag, values in tags.items():
        packed = struct.pack(f"<{len(values)}H", *values)
        place = packed.ljust(4, b"\0") if len(packed) <= 4 else struct.pack("<I", end + len(beyond))
        entries += struct.pack("<HHI", tag, 3, len(values)) + place
        beyond += packed if len(packed) > 4 else b""
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + beyond + data
