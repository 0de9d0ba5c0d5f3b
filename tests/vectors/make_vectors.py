#!/usr/bin/env python3
"""Writes what seeds give, from a second implementation: `standard` for the default, `families` for families by name,
`blocks` for shuffles of blocks.

It shares no code with the crate: it is written from the papers and from the crate's documentation, so that a mistake
would have to be made twice. Run it from this folder: `python3 make_vectors.py standard > standard.json`, and likewise
for the others. The values are a promise; they change with a major version only.
"""

import json
import sys

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


def word64(words):
    return next(words) | next(words) << 32


def domain_bits(length, least):
    return max((length - 1).bit_length() if length > 1 else 0, least)


def survivors(length, points, forward):
    """The compaction: the values below the length, in order."""
    return [value for value in map(forward, range(points)) if value < length]


def chain_map(length, seed, epoch, rounds):
    """MulXorshift: keyed affine maps modulo 2^bits, in turn with xorshifts. The number of points, and the map."""
    bits = domain_bits(length, 2)
    mask = 2**bits - 1
    words = key_words(seed, epoch, domain_bits(length, 0))
    keys = []
    for _ in range(rounds):
        increment, word = word64(words), word64(words)
        keys.append(((word & ~7) + (5 if word & 4 else 3), increment))
    half = (bits + 1) // 2

    def forward(x):
        x ^= x >> (half + 1)
        for number, (multiplier, increment) in enumerate(keys):
            x = (x * multiplier + increment) & mask
            x ^= x >> (half + number % 2)
        return x

    return 2**bits, forward


def chain(length, seed, epoch, rounds=10):
    return survivors(length, *chain_map(length, seed, epoch, rounds))


def philox(length, seed, epoch, random_sign):
    """VariablePhilox with 24 rounds (Mitchell et al., 2022, listing 1); then, if asked for, a fair exchange of 0 and 1."""
    bits = domain_bits(length, 2)
    words = key_words(seed, epoch, domain_bits(length, 0))
    keys = [next(words) for _ in range(24)]
    swap = next(words) & 1 if random_sign else 0
    left_bits, right_bits = bits // 2, bits - bits // 2
    left_mask, right_mask = 2**left_bits - 1, 2**right_bits - 1

    def forward(slot):
        left, right = slot >> right_bits, slot & right_mask
        for key in keys:
            product = 0xD2B74407B1CE6E93 * left & M64
            low = product << (right_bits - left_bits) | right >> left_bits
            left, right = ((product >> 32) ^ key ^ right) & left_mask, low & right_mask
        index = left << right_bits | right
        return index ^ swap if index < 2 else index

    return survivors(length, 2**bits, forward)


def lcg(length, seed, epoch):
    bits = domain_bits(length, 1)
    words = key_words(seed, epoch, domain_bits(length, 0))
    multiplier, increment = word64(words) | 1, word64(words)
    return survivors(length, 2**bits, lambda x: (x * multiplier + increment) % 2**bits)


def affine(length, seed, epoch):
    """Affine: columns over GF(2), each drawn again while those before it span it, and then what is added."""
    bits = domain_bits(length, 0)
    words = key_words(seed, epoch, bits)
    columns, span = [], {0}
    while len(columns) < bits:
        column = word64(words) % 2**bits
        if column not in span:
            columns.append(column)
            span |= {other ^ column for other in span}
    offset = word64(words) % 2**bits

    def forward(x):
        value = offset
        for j, column in enumerate(columns):
            value ^= column * (x >> j & 1)
        return value

    return survivors(length, 2**bits, forward)


