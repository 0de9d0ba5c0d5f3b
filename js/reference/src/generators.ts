// Chapter 11: streams of words, and the numbers that are made of them.

import { KeyStream, child, domains, philox } from "./keys.ts";
import { M64, atEpoch, high, join, low } from "./words.ts";
import type { Seed } from "./words.ts";

/** A generator: the size of its blocks, and the words of a stream, without end. */
export interface WordGenerator {
  readonly block: number;
  words(seed: Seed, stream: bigint): () => number;
}

/** The key stream of a generator's number, at an epoch of the child. */
function keyStream(seed: Seed, number: number, epoch: bigint): KeyStream {
  const domain = domains.generator(number);
  return new KeyStream(atEpoch(child(seed, domain), epoch), domain);
}

export const Philox4x32Rng: WordGenerator = {
  block: 4,
  words(seed, stream) {
    const key = keyStream(seed, 0, 0n).word64();
    let [i, words] = [0n, [] as number[]];
    return () => {
      if (words.length === 0) {
        words = philox([low(key), high(key)], [low(i), high(i), low(stream), high(stream)]);
        i = (i + 1n) & M64;
      }
      return words.shift() as number;
    };
  },
};

export const Lcg32: WordGenerator = {
  block: 1,
  words(seed, stream) {
    let x = keyStream(seed, 1, stream).word();
    return () => (x = (Math.imul(1664525, x) + 1013904223) >>> 0);
  },
};

export const Lcg64: WordGenerator = {
  block: 1,
  words(seed, stream) {
    let x = keyStream(seed, 2, stream).word64();
    return () => {
      x = (2862933555777941757n * x + 1442695040888963407n) & M64;
      return high(x);
    };
  },
};

/** `Mwc` with a multiplier. */
export const mwc = (a: bigint): WordGenerator => ({
  block: 1,
  words(seed, stream) {
    const w = keyStream(seed, 3, stream).word64();
    let n = ((w * ((a << 32n) - 2n)) >> 64n) + 1n;
    return () => {
      n = a * (n & 0xffffffffn) + (n >> 32n);
      return low(n);
    };
  },
});

export const Mwc = mwc(4294967118n);

/** The multipliers of `Mwc`, from the largest down. */
export function* multipliers(): Generator<bigint, void, void> {
  for (let a = 0xffffffffn; a > 0n; a--) {
    if (isPrime((a << 31n) - 1n) && isPrime((a << 32n) - 1n)) {
      yield a;
    }
  }
}

/** The test of Miller and Rabin, with bases that decide all numbers below 2^64. */
function isPrime(n: bigint): boolean {
  const bases = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n];
  for (const base of bases) {
    if (n % base === 0n) {
      return n === base;
    }
  }
  let [odd, twos] = [n - 1n, 0];
  while (odd % 2n === 0n) {
    [odd, twos] = [odd / 2n, twos + 1];
  }
  return (
    n > 1n &&
    bases.every((base) => {
      let x = power(base, odd, n);
      for (let k = 0; k < twos; k++) {
        if (x === n - 1n || (k === 0 && x === 1n)) {
          return true;
        }
        x = (x * x) % n;
      }
      return false;
    })
  );
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, factor] = [1n, base % modulus];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) {
      result = (result * factor) % modulus;
    }
    factor = (factor * factor) % modulus;
  }
  return result;
}

export const Xorwow: WordGenerator = {
  block: 1,
  words(seed, stream) {
    const key = keyStream(seed, 4, stream);
    let [x, y, z, w, v, d] = [0, 0, 0, 0, 0, 0].map(() => key.word()) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    if ((x | y | z | w | v) === 0) {
      x = 1;
    }
    return () => {
      const t = x ^ (x >>> 2);
      [x, y, z, w] = [y, z, w, v];
      v = (v ^ (v << 4) ^ t ^ (t << 1)) >>> 0;
      d = (d + 362437) >>> 0;
      return (d + v) >>> 0;
    };
  },
};

function laggedFibonacci(R: number, S: number, block: number): WordGenerator {
  return {
    block,
    words(seed, stream) {
      const key = keyStream(seed, 2 ** 24 + 2 ** 12 * R + S, stream);
      const ring = Uint32Array.from({ length: R }, () => key.word());
      if (ring.every((word) => word % 2 === 0)) {
        ring[0]! |= 1;
      }
      let oldest = 0;
      return () => {
        ring[oldest]! += ring[(oldest + R - S) % R]!;
        const word = ring[oldest]!;
        oldest = (oldest + 1) % R;
        return word;
      };
    },
  };
}

export const LaggedFibonacci521 = laggedFibonacci(521, 353, 256);
export const LaggedFibonacci1279 = laggedFibonacci(1279, 861, 512);

const M1024 = (1n << 1024n) - 1n;

function step1024(x: bigint): bigint {
  x ^= (x << 329n) & M1024;
  x ^= x >> 347n;
  return x ^ ((x << 344n) & M1024);
}

