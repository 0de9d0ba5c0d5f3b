"""The examples of the text."""

import re

from chapters import ORDERS, cursor_case, epoch_case
from definitions import (
    LONG, M32, M64, batch_from, chain_keys, check, child_of, fnv1a64, key_words, landmark,
    second, seed_text, seed_words, standard, standard_or_walk, state_text, taken, walk_map,
    word64,
)


def hex32(values):
    return " ".join(f"{value:08x}" for value in values)


def hex64(value):
    return f"{value:016x}"


def points(values):
    return " ".join(f"0x{value:x}" for value in values)


def example_words():
    lines = [f"bytes {LONG.hex()}", "words " + " ".join(map(hex64, seed_words(LONG)))]
    lines += [f"the text at epoch 3 is {seed_text(LONG, 3)}", ""]
    return [*lines, f"of 1, 2, 3: digest {hex64(fnv1a64([1, 2, 3]))}, check {hex64(check([1, 2, 3]))}"]


def example_philox():
    counter, key = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]
    lines, c, k = [f"key      {hex32(key)}", f"counter  {hex32(counter)}"], counter, key
    for number in (1, 2):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        lines.append(f"round {number}  a = {hex64(a)}  b = {hex64(b)}")
        c = [(b >> 32) ^ c[1] ^ k[0], b & M32, (a >> 32) ^ c[3] ^ k[1], a & M32]
        k = [k[0] + 0x9E3779B9 & M32, k[1] + 0xBB67AE85 & M32]
        lines.append(f"         x = {hex32(c)}  key = {hex32(k)}")
    return [*lines, f"block    {hex32(second.philox4x32_10(counter, key))}"]


def example_keys():
    stream = taken(key_words(42, 3, 10), 8)
    long_stream = taken(key_words(LONG, 3, 10), 4)
    lines = ["seed 42, epoch 3, domain of 10 bits", "key         0000002a 00000000"]
    for j in range(2):
        lines.append(f"counter     {hex32([j, 10, 3, 0])}")
        lines.append(f"words {4 * j} to {4 * j + 3}  {hex32(stream[4 * j : 4 * j + 4])}")
    pair = [stream[0] | stream[1] << 32, stream[2] | stream[3] << 32]
    lines += [f"as words of 64 bits: {hex64(pair[0])} {hex64(pair[1])}", ""]
    lines += ["the seed of the bytes 00, 01, .., 1f at epoch 3, the same domain"]
    x = [0, 10, 3, 0]
    for quarter in seed_words(LONG):
        key = [quarter & M32, quarter >> 32]
        x = second.philox4x32_10(x, key)
        lines.append(f"key {hex32(key)}  block {hex32(x)}")
    assert x == long_stream
    lines += ["", f"child of seed 42 at epoch 3 for blocks:  {hex64(child_of(42, 3, 2**30))}"]
    return lines


def example_draw():
    length, seed, epoch = 10, 42, 0
    domain = second.exact_domain(length)
    stream = key_words(seed, epoch, domain)
    word = word64(stream)
    count, product = batch_from(length)
    lines = [f"seed {seed}, epoch {epoch}, {length} items: domain {domain:08x}"]
    lines += [f"batch from {length}: {count} ranges, product 0x{product:x}, least remainder 0x{2**64 % product:x}"]
    lines += [f"word {hex64(word)}, remainder {hex64(word * product & M64)}: accepted"]
    values = list(range(length))
    for number in range(length, 1, -1):
        other = word * number >> 64
        word = word * number & M64
        values[number - 1], values[other] = values[other], values[number - 1]
        if number in (10, 9, 2):
            lines.append(f"range {number}: other {other}, rest {hex64(word)}, values {' '.join(map(str, values))}")
    assert values == second.exact(length, seed, epoch)
    return lines


def example_chain():
    length, seed, epoch = 1000, 42, 0
    bits, mask, half = 10, 1023, 5
    keys = chain_keys(length, seed, epoch)
    stream = key_words(seed, epoch, 10)
    drawn = [word64(stream), word64(stream)]
    lines = [f"seed {seed}, epoch {epoch}, {length} items: {bits} bits, s = {half}"]
    lines += [f"first words {hex64(drawn[0])} {hex64(drawn[1])}"]
    lines += ["c  " + " ".join(keys["increments"]), "a  " + " ".join(keys["multipliers"])]
    x = 700
    x ^= x >> half + 1
    lines.append(f"slot {points([700])}, after the first xorshift {points([x])}")
    after = []
    for r, (c, a) in enumerate(zip(keys["increments"], keys["multipliers"])):
        x = x * int(a, 16) + int(c, 16) & mask
        x ^= x >> half + r % 2
        after.append(x)
    assert x == second.chain_map(length, seed, epoch, 10)[1](700)
    return [*lines, f"after each round  {points(after)}"]


