"""Mutated messages: what is read must be a message, what is not must be a CodecError; memory stays bounded.

python tests/ros/fuzz_messages.py 1000000 prints how many were read and refused, and the peak of the process's memory.
"""

from __future__ import annotations

import random
import resource
import struct
import sys
import tracemalloc

from random_messages import random_message

from memetik.ros.messages import CodecError, decode, encode, type_names


def fuzz(count: int, seed: int) -> tuple[int, int]:
    """Decode `count` mutated samples of random types: how many were read, and how many refused."""
    rng = random.Random(seed)
    names = type_names()
    read = refused = 0
    while read + refused < count:
        name = rng.choice(names)
        good = encode(random_message(name, rng))
        for _ in range(20):
            try:
                message = decode(mutated(good, rng), name)
            except CodecError:
                refused += 1
            else:
                encode(message)  # whatever was read can be written
                read += 1
    return read, refused


def mutated(good: bytes, rng: random.Random) -> bytes:
    """Bytes that are cut, changed, or given an absurd length."""
    data = bytearray(good)
    kind = rng.randrange(5)
    if kind == 0:
        return bytes(data[: rng.randint(0, len(data))])
    if kind == 1 and len(data) > 8:
        at = rng.randrange(4, len(data) - 3) & ~3
        data[at : at + 4] = struct.pack("<I", rng.choice((0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 10**6, 1, 0)))
        return bytes(data)
    if kind == 2:
        return bytes(data) + rng.randbytes(rng.randint(1, 40))
    if kind == 3:
        return bytes(data[:4]) + rng.randbytes(rng.randint(0, 200))
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


if __name__ == "__main__":
    tracemalloc.start() if "--trace" in sys.argv else None
    done, dropped = fuzz(int(sys.argv[1]), seed=0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{done} samples read, {dropped} refused, no other outcome; peak memory {peak:.0f} MB")