def grid(length, seed, epoch):
    """GridFeistel with 12 half-rounds (Black and Rogaway, 2002), for fewer than 2^31 items."""
    bits = domain_bits(length, 2)
    column_bits = (bits + 1) // 2
    columns = 2**column_bits
    rows = max((length - 1) // columns + 1, 2)
    words = key_words(seed, epoch, 2**31 | (rows * columns - 1))
    keys = [[next(words) for _ in range(4)] for _ in range(12)]

    def hashed(key, x):
        y = ((key[0] | 1) * x + key[1]) & 0xFFFF
        return (y ^ (y >> 8)) * (key[2] | 1) & 0xFFFF

    def forward(slot):
        row, column = divmod(slot, columns)
        for number, key in enumerate(keys):
            if number % 2 == 0:
                row = (row - hashed(key, column) * rows // 2**16) % rows
            else:
                column = (column * (key[3] | 1) + hashed(key, row) // 2 ** (16 - column_bits)) % columns
        return row * columns + column

    return survivors(length, rows * columns, forward)


def walked(length, seed, epoch):
    """CycleWalk over MulXorshift with 10 rounds: again and again until the value is below the length."""
    _, step = chain_map(length, seed, epoch, 10)

    def forward(slot):
        slot = step(slot)
        while slot >= length:
            slot = step(slot)
        return slot

    return [forward(slot) for slot in range(length)]


def child(seed, epoch):
    """The seed of a shuffle of blocks, as wide as the one that it is drawn from."""
    words = key_words(seed, epoch, 2**30)
    if isinstance(seed, bytes):
        return b"".join(next(words).to_bytes(4, "little") for _ in range(8))
    return word64(words)


def blocks(length, block, window, seed, epoch):
    """BlockShuffle over the default family: blocks in random order, then the items of each window of blocks."""
    seed = child(seed, epoch)

    def draw(n, epoch):
        return (exact if n <= EXACT_MAX else walked)(n, seed, epoch)

    starts = range(0, length, block)
    order = [starts[k] for k in draw(len(starts), 0)]
    values = []
    for first in range(0, len(order), window):
        items = [i for start in order[first : first + window] for i in range(start, min(start + block, length))]
        values += [items[k] for k in draw(len(items), first // window + 1)]
    return values


def fnv1a64(values):
    """FNV-1a over the values as 64-bit words, little endian."""
    h = 0xCBF29CE484222325
    for value in values:
        for byte in value.to_bytes(8, "little"):
            h = (h ^ byte) * 0x100000001B3 & M64
    return h


def entry(p, length, seed, epoch, **more):
    assert sorted(p) == list(range(length))
    if isinstance(seed, bytes):
        name = {"seed_bytes": seed.hex()}
    else:
        name = {"seed": str(seed)}
    return {**more, "len": length, **name, "epoch": str(epoch), "head": p[:12], "fnv1a64_le": f"{fnv1a64(p):016x}"}


def standard_entry(length, seed, epoch):
    p = (exact if length <= EXACT_MAX else chain)(length, seed, epoch)
    return entry(p, length, seed, epoch)


def standard():
    seeds = [0, 1, 42, M64, bytes(32), bytes(range(32))]
    epochs = [0, 1, M64]
    small = [0, 1, 2, 3, 4, 5, 8, 13, 16, 17, 32, 33, 64, 100, 127, 128, 255, 256]
    entries = [standard_entry(n, s, e) for n in small for s in seeds for e in (0, 1)]
    for n in [257, 500, 512, 513, 1000, 1023, 1024, 1025]:
        entries += [standard_entry(n, s, e) for s in seeds for e in epochs]
    for n in [4096, 4097, 8191, 8193, 10000, 16385]:
        entries += [standard_entry(n, s, 0) for s in (0, 42, bytes(range(32)))]
    for n in [65536, 65537, 100000, 131073]:
        entries.append(standard_entry(n, 42, 7))
    return entries


def families():
    by_name = {
        "VariablePhilox<24>": lambda *of: philox(*of, random_sign=False),
        "RandomSign<VariablePhilox<24>>": lambda *of: philox(*of, random_sign=True),
        "MulXorshift<10>": chain,
        "MulXorshift<5>": lambda *of: chain(*of, rounds=5),
        "GridFeistel<12>": grid,
        "Lcg": lcg,
        "Affine": affine,
        "Table": exact,
        "CycleWalk<MulXorshift<10>>": walked,
    }
    of = [(n, s, 3) for n in (1, 2, 5, 100, 257, 1000, 3000) for s in (42, bytes(range(32)))]
    return [entry(draw(*o), *o, family=name) for name, draw in by_name.items() for o in of]


def of_blocks():
    shapes = [(1, 1, 1), (10, 3, 2), (100, 100, 1), (100, 1, 100), (1000, 10, 7), (1000, 64, 5), (3000, 1, 300)]
    shapes += [(5000, 16, 20), (5001, 1000, 2), (20000, 64, 8)]
    of = [(shape, s, e) for shape in shapes for s in (42, bytes(range(32))) for e in (0, 3)]
    return [entry(blocks(*shape, s, e), shape[0], s, e, block=shape[1], window=shape[2]) for shape, s, e in of]


def main():
    entries = {"standard": standard, "families": families, "blocks": of_blocks}[sys.argv[1]]()
    print("[")
    print(",\n".join("  " + json.dumps(e) for e in entries))
    print("]")


main()
