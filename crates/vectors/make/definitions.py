"""What the second implementation has not: seeds as text, single places, samplers, saved states."""

import pathlib
import struct

import second
from second import EXACT_MAX, M32, M64, fnv1a64, key_words, word64

ROOT = pathlib.Path(__file__).resolve().parents[3]

LONG = bytes(range(32))


def seed_text(seed, epoch=0):
    text = seed.hex() if isinstance(seed, bytes) else str(seed)
    return f"{text}@{epoch}" if epoch else text


def standard(length, seed, epoch):
    return (second.exact if length <= EXACT_MAX else second.chain)(length, seed, epoch)


def standard_map(length, seed, epoch):
    """The default bijection: its number of points, and its values."""
    if length > EXACT_MAX:
        return second.chain_map(length, seed, epoch, 10)
    values = second.exact(max(length, 1), seed, epoch) if length else [0]
    return len(values), values.__getitem__


def sample(length, count, seed, epoch):
    """The first items of the order of a seed: slots from 0 on, until `count` have survived."""
    items, (_, forward), slot = [], standard_map(length, seed, epoch), 0
    while len(items) < count:
        item, slot = forward(slot), slot + 1
        items += [item] if item < length else []
    return items


def walk_map(length, seed, epoch):
    if length > EXACT_MAX:
        return second.walk_map(length, seed, epoch)
    return standard_map(length, seed, epoch)[1]


def blocks_map(length, block, window, seed, epoch):
    """BlockShuffle at single slots."""
    seed = second.child(seed, epoch)
    count = -(-length // block)
    outer = walk_map(count, seed, 0)
    tail = length - (count - 1) * block
    # Where the last block, which may be short, is read. Walks are not inverted here: in a long list
    # of blocks it is looked for.
    last = next(k for k in range(count) if outer(k) == count - 1)

    def start(position):
        return position * block if position <= last else (position - 1) * block + tail

    def forward(slot):
        low, high = 0, count
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if start(middle) <= slot else (low, middle)
        number = low // window
        first, end = start(number * window), start(min((number + 1) * window, count))
        place = first + walk_map(end - first, seed, number + 1)(slot - first)
        low, high = number * window, min((number + 1) * window, count)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if start(middle) <= place else (low, middle)
        return outer(low) * block + place - start(low)

    return forward


def check(numbers):
    """The checksum of what is saved: the finalizer of SplitMix64 after each number."""
    state = 0
    for number in numbers:
        x = (state ^ number) + 0x9E3779B97F4A7C15 & M64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
        x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
        state = x ^ x >> 31
    return state


def samples(last, forward):
    return [forward(last * k // 15) for k in range(16)]


def dashed(numbers):
    return "-".join(f"{number:x}" for number in numbers)


def seed_words(seed):
    return list(struct.unpack("<4Q", seed)) if isinstance(seed, bytes) else [seed]


def state_text(length, seed, epoch, consumed, forward):
    numbers = [length, epoch, consumed]
    return dashed([*numbers, check(numbers + seed_words(seed) + samples(length - 1, forward))])


def cursor_text(length, at, last, forward, inverted=False):
    numbers = [length, *at]
    return dashed([*numbers, check([*numbers, last, int(inverted), *samples(last, forward)])])


def order_of(length, seed, epoch, order):
    """The map of an epoch of a sampler."""
    if order["order"] == "sequential":
        return lambda place: place
    if order["order"] == "blocks":
        return blocks_map(length, int(order["block"], 16), int(order["window"], 16), seed, epoch)
    return walk_map(length, seed, epoch)


def batch_of(length, consumed, rank, ranks, batch, tail, forward):
    """A rank's items of the next step and what is consumed then, or None."""
    left, whole = length - consumed, ranks * batch
    if left == 0 or left < whole and tail == "drop":
        return None
    places = {"short": left, "pad": -(-left // ranks) * ranks, "fill": whole}
    places = whole if left >= whole else places[tail]
    items = []
    for offset in range(rank, places, ranks):
        items.append(forward(consumed + offset if offset < left else (offset - left) % length))
    return items, consumed + min(left, whole)


def is_prime(n):
    """Miller and Rabin, with bases that decide all numbers below 2^64."""
    if n < 2:
        return False
    for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        if n % p == 0:
            return n == p
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def multipliers(count):
    a, found = M32, []
    while len(found) < count:
        if is_prime(2**31 * a - 1) and is_prime(2**32 * a - 1):
            found.append(a)
        a -= 1
    return found


def taken(stream, count):
    return [next(stream) for _ in range(count)]


def child_of(seed, epoch, domain):
    stream = key_words(seed, epoch, domain)
    if isinstance(seed, bytes):
        return b"".join(word.to_bytes(4, "little") for word in taken(stream, 8))
    return word64(stream)


def batch_from(number):
    """How many ranges one word serves from a range on, and their product."""
    count, product = 1, number
    while number - count > 1 and product * (number - count) <= 2**56:
        product *= number - count
        count += 1
    return count, product


def words_of_draw(length, seed, epoch):
    """How many words of 64 bits a draw takes, counted by a stream that counts."""
    drawn, plain = [0], second.key_words

    def counting(*of):
        for word in plain(*of):
            drawn[0] += 1
            yield word

    second.key_words = counting
    try:
        second.exact(length, seed, epoch)
    finally:
        second.key_words = plain
    return drawn[0] // 2


def fewest_words(length):
    number, count = max(length, 1), 0
    while number > 1:
        number, count = number - batch_from(number)[0], count + 1
    return count


def chain_keys(length, seed, epoch, rounds=10):
    """The keys of MulXorshift, modulo the domain."""
    bits = second.domain_bits(length, 2)
    stream = key_words(seed, epoch, second.domain_bits(length, 0))
    drawn = [(word64(stream), word64(stream)) for _ in range(rounds)]
    return {
        "bits": bits,
        "increments": words(c % 2**bits for c, _ in drawn),
        "multipliers": words(((a & ~7) + (5 if a & 4 else 3)) % 2**bits for _, a in drawn),
    }


def words(values):
    return [hex(value) for value in values]


def order_by(kind, length, seed, epoch):
    if kind == "new":
        return standard(length, seed, epoch)
    return [walk_map(length, seed, epoch)(k) for k in range(length)]


def inverse(p):
    q = [0] * len(p)
    for place, item in enumerate(p):
        q[item] = place
    return q


def landmark(length, of, place):
    """The slot of a place of `new`, with the survivors before it."""
    size, forward = standard_map(length, *of)
    slots = [slot for slot in range(size) if forward(slot) < length]
    return [slots[place], place]


def standard_or_walk(length, seed, epoch):
    return [walk_map(length, seed, epoch)(k) for k in range(length)]
