#!/usr/bin/env python3
"""Writes the kernels of Bouverot-Dupuis and Sheeran, Efficient GPU implementation of affine index permutations on arrays
(FHPNC 2023), for random matrices that are known when they are compiled, as the paper has it. Written from the paper;
the equations are those of its sections 4 and 5, the constants those of section 6. Beside them, the same two passes with
cheaper arithmetic, which the paper does not have: `runs` says how.

    python3 paper_kernels.py >paper_kernels.inc

A matrix is a list of columns, each a number whose bit i is the entry in row i.
"""

import random

# Tiles of 32 by 32 items, of 2^30 items, and eight tiles to a block where there are iterations.
N_TILE, N_ITER, BITS = 5, 3, 30


def apply(columns, x):
    y = 0
    for column in columns:
        y ^= column * (x & 1)
        x >>= 1
    return y


def product(a, b):
    return [apply(a, column) for column in b]


def transpose(columns):
    n = len(columns)
    return [sum((columns[j] >> i & 1) << j for j in range(n)) for i in range(n)]


def rank(columns):
    pivots = []
    for column in columns:
        for pivot in pivots:
            column = min(column, column ^ pivot)
        if column:
            pivots.append(column)
    return len(pivots)


def ulp(columns):
    """A = U L P: from the last row up, the pivot comes to the diagonal, and all above it is cleared."""
    n = len(columns)
    lower, upper, permutation = list(columns), [1 << j for j in range(n)], [1 << j for j in range(n)]
    for i in reversed(range(n)):
        pivot = next(j for j in reversed(range(i + 1)) if lower[j] >> i & 1)
        for matrix in (lower, permutation):
            matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        above = lower[i] & ((1 << i) - 1)
        lower = [column ^ above if column >> i & 1 else column for column in lower]
        upper[i] |= above
    factors = upper, lower, transpose(permutation)
    assert product(product(upper, lower), factors[2]) == list(columns)
    return factors


def set_bits(out, moves):
    """Lines that set bits of a variable: moves are (bit, variable, its bit). Bits that move equally far move together."""
    masks = {}
    for to, variable, bit in moves:
        masks[variable, to - bit] = masks.get((variable, to - bit), 0) | 1 << bit
    shift = lambda by: f" << {by}" if by > 0 else f" >> {-by}" if by < 0 else ""
    return [f"{out} |= ({variable} & {mask}ull){shift(by)};" for (variable, by), mask in masks.items()]


def multiply(out, columns, x):
    return [f"{out} |= size_t(__popcll({row}ull & {x}) & 1) << {i};" for i, row in enumerate(transpose(columns))]


def multiply_by_columns(out, columns, moves):
    """The same product as a sum of columns: moves say which variable's bit chooses which column."""
    return [f"{out} ^= ({variable} >> {k} & 1) * {columns[j]}ull;" for j, variable, k in moves]


def narrow(text):
    """A kernel with indexes of 32 bits."""
    for wide, word in (("size_t", "uint32_t"), ("ull", "u"), ("__popcll", "__popc")):
        text = text.replace(wide, word)
    return text


def function(name, body):
    lines = "\n".join("    " + line for line in body)
    return f"template <class T>\n__global__ void {name}(const T* input, T* output) {{\n{lines}\n}}\n\n"


class Tile:
    """The partition of a tiled matrix's index bits (sections 4.1 and 5.1)."""

    def __init__(self, columns, iterations):
        n = len(columns)
        self.columns = list(range(N_TILE))
        self.rows = [j for j in range(n) if columns[j] < 1 << N_TILE][:N_TILE]
        assert len(self.rows) == N_TILE, "the matrix is not tiled"
        self.tile = sorted({*self.columns, *self.rows})
        rest = [j for j in range(n) if j not in self.tile]
        self.iter, self.block = rest[:iterations], rest[iterations:]
        self.size = len(self.tile)

    def stitch(self, threads):
        """Where the bits of an index come from, if the threads of a warp count through these."""
        others = [j for j in self.tile if j not in threads]
        parts = (("thread", threads), ("warp", others), ("iter", self.iter), ("block", self.block))
        return [(j, variable, k) for variable, bits in parts for k, j in enumerate(bits)]

    def within(self, moves):
        """The same within the tile: without the other bits."""
        return [(self.tile.index(j), variable, k) for j, variable, k in moves if j in self.tile]


