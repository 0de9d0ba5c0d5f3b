#!/usr/bin/env python3
"""Writes standard.json: what the default seed path gives, from a second implementation.

It shares no code with the crate: it is written from the papers and from the crate's documentation, so that a
mistake would have to be made twice. Run it from this folder: `python3 make_standard.py > standard.json`. The
values are a promise; they change with a major version only.
"""

import json

M32 = 2**32 - 1
M64 = 2**64 - 1
EXACT_MAX = 256


def philox4x32_10(counter, key):
    """Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC'11)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & M32, (a >> 32) ^ c[3] ^ k[1], a & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


def key_words(seed, epoch, domain):
    """The key stream: an endless run of 32-bit words."""
    if isinstance(seed, bytes):
        quarters = [int.from_bytes(seed[8 * i : 8 * i + 8], "little") for i in range(4)]
    else:
        quarters = [seed]
    block = 0
    while True:
        words = [block, domain, epoch & M32, epoch >> 32]
        for quarter in quarters:
            words = philox4x32_10(words, [quarter & M32, quarter >> 32])
        yield from words
        block += 1


def exact(length, seed, epoch):
    """Fisher-Yates from the last place down, several ranges to a 64-bit word, without bias."""
    words = key_words(seed, epoch, 2**31 | length)
    values = list(range(max(length, 1)))
    place = len(values)
    while place > 1:
        ranges, product = [place], place
        while place - len(ranges) > 1 and product * (place - len(ranges)) <= 2**56:
            product *= place - len(ranges)
            ranges.append(place - len(ranges))
        while True:
            word = next(words) | next(words) << 32
            if word * product & M64 >= 2**64 % product:
                break
        for r in ranges:
            word *= r
            other, word = word >> 64, word & M64
            values[r - 1], values[other] = values[other], values[r - 1]
        place -= len(ranges)
    return values[:length]


def chain(length, seed, epoch):
    """MulXorshift with 8 rounds: keyed affine maps modulo 2^bits, in turn with xorshifts."""
    bits = (length - 1).bit_length()
    mask = 2**bits - 1
    words = key_words(seed, epoch, bits)

    def word64():
        return next(words) | next(words) << 32

    keys = []
    for _ in range(8):
        increment, word = word64(), word64()
        keys.append(((word & ~7) + (5 if word & 4 else 3), increment))
    half = (bits + 1) // 2
    result = []
    for x in range(2**bits):
        x ^= x >> (half + 1)
        for number, (multiplier, increment) in enumerate(keys):
            x = (x * multiplier + increment) & mask
            x ^= x >> (half + number % 2)
        if x < length:
            result.append(x)
    return result


def fnv1a64(values):
    """FNV-1a over the values as 64-bit words, little endian."""
    h = 0xCBF29CE484222325
    for value in values:
        for byte in value.to_bytes(8, "little"):
            h = (h ^ byte) * 0x100000001B3 & M64
    return h


def entry(length, seed, epoch):
    p = (exact if length <= EXACT_MAX else chain)(length, seed, epoch)
    assert sorted(p) == list(range(length))
    if isinstance(seed, bytes):
        name = {"seed_bytes": seed.hex()}
    else:
        name = {"seed": str(seed)}
    return {"len": length, **name, "epoch": str(epoch), "head": p[:12], "fnv1a64_le": f"{fnv1a64(p):016x}"}


def main():
    seeds = [0, 1, 42, M64, bytes(32), bytes(range(32))]
    epochs = [0, 1, M64]
    small = [0, 1, 2, 3, 4, 5, 8, 13, 16, 17, 32, 33, 64, 100, 127, 128, 255, 256]
    entries = [entry(n, s, e) for n in small for s in seeds for e in (0, 1)]
    for n in [257, 500, 512, 513, 1000, 1023, 1024, 1025]:
        entries += [entry(n, s, e) for s in seeds for e in epochs]
    for n in [4096, 4097, 8191, 8193, 10000, 16385]:
        entries += [entry(n, s, 0) for s in (0, 42, bytes(range(32)))]
    for n in [65536, 65537, 100000, 131073]:
        entries.append(entry(n, 42, 7))
    print("[")
    print(",\n".join("  " + json.dumps(e) for e in entries))
    print("]")


main()