def example_philox_round():
    key, point = 2, 0b10110
    size, forward = second.philox_keyed(5, [key])
    product = 0xD2B74407B1CE6E93 * 2 & M64
    assert size == 32
    lines = ["b = 5: 2 bits on the left, 3 on the right; one round with the key 00000002"]
    lines += [f"point {points([point])}: left 2, right 6; product {hex64(product)}, high {product >> 32:08x}, low {product & M32:08x}"]
    index = forward(point)
    return [*lines, f"left {index >> 3}, right {index & 7}: value {points([index])}"]


def example_grid():
    length, seed, epoch, slot = 700, 42, 0, 600
    size, forward = second.grid_map(length, seed, epoch)
    domain = second.exact_domain(size - 1)
    keys = taken(key_words(seed, epoch, domain), 4)
    p, q, t, _ = keys
    row, column = divmod(slot, 32)
    y = ((p | 1) * column + q) % 2**16
    h = (t | 1) * (y ^ y >> 8) % 2**16
    lines = [f"seed {seed}, epoch {epoch}, {length} items: {size // 32} rows of 32 columns, domain {domain:08x}"]
    lines += [f"first half-round: p, q, t, u  {hex32(keys)}"]
    lines += [f"slot {slot}: row {row}, column {column}, hash {points([h])}, row {(row - h * (size // 32) // 2**16) % (size // 32)}"]
    return [*lines, f"value {forward(slot)}"]


def example_affine():
    stream = key_words(42, 0, 3)
    drawn = [word64(stream) for _ in range(8)]
    size, forward = second.lcg_map(5, 42, 0)
    lines = ["seed 42, epoch 0, 5 items: 3 bits, words of 64 bits"]
    lines += [" ".join(map(hex64, drawn[k : k + 4])) for k in (0, 4)]
    lines += [f"Lcg     multiplier {(drawn[0] | 1) % 8}, increment {drawn[1] % 8}: {' '.join(str(forward(x)) for x in range(8))}"]
    size, forward = second.affine_map(5, 42, 0)
    offset = forward(0)
    columns = [forward(2**j) ^ offset for j in range(3)]
    lines += [f"Affine  words modulo 8: {' '.join(str(word % 8) for word in drawn)}"]
    lines += [f"        columns {' '.join(map(str, columns))}, offset {offset}: {' '.join(str(forward(x)) for x in range(8))}"]
    return lines


def example_cursor():
    case = cursor_case("new", 1000, (42, 0), [400, 200, 1, 0, 0])
    own = cursor_case("new", 1000, (42, 0), [400, 200, 1, *landmark(1000, (42, 0), 400)])
    lines = ["Permutation::new(1000, 42), places 400 to 599: two texts of the same cursor"]
    return [*lines, case["text"], own["text"]]


def example_compaction():
    p = standard(1000, 42, 0)
    size, forward = second.chain_map(1000, 42, 0, 10)
    # Enough slots that one of them does not survive.
    count = next(slot for slot in range(size) if forward(slot) >= 1000) + 4
    values = [forward(slot) for slot in range(count)]
    lines = ["seed 42, epoch 0, 1000 items, of 1024 points"]
    lines += [f"slots {count - 8} to {count - 1}    {points(values[-8:])}"]
    lines += [f"places {count - 8} to {count - 2}   {points(p[count - 8 : count - 1])}"]
    return [*lines, f"digest of all     {hex64(fnv1a64(p))}"]


def example_walk():
    length = 10**12
    size, step = second.chain_map(length, 42, 0, 10)
    lines = ["seed 42, epoch 0, 10^12 items: 40 bits"]
    shown = 0
    for place in range(100):
        steps, x = [], place
        while not steps or x >= length:
            x = step(x)
            steps.append(x)
        if len(steps) > 1 or place == 0:
            lines.append(f"place {place}: " + " -> ".join(map(hex, steps)))
            shown += 1
        if shown == 3:
            return lines


