// Chapter 5: families of bijections. On domains of up to 2^32 points, the families that are likely
// to give whole permutations compute in numbers. Everything else is computed in bigints.

import { draw } from "./draw.ts";
import { KeyStream, domains } from "./keys.ts";
import { M64, bits, oddInverse } from "./words.ts";
import type { Seed } from "./words.ts";

/** A bijection on `[0, last]`. */
export interface Bijection {
  readonly last: bigint;
  forward(slot: bigint): bigint;
  inverse(index: bigint): bigint;
  /** The same in numbers, if the family has that on this domain. */
  readonly narrow?: Narrow;
}

export interface Narrow {
  forward(slot: number): number;
  inverse(index: number): number;
}

/** Draws a bijection for a length and a seed. */
export type Family = (length: bigint, seed: Seed) => Bijection;

function widened(last: bigint, narrow: Narrow): Bijection {
  return {
    last,
    narrow,
    forward: (slot) => BigInt(narrow.forward(Number(slot))),
    inverse: (index) => BigInt(narrow.inverse(Number(index))),
  };
}

const maskOf = (bits: number): bigint => (1n << BigInt(bits)) - 1n;

/** A key stream for the width of a length. */
const widthStream = (length: bigint, seed: Seed): KeyStream =>
  new KeyStream(seed, domains.bits(bits(length)));

export const Table: Family = (length, seed) => {
  const stream = new KeyStream(seed, domains.exact(length));
  return listed(length === 0n ? [0] : draw(Number(length), () => stream.word64()));
};

/** The bijection with these values. */
export function listed(values: readonly number[]): Bijection {
  const slots: number[] = new Array(values.length);
  values.forEach((value, slot) => (slots[value] = slot));
  return widened(BigInt(values.length - 1), {
    forward: (slot) => values[slot] as number,
    inverse: (index) => slots[index] as number,
  });
}

export interface Chain {
  readonly bits: number;
  readonly increments: readonly bigint[];
  readonly multipliers: readonly bigint[];
}