def tiled(name, columns, iterations, by_columns):
    """A tiled BMMC (section 5.1) by `tile + banks` (4.2), and where there are iterations `iters` (4.3)."""
    tile = Tile(columns, iterations)
    incoming, outgoing = tile.stitch(tile.columns), tile.stitch(tile.rows)
    free = [j for j in tile.columns if j not in tile.rows]
    row_mask = (1 << tile.size) - (1 << N_TILE)

    def slot(at):
        shift = [f"size_t {at}_shift = 0;"] + set_bits(
            f"{at}_shift", [(free[k], at, N_TILE + k) for k in range(tile.size - N_TILE)]
        )
        return shift, f"(iter << {tile.size}) + ({at} & {row_mask}) + ({at} + {at}_shift & {(1 << N_TILE) - 1})"

    def without_iter(moves):
        return [move for move in moves if move[1] != "iter"]

    def only_iter(moves):
        return [move for move in moves if move[1] == "iter"]

    loop = ["#pragma unroll", f"for (size_t iter = 0; iter < {1 << iterations}; iter++) {{"]
    in_shift, in_slot = slot("in_tile")
    out_shift, out_slot = slot("out_tile")
    body = [f"__shared__ T tile[{1 << (tile.size + iterations)}];"]
    body += ["const size_t block = blockIdx.x, warp = threadIdx.y, thread = threadIdx.x;"]
    body += ["size_t in_base = 0, in_tile = 0, out_tile = 0, out_base = 0;"]
    body += set_bits("in_base", without_iter(incoming)) + set_bits("in_tile", tile.within(incoming)) + in_shift
    body += loop + ["    size_t in_addr = in_base;"]
    body += ["    " + line for line in set_bits("in_addr", only_iter(incoming))]
    body += [f"    tile[{in_slot}] = input[in_addr];", "}", "__syncthreads();"]
    body += set_bits("out_tile", tile.within(outgoing)) + out_shift
    if by_columns:
        body += multiply_by_columns("out_base", columns, without_iter(outgoing)) + loop
        body += ["    size_t out_addr = out_base;"]
        body += ["    " + line for line in multiply_by_columns("out_addr", columns, only_iter(outgoing))]
    else:
        assert iterations == 0, "the paper has iterations for bit permutations alone"
        body += ["size_t x = 0;"] + set_bits("x", outgoing) + multiply("out_base", columns, "x")
        body += loop + ["    const size_t out_addr = out_base;"]
    body += [f"    output[out_addr] = tile[{out_slot}];", "}"]
    warps = 1 << (tile.size - N_TILE)
    grid = f"dim3({1 << (len(columns) - tile.size - iterations)}u), dim3({1 << N_TILE}, {warps})"
    return function(name, body), grid


def factors(columns):
    """A = (U R)(R L P), section 5.2: the second pass and the first."""
    upper, lower, bit_permutation = ulp(columns)
    reversal = [1 << j for j in reversed(range(len(columns)))]
    return ("first", product(product(reversal, lower), bit_permutation)), ("second", product(upper, reversal))


def runs(tag, columns):
    """The contenders for a matrix: a label, and two kernels each with its grid."""
    passes = factors(columns)
    yield "paper: tile + banks", [tiled(f"tiled_1_{which}_{tag}", matrix, 0, False) for which, matrix in passes]
    # The same with indexes of 32 bits and without population counts, since a multiprocessor makes
    # only 16 of them a clock: a product is a sum of columns there, the columns of a block's bits
    # are summed once a warp, and those of an iteration are constants, so that a thread may have
    # several items of a dense matrix too.
    kernels = [tiled(f"columns_iters_{which}_{tag}", matrix, N_ITER, True) for which, matrix in passes]
    yield "two passes: 32 bits, columns, iters", [(narrow(text), grid) for text, grid in kernels]


def main():
    rng, cases = random.Random(1000 + BITS), []
    for number in range(3):
        columns = []
        while rank(columns) < BITS:
            columns = [rng.getrandbits(BITS) for _ in range(BITS)]
        tag = f"{BITS}_{number}"
        print(f"static const uint64_t columns_{tag}[] = {{{', '.join(f'{c}ull' for c in columns)}}};\n")
        contenders = []
        for label, kernels in runs(tag, columns):
            launches = []
            for (text, grid), (source, out) in zip(kernels, (("s", "t"), ("t", "o"))):
                print(text)
                name_of = text.split("void ")[1].split("(")[0]
                launches.append(f"{name_of}<T><<<{grid}>>>({source}, {out});")
            contenders.append(f'        {{"{label}", [](const T* s, T* o, T* t) {{ {" ".join(launches)} }}}},')
        cases.append((tag, contenders))
    print(f"template <class T>\nstd::vector<PaperCase<T>> paper_cases_{BITS}() {{\n    return {{")
    for tag, contenders in cases:
        print(f"      {{columns_{tag}, {{\n" + "\n".join(contenders) + "\n      }},")
    print("    };\n}\n")


main()