def example_blocks():
    length, block, window, seed = 10, 3, 2, 42
    child = second.child(seed, 0)
    order = standard_or_walk(4, child, 0)
    lines = ["seed 42, epoch 0: 10 items in blocks of 3, 2 blocks to a window", f"child {hex64(child)}"]
    lines += [f"blocks, by epoch 0 of the child: {' '.join(map(str, order))}"]
    for number in (0, 1):
        read = [i for b in order[2 * number : 2 * number + 2] for i in range(3 * b, min(3 * b + 3, length))]
        drawn = standard_or_walk(len(read), child, number + 1)
        lines += [f"window {number} reads {' '.join(map(str, read))}"]
        lines += [f"  its order, by epoch {number + 1}: {' '.join(map(str, drawn))}"]
    return [*lines, f"order {' '.join(map(str, second.blocks(length, block, window, seed, 0)))}"]


def example_sampler():
    order = walk_map(10, 42, 0)
    lines = ["seed 42, epoch 0, 10 items, 3 ranks, batches of 2, padded"]
    lines += [f"order {' '.join(str(order(k)) for k in range(10))}"]
    for rank in range(3):
        case = epoch_case(10, 42, 0, rank, 3, 2, "pad", ORDERS[0])
        lines.append(f"rank {rank}: " + " | ".join(" ".join(map(str, batch)) for batch in case["batches"]))
    return [*lines, f"state after the first step: {state_text(10, 42, 0, 6, order)}"]


def example_generators():
    lines = ["seed 42, epoch 0, stream 1, the first words"]
    for name, (draw, _) in second.GENERATORS.items():
        lines.append(f"{name:<20} {hex32(taken(draw(42, 0, 1), 4))}")
    return lines


def example_numbers():
    lines = ["Philox4x32Rng, seed 42, epoch 0, stream 0: the first numbers, as bits"]
    for kind, draw in second.NUMBERS.items():
        width = 16 if kind.endswith("64") else 8
        bits = taken(draw(second.philox_rng(42, 0, 0)), 2)
        lines.append(f"{kind:<16} " + " ".join(f"{value:0{width}x}" for value in bits))
    return lines


def example_jump():
    power = second.xorshift1024_jump()
    limbs = [power >> 64 * k & M64 for k in range(16)]
    return [" ".join(hex64(limb) for limb in limbs[k : k + 4]) for k in range(0, 16, 4)]


def example_coefficients():
    def rows(name, values, kind):
        width = 8 if kind == "f" else 16
        return f"{name:<5} " + " ".join(f"{second.to_bits(kind, value):0{width}x}" for value in values)

    lines = []
    for kind, tables in (("f", second.TABLES_F32), ("d", second.TABLES_F64)):
        _, _, _, _, odd, even, low, high, sines, cosines = tables
        lines += [f"f{32 if kind == 'f' else 64}"]
        lines += [rows("P", odd, kind), rows("Q", even, kind), rows("LOW", [low], kind), rows("HIGH", [high], kind)]
        lines += [rows("SIN", sines[:3], kind), *([rows("", sines[3:], kind)] if kind == "d" else [])]
        lines += [rows("COS", cosines[:3], kind), *([rows("", cosines[3:], kind)] if kind == "d" else [])]
    turn32, turn64 = second.f32(second.math.tau / 2**34), second.math.tau / 2**54
    return [*lines, f"TURN  f32 {second.to_bits('f', turn32):08x}  f64 {second.to_bits('d', turn64):016x}"]


EXAMPLES = {
    "numbers of chapter 1": example_words,
    "philox": example_philox,
    "keys": example_keys,
    "draw": example_draw,
    "chain": example_chain,
    "philox round": example_philox_round,
    "grid": example_grid,
    "affine": example_affine,
    "compaction": example_compaction,
    "walk": example_walk,
    "cursor": example_cursor,
    "blocks": example_blocks,
    "sampler": example_sampler,
    "generators": example_generators,
    "numbers": example_numbers,
    "jump": example_jump,
    "coefficients": example_coefficients,
}


def with_examples(text):
    """The text with what belongs between its markers."""
    for name, example in EXAMPLES.items():
        block = "\n```text\n" + "\n".join(line.rstrip() for line in example()) + "\n```\n"
        pattern = rf"(<!-- {name} begin -->).*?(<!-- {name} end -->)"
        text, count = re.subn(pattern, lambda m: m[1] + block + m[2], text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"the text has {count} places for the example {name}")
    return text