const JUMP = [
  0xfb4097ceafe41448n,
  0x9f5886431fa1237dn,
  0x66d23a0ffdf5337cn,
  0xdd30db3e82122fb3n,
  0x61b22f3f9efcee72n,
  0xe0b40b3bd9c3ee73n,
  0x6218bf43e0f95966n,
  0xaaec8f0224746431n,
  0xdc62301d75772066n,
  0xd84bc6b6900f503bn,
  0xe4dd93d399262914n,
  0x1de3f44f54b2657dn,
  0x29f763b486935553n,
  0x887c20647cb3c5f4n,
  0x38172185ce33a153n,
  0x0b9533a089b4bba4n,
].reduceRight((number, word) => (number << 64n) | word, 0n);

/** Where the streams of a first state begin, as far as they have been asked for. */
const starts = new Map<bigint, bigint[]>();

/** Where a stream begins. It jumps once for each stream before it. */
function startOf(first: bigint, stream: bigint): bigint {
  const known = starts.get(first) ?? [first];
  starts.set(first, known);
  while (known.length <= stream) {
    known.push(jump(known[known.length - 1] as bigint));
  }
  return known[Number(stream)] as bigint;
}

function jump(x: bigint): bigint {
  let sum = 0n;
  for (let i = 0n; i < 1024n; i++) {
    if (((JUMP >> i) & 1n) === 1n) {
      sum ^= x;
    }
    x = step1024(x);
  }
  return sum;
}

export const XorShift1024Weyl: WordGenerator = {
  block: 32,
  words(seed, stream) {
    const key = keyStream(seed, 5, 0n);
    let X = 0n;
    for (let k = 0; k < 32; k++) {
      X = (X << 32n) | BigInt(key.word());
    }
    // Word 0 has the highest bits.
    X = X === 0n ? 1n << 992n : X;
    let y = key.word();
    X = startOf(X, stream);
    let i = 32;
    return () => {
      if (i === 32) {
        X = step1024(X);
        y = (y + 362437) >>> 0;
        i = 0;
      }
      const lane = Number((X >> BigInt(32 * (31 - i++))) & 0xffffffffn);
      return (((y ^ (y >>> 16)) >>> 0) + lane) >>> 0;
    };
  },
};

// Numbers of other types, as their bits.

const memory = new DataView(new ArrayBuffer(8));

/** What an `f32` and an `f64` differ in. */
interface Float {
  /** Rounds the result of an operation. */
  readonly round: (x: number) => number;
  readonly toBits: (x: number) => bigint;
  readonly ofBits: (bits: bigint) => number;
  readonly bits: bigint;
  readonly root: bigint;
  readonly one: bigint;
  readonly exponent: bigint;
  readonly bias: bigint;
  readonly P: number[];
  readonly Q: number[];
  readonly low: number;
  readonly high: number;
  readonly S: number[];
  readonly C: number[];
  readonly turn: number;
}

const bits32 = {
  toBits: (x: number): bigint => (memory.setFloat32(0, x), BigInt(memory.getUint32(0))),
  ofBits: (bits: bigint): number => (memory.setUint32(0, Number(bits)), memory.getFloat32(0)),
};
const bits64 = {
  toBits: (x: number): bigint => (memory.setFloat64(0, x), memory.getBigUint64(0)),
  ofBits: (bits: bigint): number => (memory.setBigUint64(0, bits), memory.getFloat64(0)),
};

const F32: Float = {
  ...bits32,
  round: Math.fround,
  bits: 32n,
  root: 0x3f3304f4n,
  one: 0x3f800000n,
  exponent: 23n,
  bias: 127n,
  P: [0x3eccce13n, 0x3e789e26n].map(bits32.ofBits),
  Q: [0x3f2aaaaan, 0x3e91e9een].map(bits32.ofBits),
  low: bits32.ofBits(0x3717f7d1n),
  high: bits32.ofBits(0x3f317180n),
  S: [0xbe2aaaa3n, 0x3c08839en, 0xb94ca1f9n].map(bits32.ofBits),
  C: [0x3d2aaaa5n, 0xbab6061an, 0x37ccf5cen].map(bits32.ofBits),
  turn: bits32.ofBits(0x2fc90fdbn),
};

const F64: Float = {
  ...bits64,
  round: (x) => x,
  bits: 64n,
  root: 0x3fe6a09e667f3bcdn,
  one: 0x3ff0000000000000n,
  exponent: 52n,
  bias: 1023n,
  P: [0x3fd999999997fa04n, 0x3fcc71c51d8e78afn, 0x3fc39a09d078c69fn].map(bits64.ofBits),
  Q: [0x3fe5555555555593n, 0x3fd2492494229359n, 0x3fc7466496cb03den, 0x3fc2f112df3e5244n].map(
    bits64.ofBits,
  ),
  low: bits64.ofBits(0x3dea39ef35793c76n),
  high: bits64.ofBits(0x3fe62e42fee00000n),
  S: [
    0xbfc5555555555548n,
    0x3f8111111110f7d0n,
    0xbf2a01a019bfdf03n,
    0x3ec71de3567d48a1n,
    0xbe5ae5e5a9291f5dn,
    0x3de5d8fd1fd19ccdn,
  ].map(bits64.ofBits),
  C: [
    0x3fa555555555554bn,
    0xbf56c16c16c14f91n,
    0x3efa01a019c844f5n,
    0xbe927e4f7eac4bc6n,
    0x3e21ee9d7b4e3f05n,
    0xbda8fa49a0861a9bn,
  ].map(bits64.ofBits),
  turn: bits64.ofBits(0x3cb921fb54442d18n),
};