/** The key of `MulXorshift`. */
export function chainKey(rounds: number, length: bigint, seed: Seed): Chain {
  const b = Math.max(bits(length), 2);
  const stream = widthStream(length, seed);
  const [increments, multipliers]: [bigint[], bigint[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    increments.push(stream.word64() & maskOf(b));
    const word = stream.word64();
    multipliers.push(((word & ~7n) | ((word & 4n) === 0n ? 3n : 5n)) & maskOf(b));
  }
  return { bits: b, increments, multipliers };
}

export const mulXorshift =
  (rounds: number): Family =>
  (length, seed) => {
    const chain = chainKey(rounds, length, seed);
    return chain.bits <= 32 ? widened(maskOf(chain.bits), narrowChain(chain)) : wideChain(chain);
  };

function narrowChain({ bits, increments, multipliers }: Chain): Narrow {
  const s = Math.ceil(bits / 2);
  const mask = Number(maskOf(bits));
  const rounds = multipliers.map((multiplier, round) => ({
    a: Number(multiplier),
    undo: Number(oddInverse(multiplier, bits)),
    c: Number(increments[round]),
    shift: s + (round % 2),
  }));
  const back = [...rounds].reverse();
  return {
    forward(x) {
      x ^= x >>> (s + 1);
      for (const { a, c, shift } of rounds) {
        x = ((Math.imul(a, x) + c) & mask) >>> 0;
        x ^= x >>> shift;
      }
      return x >>> 0;
    },
    inverse(x) {
      for (const { undo, c, shift } of back) {
        x ^= x >>> shift;
        x = (Math.imul(x - c, undo) & mask) >>> 0;
      }
      return (x ^ (x >>> (s + 1))) >>> 0;
    },
  };
}

function wideChain({ bits, increments, multipliers }: Chain): Bijection {
  const s = BigInt(Math.ceil(bits / 2));
  const last = maskOf(bits);
  const rounds = multipliers.map((a, round) => ({
    a,
    undo: oddInverse(a, bits),
    c: increments[round] as bigint,
    shift: s + BigInt(round % 2),
  }));
  const back = [...rounds].reverse();
  return {
    last,
    forward(x) {
      x ^= x >> (s + 1n);
      for (const { a, c, shift } of rounds) {
        x = (a * x + c) & last;
        x ^= x >> shift;
      }
      return x;
    },
    inverse(x) {
      for (const { undo, c, shift } of back) {
        x ^= x >> shift;
        x = ((x - c) * undo) & last;
      }
      return x ^ (x >> (s + 1n));
    },
  };
}

const M = 0xd2b74407b1ce6e93n;

/** `VariablePhilox` on `2^bits` points with the given keys. */
export function philoxKeyed(bits: number, keys: readonly number[]): Bijection {
  return bits <= 32 ? widened(maskOf(bits), narrowPhilox(bits, keys)) : widePhilox(bits, keys);
}

function narrowPhilox(bits: number, keys: readonly number[]): Narrow {
  const L = bits >>> 1;
  const R = bits - L;
  const odd = R - L;
  const [leftMask, rightMask] = [2 ** L - 1, 2 ** R - 1];
  const [lowM, highM] = [0xb1ce6e93, 0xd2b74407];
  const undo = Number(oddInverse(BigInt(lowM), 32));
  // The first product has at most 48 bits, so a number holds it.
  const highOf = (left: number): number =>
    Math.floor((lowM * left) / 2 ** 32) + Math.imul(highM, left);
  const back = [...keys].reverse();
  return {
    forward(x) {
      let [left, right] = [x >>> R, x & rightMask];
      for (const key of keys) {
        const next = ((Math.imul(lowM, left) << odd) | (right >>> L)) & rightMask;
        left = (highOf(left) ^ key ^ right) & leftMask;
        right = next;
      }
      return ((left << R) | right) >>> 0;
    },
    inverse(x) {
      let [left, right] = [x >>> R, x & rightMask];
      for (const key of back) {
        const old = Math.imul(right >>> odd, undo) & leftMask;
        const top = right & (2 ** odd - 1);
        right = ((highOf(old) ^ key ^ left) & leftMask) | (top << L);
        left = old;
      }
      return ((left << R) | right) >>> 0;
    },
  };
}

function widePhilox(bits: number, narrowKeys: readonly number[]): Bijection {
  const keys = narrowKeys.map(BigInt);
  const L = BigInt(bits >>> 1);
  const R = BigInt(bits) - L;
  const odd = R - L;
  const [leftMask, rightMask] = [(1n << L) - 1n, (1n << R) - 1n];
  const undo = oddInverse(M & 0xffffffffn, 32);
  const back = [...keys].reverse();
  return {
    last: maskOf(bits),
    forward(x) {
      let [left, right] = [x >> R, x & rightMask];
      for (const key of keys) {
        const p = (M * left) & M64;
        const next = (((p & 0xffffffffn) << odd) | (right >> L)) & rightMask;
        left = ((p >> 32n) ^ key ^ right) & leftMask;
        right = next;
      }
      return (left << R) | right;
    },
    inverse(x) {
      let [left, right] = [x >> R, x & rightMask];
      for (const key of back) {
        const old = ((right >> odd) * undo) & leftMask;
        const top = right & ((1n << odd) - 1n);
        const p = (M * old) & M64;
        right = (((p >> 32n) ^ key ^ left) & leftMask) | (top << L);
        left = old;
      }
      return (left << R) | right;
    },
  };
}

function philoxFrom(stream: KeyStream, length: bigint): Bijection {
  const keys = Array.from({ length: 24 }, () => stream.word());
  return philoxKeyed(Math.max(bits(length), 2), keys);
}

export const VariablePhilox: Family = (length, seed) =>
  philoxFrom(widthStream(length, seed), length);

/** `RandomSign` of `VariablePhilox`. */
export const SignedPhilox: Family = (length, seed) => {
  const stream = widthStream(length, seed);
  const inner = philoxFrom(stream, length);
  return (stream.word() & 1) === 1 ? exchanged(inner) : inner;
};

function exchanged(inner: Bijection): Bijection {
  if (inner.last === 0n) {
    return inner;
  }
  const exchange = (x: bigint): bigint => (x < 2n ? x ^ 1n : x);
  return {
    last: inner.last,
    forward: (slot) => exchange(inner.forward(slot)),
    inverse: (index) => inner.inverse(exchange(index)),
  };
}

/** The remainder from 0 on, also of a negative number. */
const modulo = (x: bigint, n: bigint): bigint => ((x % n) + n) % n;

export const GridFeistel: Family = (length, seed) => {
  const b = Math.max(bits(length), 2);
  const j = BigInt(Math.ceil(b / 2));
  const columns = 1n << j;
  const least = ((length === 0n ? 1n : length) - 1n) / columns + 1n;
  const rows = least < 2n ? 2n : least;
  const last = rows * columns - 1n;
  const w = b < 32 ? 16n : 32n;
  const mask = (1n << w) - 1n;
  const stream = new KeyStream(seed, domains.exact(last));
  const halfRounds = Array.from({ length: 12 }, (_, round) => {
    const [p, q, t, u] = [0, 0, 0, 0].map(() => BigInt(stream.word())) as [
      bigint,
      bigint,
      bigint,
      bigint,
    ];
    const h = (x: bigint): bigint => {
      let y = ((p | 1n) * x + q) & mask;
      y ^= y >> (w / 2n);
      return ((t | 1n) * y) & mask;
    };
    const undo = oddInverse(u | 1n, Number(j));
    return { even: round % 2 === 0, h, u: u | 1n, undo };
  });
  const back = [...halfRounds].reverse();
  return {
    last,
    forward(slot) {
      let [row, column] = [slot >> j, slot % columns];
      for (const { even, h, u } of halfRounds) {
        if (even) {
          row = modulo(row - ((h(column) * rows) >> w), rows);
        } else {
          column = (column * u + (h(row) >> (w - j))) % columns;
        }
      }
      return row * columns + column;
    },
    inverse(index) {
      let [row, column] = [index >> j, index % columns];
      for (const { even, h, undo } of back) {
        if (even) {
          row = (row + ((h(column) * rows) >> w)) % rows;
        } else {
          column = modulo((column - (h(row) >> (w - j))) * undo, columns);
        }
      }
      return row * columns + column;
    },
  };
};

export const Lcg: Family = (length, seed) => {
  const b = Math.max(bits(length), 1);
  const last = maskOf(b);
  const stream = widthStream(length, seed);
  const multiplier = (stream.word64() | 1n) & last;
  const increment = stream.word64() & last;
  const undo = oddInverse(multiplier, b);
  return {
    last,
    forward: (slot) => (multiplier * slot + increment) & last,
    inverse: (index) => ((index - increment) * undo) & last,
  };
};

/** What a word leaves after the exclusive or with reduced columns; 0 if it is a sum of them. */
const reduced = (word: bigint, reducedColumns: readonly bigint[]): bigint =>
  reducedColumns.reduce((rest, column) => (rest < (rest ^ column) ? rest : rest ^ column), word);

export const Affine: Family = (length, seed) => {
  const b = bits(length);
  const last = maskOf(b);
  const stream = widthStream(length, seed);
  const [columns, span]: [bigint[], bigint[]] = [[], []];
  while (columns.length < b) {
    let column = 0n;
    for (let tries = 0; tries < 256 && reduced(column, span) === 0n; tries++) {
      column = stream.word64() & last;
    }
    for (let power = 1n; reduced(column, span) === 0n; power <<= 1n) {
      column = power;
    }
    span.push(reduced(column, span));
    columns.push(column);
  }
  const offset = stream.word64() & last;
  const product = (of: readonly bigint[], x: bigint): bigint =>
    of.reduce((sum, column, i) => (((x >> BigInt(i)) & 1n) === 1n ? sum ^ column : sum), 0n);
  const inverted = inverseMatrix(columns);
  return {
    last,
    forward: (slot) => product(columns, slot) ^ offset,
    inverse: (index) => product(inverted, index ^ offset),
  };
};

/** The columns of the inverse matrix, by elimination. */
function inverseMatrix(columns: readonly bigint[]): bigint[] {
  // Each pair is a sum of columns, and the sum of those columns' unit vectors.
  const pairs = columns.map((column, i) => ({ sum: column, of: 1n << BigInt(i) }));
  for (let i = 0; i < pairs.length; i++) {
    const has = ({ sum }: { sum: bigint }): boolean => ((sum >> BigInt(i)) & 1n) === 1n;
    const pivot = pairs.findIndex((pair, k) => k >= i && has(pair));
    const found = pairs[pivot] as { sum: bigint; of: bigint };
    pairs[pivot] = pairs[i] as { sum: bigint; of: bigint };
    pairs[i] = found;
    pairs.forEach((pair, k) => {
      if (k !== i && has(pair)) {
        pair.sum ^= found.sum;
        pair.of ^= found.of;
      }
    });
  }
  return pairs.map((pair) => pair.of);
}

/** The default family. */
export const Standard: Family = (length, seed) =>
  length <= 256n ? Table(length, seed) : mulXorshift(10)(length, seed);
