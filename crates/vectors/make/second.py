"""The second implementation of what seeds determine.

It shares no code with the crate: it is written from the papers and from the crate's documentation, so that a mistake
would have to be made twice. The values are a promise; they change with a major version only.
"""

import functools
import math
import struct

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


def exact_domain(size):
    """The word of a domain whose size counts."""
    return 2**31 | (size ^ size >> 31 ^ size >> 62) % 2**31


def exact(length, seed, epoch):
    """Fisher-Yates from the last place down, several ranges to a 64-bit word, without bias."""
    values = list(range(max(length, 1)))
    exchange_all(values, key_words(seed, epoch, exact_domain(length)))
    return values[:length]


def exchange_all(values, words):
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


def chain(length, seed, epoch):
    return survivors(length, *chain_map(length, seed, epoch, 10))


def philox_map(length, seed, epoch, random_sign):
    """VariablePhilox with 24 rounds; then, if asked for, a fair exchange of 0 and 1."""
    words = key_words(seed, epoch, domain_bits(length, 0))
    keys = [next(words) for _ in range(24)]
    return philox_keyed(domain_bits(length, 2), keys, next(words) & 1 if random_sign else 0)


def philox_keyed(bits, keys, swap=0):
    """VariablePhilox by its keys (Mitchell et al., 2022, listing 1)."""
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

    return 2**bits, forward


def lcg_map(length, seed, epoch):
    bits = domain_bits(length, 1)
    words = key_words(seed, epoch, domain_bits(length, 0))
    multiplier, increment = word64(words) | 1, word64(words)
    return 2**bits, lambda x: (x * multiplier + increment) % 2**bits


def affine_map(length, seed, epoch):
    """Affine: columns over GF(2), each drawn again while those before it span it, and then what is added."""
    bits = domain_bits(length, 0)
    words = key_words(seed, epoch, bits)
    columns, span = [], []
    while len(columns) < bits:
        column = rest = word64(words) % 2**bits
        for other in span:
            # The members of the span have different highest bits.
            rest = min(rest, rest ^ other)
        if rest:
            columns.append(column)
            span.append(rest)
    offset = word64(words) % 2**bits

    def forward(x):
        value = offset
        for j, column in enumerate(columns):
            value ^= column * (x >> j & 1)
        return value

    return 2**bits, forward