function poly(r: (x: number) => number, coefficients: readonly number[], z: number): number {
  return coefficients.reduceRight((sum, c) => r(c + r(z * sum)));
}

function ln(of: Float, x: number): number {
  const { round: r, exponent: E } = of;
  const B = of.toBits(x) + (of.one - of.root);
  const k = r(Number((B >> E) - of.bias));
  const f = r(of.ofBits((B & ((1n << E) - 1n)) + of.root) - 1);
  const s = r(f / r(2 + f));
  const z = r(s * s);
  const w = r(z * z);
  const odd = r(w * poly(r, of.P, w));
  const even = r(z * poly(r, of.Q, w));
  const half = r(r(0.5 * f) * f);
  const rest = r(r(s * r(half + r(even + odd))) + r(k * of.low));
  return r(r(k * of.high) - r(r(half - rest) - f));
}

function box(of: Float, x: number, angle: bigint): [number, number] {
  const { round: r, bits: N } = of;
  const mask = (1n << N) - 1n;
  const radius = r(Math.sqrt(r(-2 * ln(of, x))));
  const quarter = ((angle + (1n << (N - 3n))) & mask) >> (N - 2n);
  const a = BigInt.asIntN(Number(N), angle << 2n);
  const t = N === 32n ? r(r(Number(a)) * of.turn) : Number(a >> 12n) * of.turn;
  const z = r(t * t);
  let sine = r(t + r(t * r(z * poly(r, of.S, z))));
  let cosine = r(r(1 - r(0.5 * z)) + r(r(z * z) * poly(r, of.C, z)));
  for (let turns = 0n; turns < quarter; turns++) {
    [sine, cosine] = [cosine, -sine];
  }
  return [r(radius * cosine), r(radius * sine)];
}

const open32 = (u: number): number =>
  Math.fround(Math.fround(Math.fround(u >>> 1) * 2 ** -31) + 2 ** -32);
const open64 = (v: bigint): number => 1 - Number(v >> 12n) * 2 ** -52;

export type Kind =
  | "u32"
  | "u64"
  | "f32"
  | "f64"
  | "normal_f32"
  | "normal_f64"
  | "exponential_f32"
  | "exponential_f64";

/** The numbers of a kind that words make, one after the other, as their bits. */
export function numbers(kind: Kind, u: () => number): () => bigint {
  const v = (): bigint => {
    const first = u();
    return join(first, u());
  };
  const pairs = (pair: () => bigint[]): (() => bigint) => {
    let waiting: bigint[] = [];
    return () => {
      waiting = waiting.length > 0 ? waiting : pair();
      return waiting.shift() as bigint;
    };
  };
  switch (kind) {
    case "u32":
      return () => BigInt(u());
    case "u64":
      return v;
    case "f32":
      return () => F32.toBits((u() >>> 8) * 2 ** -24);
    case "f64":
      return () => F64.toBits(Number(v() >> 11n) * 2 ** -53);
    case "normal_f32":
      return pairs(() => {
        const radius = open32(u());
        return box(F32, radius, BigInt(u())).map(F32.toBits);
      });
    case "normal_f64":
      return pairs(() => {
        const radius = open64(v());
        return box(F64, radius, v()).map(F64.toBits);
      });
    case "exponential_f32":
      return () => F32.toBits(Math.fround(0 - ln(F32, open32(u()))));
    case "exponential_f64":
      return () => F64.toBits(0 - ln(F64, open64(v())));
  }
}

/** A normal number of another mean and deviation, from its bits to its bits. */
export function scaled(kind: Kind, bits: bigint, mean: number, deviation: number): bigint {
  const of = kind === "normal_f32" ? F32 : F64;
  return of.toBits(of.round(mean + of.round(deviation * of.ofBits(bits))));
}

/** The first numbers, as bits, of rows of some streams. */
export function rows(
  generator: WordGenerator,
  kind: Kind,
  seed: Seed,
  first: bigint,
  count: number,
  length: number,
): bigint[] {
  const streams = Array.from({ length: count }, (_, k) =>
    numbers(kind, generator.words(seed, first + BigInt(k))),
  );
  const values: bigint[] = [];
  while (values.length < length) {
    for (const next of streams) {
      for (let k = 0; k < generator.block; k++) {
        values.push(next());
      }
    }
  }
  return values.slice(0, length);
}