def grid_map(length, seed, epoch):
    """GridFeistel with 12 half-rounds (Black and Rogaway, 2002)."""
    bits = domain_bits(length, 2)
    width = 16 if bits < 32 else 32
    column_bits = (bits + 1) // 2
    columns = 2**column_bits
    rows = max((length - 1) // columns + 1, 2)
    words = key_words(seed, epoch, exact_domain(rows * columns - 1))
    keys = [[next(words) for _ in range(4)] for _ in range(12)]

    def hashed(key, x):
        y = ((key[0] | 1) * x + key[1]) % 2**width
        return (y ^ (y >> width // 2)) * (key[2] | 1) % 2**width

    def forward(slot):
        row, column = divmod(slot, columns)
        for number, key in enumerate(keys):
            if number % 2 == 0:
                row = (row - hashed(key, column) * rows // 2**width) % rows
            else:
                column = (column * (key[3] | 1) + hashed(key, row) // 2 ** (width - column_bits)) % columns
        return row * columns + column

    return rows * columns, forward


def walk_map(length, seed, epoch):
    """CycleWalk over MulXorshift with 10 rounds: again and again until the value is below the length."""
    _, step = chain_map(length, seed, epoch, 10)

    def forward(slot):
        slot = step(slot)
        while slot >= length:
            slot = step(slot)
        return slot

    return forward


def walked(length, seed, epoch):
    forward = walk_map(length, seed, epoch)
    return [forward(slot) for slot in range(length)]


def swap_or_not(length, seed, epoch, bits=40):
    """Swap-or-not (Hoang, Morris and Rogaway, 2012) within sometimes-recurse (Morris and Rogaway, 2014).

    Five rounds share a block of Philox at the first point of the coset of their keys' span, comparing from the lowest
    bit up.
    """
    words = key_words(seed, epoch, 2**31 | length)
    levels = []
    for width in range(domain_bits(length, 0), 8, -1):
        most = 2 * bits + len(levels) + 1 + 2 * width - 3
        guess = -(-most * 1000 // 2045)
        levels.append((width, -(-(most - guess.bit_length() + 1) * 1000 // 2045)))
    key, salt = word64(words), next(words)
    batches = []
    for _ in range(max((count for _, count in levels), default=0)):
        keys, span = [], {0}
        while len(keys) < 5:
            word = word64(words)
            if word % 512 not in span:
                keys.append(word)
                span |= {word % 512 ^ other for other in span}
        batches.append(keys)
    reverse = [int(f"{low:09b}"[::-1], 2) for low in range(512)]
    table = list(range(min(max(length, 1), 256)))
    exchange_all(table, words)

    def sums(keys):
        return [functools.reduce(int.__xor__, (k for j, k in enumerate(keys) if name >> j & 1), 0) for name in range(32)]

    def with_sums(width, count):
        batches_of_level = [[k % 2**width for k in keys] for keys in batches[:count]]
        return [(keys, sums(keys)) for keys in batches_of_level]

    levels = [(width, with_sums(width, count)) for width, count in levels]

    def forward(x):
        for width, keys_and_sums in levels:
            size = min(2**width, length)
            if x >= size:
                break
            for number, (keys, combined) in enumerate(keys_and_sums):
                name = min(range(32), key=lambda name: reverse[(x ^ combined[name]) % 512])
                first = x ^ combined[name]
                counter = [first & M32, first >> 32, width << 24 | number, salt]
                block = philox4x32_10(counter, [key & M32, key >> 32])
                for j, k in enumerate(keys):
                    pair = sum((name >> (j + 1 + i) % 5 & 1) << i for i in range(4))
                    if block[j // 2] >> (16 * (j % 2) + pair) & 1 and x ^ k < size:
                        x ^= k
                        name ^= 1 << j
        return table[x] if x < len(table) else x

    return [forward(x) for x in range(length)]


# The families that the specification does not have, by the names that `families!` gives them.
OTHERS = {"SwapOrNot": swap_or_not, "Table": exact}


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


# Generators: each is an endless run of words, with the number of words of a block.


def generator_words(seed, epoch, stream, number):
    """The words of state: the key stream of the seed's child, at an epoch that is the stream's number."""
    domain = 2**29 | number
    words = key_words(seed, epoch, domain)
    if isinstance(seed, bytes):
        seed = b"".join(next(words).to_bytes(4, "little") for _ in range(8))
    else:
        seed = word64(words)
    return key_words(seed, stream, domain)


def philox_rng(seed, epoch, stream):
    key = word64(generator_words(seed, epoch, 0, 0))
    block = 0
    while True:
        yield from philox4x32_10([block & M32, block >> 32, stream & M32, stream >> 32], [key & M32, key >> 32])
        block += 1


def lcg32(seed, epoch, stream):
    x = word64(generator_words(seed, epoch, stream, 1)) & M32
    while True:
        x = (1664525 * x + 1013904223) & M32
        yield x


def lcg64(seed, epoch, stream):
    x = word64(generator_words(seed, epoch, stream, 2))
    while True:
        x = (2862933555777941757 * x + 1442695040888963407) & M64
        yield x >> 32


def mwc(seed, epoch, stream, a=4294967118):
    word = word64(generator_words(seed, epoch, stream, 3))
    c, x = divmod((word * (a * 2**32 - 2) >> 64) + 1, 2**32)
    while True:
        c, x = divmod(a * x + c, 2**32)
        yield x


def xorwow(seed, epoch, stream):
    """Marsaglia, Xorshift RNGs (2003)."""
    words = generator_words(seed, epoch, stream, 4)
    x, y, z, w, v, d = (next(words) for _ in range(6))
    while True:
        t = x ^ x >> 2
        x, y, z, w = y, z, w, v
        v = v ^ v << 4 & M32 ^ t ^ t << 1 & M32
        d = d + 362437 & M32
        yield d + v & M32


def lagged_fibonacci(r, s):
    def words(seed, epoch, stream):
        key = generator_words(seed, epoch, stream, 2**24 | r << 12 | s)
        x = [next(key) for _ in range(r)]
        assert any(word % 2 for word in x)
        while True:
            x.append(x[-r] + x[-s] & M32)
            x.pop(0)
            yield x[-1]

    return words


def xorshift1024_step(x):
    """Manssen et al. (2012), equation 8, on the whole number; its listing's lane 0 has the highest word."""
    x ^= x << 329 & 2**1024 - 1
    x ^= x >> 347
    return x ^ x << 344 & 2**1024 - 1


@functools.cache
def xorshift1024_jump():
    """z^(2^137) modulo the characteristic polynomial of the step, which one bit of the state gives (Massey, 1969)."""
    x, bits = 1, []
    for _ in range(2048):
        bits.append(x & 1)
        x = xorshift1024_step(x)
    # Polynomials are numbers, the coefficient of 1 lowest; `seen` has the bits so far, the last one
    # lowest.
    connection, other, length, since, seen = 1, 1, 0, 1, 0
    for n, bit in enumerate(bits):
        seen = seen << 1 | bit
        if (connection & seen).bit_count() % 2 == 0:
            since += 1
        elif 2 * length <= n:
            connection, other, length, since = connection ^ other << since, connection, n + 1 - length, 1
        else:
            connection, since = connection ^ other << since, since + 1
    assert length == 1024
    characteristic = int(f"{connection:01025b}"[::-1], 2)
    power = 2
    for _ in range(137):
        power = int("0".join(f"{power:b}"), 2)
        while power >> 1024:
            power ^= characteristic << (power.bit_length() - 1025)
    return power


@functools.cache
def xorshift1024_start(seed, epoch, stream):
    """The number of 1024 bits where a stream starts, and the word of the Weyl sequence."""
    if stream == 0:
        words = generator_words(seed, epoch, stream, 5)
        x = 0
        for _ in range(32):
            x = x << 32 | next(words)
        return x, next(words)
    x, y = xorshift1024_start(seed, epoch, stream - 1)
    total = 0
    for power in range(1024):
        if xorshift1024_jump() >> power & 1:
            total ^= x
        x = xorshift1024_step(x)
    return total, y


def xorshift1024_weyl(seed, epoch, stream):
    x, y = xorshift1024_start(seed, epoch, stream)
    while True:
        x = xorshift1024_step(x)
        y = y + 362437 & M32
        for lane in range(32):
            yield (y ^ y >> 16) + (x >> 32 * (31 - lane)) & M32


GENERATORS = {
    "Philox4x32Rng": (philox_rng, 4),
    "Lcg32": (lcg32, 1),
    "Lcg64": (lcg64, 1),
    "Mwc": (mwc, 1),
    "Xorwow": (xorwow, 1),
    "LaggedFibonacci521": (lagged_fibonacci(521, 353), 256),
    "LaggedFibonacci1279": (lagged_fibonacci(1279, 861), 512),
    "XorShift1024Weyl": (xorshift1024_weyl, 32),
}


# Normal numbers: each operation is rounded, in Python for f64 and by `f32` for f32.


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def of_bits(kind, bits):
    return struct.unpack("<" + kind, bits.to_bytes(4 if kind == "f" else 8, "little"))[0]


def to_bits(kind, x):
    return int.from_bytes(struct.pack("<" + kind, x), "little")


def horner(rounded, z, coefficients):
    value = rounded(coefficients[-1])
    for c in coefficients[-2::-1]:
        value = rounded(rounded(c) + rounded(z * value))
    return value


def logarithm(rounded, kind, uniform, tables):
    """Of a uniform number in (0, 1], which is 2^k (1 + f)."""
    r = rounded
    root, one, shift, bias, odd, even, low, high, _, _ = tables
    shifted = to_bits(kind, uniform) + one - root
    k = r(float((shifted >> shift) - bias))
    f = r(of_bits(kind, (shifted & (1 << shift) - 1) + root) - 1.0)
    s = r(f / r(2.0 + f))
    z = r(s * s)
    w = r(z * z)
    odd, even = r(w * horner(r, w, odd)), r(z * horner(r, w, even))
    half_square = r(r(0.5 * f) * f)
    rest = r(r(s * r(half_square + r(even + odd))) + r(k * r(low)))
    return r(r(k * r(high)) - r(r(half_square - rest) - f))


def box_muller(rounded, kind, uniform, x, quarter, tables):
    """Two normal numbers of a uniform number in (0, 1], and of an angle: quarter turns, and a rest in radians."""
    r = rounded
    sines, cosines = tables[-2:]
    radius = r(math.sqrt(r(-2.0 * logarithm(rounded, kind, uniform, tables))))
    z = r(x * x)
    sine = r(x + r(x * r(z * horner(r, z, sines))))
    cosine = r(r(1.0 - r(0.5 * z)) + r(r(z * z) * horner(r, z, cosines)))
    for _ in range(quarter):
        sine, cosine = cosine, -sine
    return [r(radius * cosine), r(radius * sine)]


TABLES_F32 = (
    0x3F3304F4, 0x3F800000, 23, 127,
    [0.40000972, 0.24279079], [0.66666663, 0.28498787], 9.0580006e-6, 0.6931381,
    [-1.6666655e-1, 8.332161e-3, -1.9515296e-4], [4.1666646e-2, -1.3887316e-3, 2.4433157e-5],
)
TABLES_F64 = (
    0x3FE6A09E667F3BCD, 0x3FF0000000000000, 52, 1023,
    [3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01],
    [6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01],
    1.90821492927058770002e-10, 6.93147180369123816490e-01,
    [-1.66666666666666307295e-1, 8.33333333332211858878e-3, -1.98412698295895385996e-4, 2.75573136213857245213e-6,
     -2.50507477628578072866e-8, 1.58962301576546568060e-10],
    [4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517045348e-5, -2.75573141792967388112e-7,
     2.08757008419747316778e-9, -1.13585365213876817300e-11],
)


def signed(x, bits):
    return x - 2**bits if x >> (bits - 1) else x


def open_f32(word):
    return f32(f32(f32(float(word >> 1)) * 2.0**-31) + 2.0**-32)


def open_f64(words):
    return 1.0 - (words >> 12) * 2.0**-52


def normal_f32(radius, angle):
    x = f32(f32(float(signed(angle << 2 & M32, 32))) * f32(math.tau / 2**34))
    return box_muller(f32, "f", open_f32(radius), x, (angle + 2**29 & M32) >> 30, TABLES_F32)


def normal_f64(radius, angle):
    x = float(signed((angle << 2 & M64) >> 12 << 12, 64) >> 12) * (math.tau / 2**54)
    return box_muller(float, "d", open_f64(radius), x, (angle + 2**61 & M64) >> 62, TABLES_F64)


def exponential_f32(word):
    return 0.0 - logarithm(f32, "f", open_f32(word), TABLES_F32)


def exponential_f64(words):
    return 0.0 - logarithm(float, "d", open_f64(words), TABLES_F64)


def pairs(words):
    while True:
        yield word64(words)


NUMBERS = {
    "u32": iter,
    "u64": pairs,
    "f32": lambda words: (to_bits("f", (word >> 8) / 2**24) for word in words),
    "f64": lambda words: (to_bits("d", (pair >> 11) / 2**53) for pair in pairs(words)),
    "normal_f32": lambda words: (to_bits("f", x) for a in words for x in normal_f32(a, next(words))),
    "normal_f64": lambda words: (to_bits("d", x) for a in pairs(words) for x in normal_f64(a, word64(words))),
    "exponential_f32": lambda words: (to_bits("f", exponential_f32(word)) for word in words),
    "exponential_f64": lambda words: (to_bits("d", exponential_f64(pair)) for pair in pairs(words)),
}


def rows(name, kind, seed, epoch, first, count, length):
    """Rows of an ensemble: block t of stream i is at (t count + i) block."""
    draw, block = GENERATORS[name]
    streams = [NUMBERS[kind](draw(seed, epoch, stream)) for stream in range(first, first + count)]
    values = []
    while len(values) < length:
        for stream in streams:
            values += [next(stream) for _ in range(block)]
    return values[:length]
