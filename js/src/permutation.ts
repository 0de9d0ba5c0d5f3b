/// <reference lib="esnext.disposable" preserve="true" />
// Permutations with random access.

import { type TypedArray, isTyped } from "./arrays.ts";
import { integer, numeric, said, word } from "./given.ts";
import { type Options, type Seed, writeSeed } from "./seed.ts";
import { Handle, ROOM, narrowBuffer, wasm, wideBuffer } from "./wasm.ts";

/** The indexes of a permutation: BigInts if its length is one, and otherwise numbers. */
export type Index<N extends number | bigint> = N extends bigint ? bigint : number;

/** The longest order of a shuffle in which single places are looked up: the index takes seconds. */
const MOST_INDEXED = 1n << 33n;

/** JavaScript's own limit. */
const MOST_IN_ARRAY = 2n ** 32n - 1n;

/** What {@link Permutation} is made of. Nobody else can make one. */
interface Parts<N extends number | bigint> {
  readonly length: N;
  readonly order: number;
  readonly isWalk: boolean;
  readonly isInverted: boolean;
}

const PARTS = Symbol("parts");

/**
 * A permutation of the numbers below `length`, which a seed determines. It stores a few numbers,
 * whatever its length.
 *
 * With a length that is a number (up to 2^53), indexes are numbers; with a BigInt (below 2^64), they
 * are BigInts.
 */
export class Permutation<N extends number | bigint = number> implements Iterable<Index<N>> {
  readonly #parts: Parts<N>;
  readonly #order: Handle;
  readonly #length: bigint;
  /** Whether no index is needed, and whether one that is needed would be too large. */
  readonly #isAtHand: boolean;
  readonly #isTooLong: boolean;

  /**
   * The order of `shuffle`. Single places, single indexes, and parts that do not begin at the first place
   * take an index, unless the length is at most 256 or a power of two. The first of them builds it,
   * by one pass over all items. Of more than 2^33 items (2^28 without WebAssembly) there is none:
   * then the places among the 2^19 first and last ones are counted to, and others are refused. Use
   * {@link Permutation.walk} to look up places of long orders.
   */
  constructor(length: N, seed: Seed, options?: Options);
  constructor(length: N, seed: Seed | typeof PARTS, options?: Options | Parts<N>) {
    this.#length = word(length, "the length");
    this.#parts =
      seed === PARTS ? (options as Parts<N>) : make(false, length, seed, options as Options);
    const { order, isWalk } = this.#parts;
    this.#isAtHand = isWalk || (this.#length & (this.#length - 1n)) === 0n;
    this.#isTooLong = !this.#isAtHand && this.#length > (wasm().mostIndexed ?? MOST_INDEXED);
    this.#order = new Handle(this, order, wasm().order_free);
  }

  /** Another order, in which any place of any length is looked up at once. */
  static walk<N extends number | bigint>(
    length: N,
    seed: Seed,
    options?: Options,
  ): Permutation<N> {
    return ofParts(make(true, length, seed, options));
  }

  /** The number of items. */
  get length(): N {
    return this.#parts.length;
  }

  /**
   * The index at a place, counted from the end if the place is negative; `undefined` if there is no
   * such place.
   */
  at(place: number | bigint): Index<N> | undefined {
    const { length } = this.#parts;
    if (typeof place === "number" && typeof length === "number") {
      const from = place < 0 ? place + length : place;
      if (!(from >= 0 && from < length)) return undefined;
      if (!Number.isInteger(from)) throw new RangeError(`${place} is no place: it is no integer`);
      if (this.#isTooLong) return this.#lookUp(BigInt(from), 0);
      return wasm().order_look_up(this.#order.address, from, 0) as Index<N>;
    }
    if (typeof numeric(place, "the place") === "number" && !Number.isInteger(place)) {
      if (!Number.isFinite(place)) return undefined;
      throw new RangeError(`${place} is no place: it is no integer`);
    }
    const from = BigInt(place) < 0n ? BigInt(place) + this.#length : BigInt(place);
    if (from < 0n || from >= this.#length) return undefined;
    return this.#lookUp(from, 0);
  }

  /** The place of an index: `at(position(index)) === index`; `undefined` if there is no such index. */
  position(index: number | bigint): Index<N> | undefined {
    const { length } = this.#parts;
    if (typeof numeric(index, "the index") === "number" && !Number.isInteger(index)) return undefined;
    if (typeof index === "number" && typeof length === "number") {
      if (!(index >= 0 && index < length)) return undefined;
      if (this.#isTooLong) return this.#lookUp(BigInt(index), 1);
      return wasm().order_look_up(this.#order.address, index, 1) as Index<N>;
    }
    const wide = BigInt(index);
    if (wide < 0n || wide >= this.#length) return undefined;
    return this.#lookUp(wide, 1);
  }

  /**
   * The indexes from place `start` up to, but not including, `end`. As in `Array.prototype.slice`,
   * negative places are counted from the end, and numbers are rounded towards 0 and to the length.
   * More indexes than an array has room for are refused: {@link Permutation.places} has no array.
   */
  slice(start: number | bigint = 0, end?: number | bigint): Index<N>[] {
    const from = this.#bound(start);
    const to = end === undefined ? this.#length : this.#bound(end);
    if (to - from > MOST_IN_ARRAY) {
      throw new RangeError(
        `a slice has ${to - from} indexes, more than an array holds: take them by \`places\``,
      );
    }
    return from < to ? [...this.places(from, to)] : [];
  }

  /**
   * One worker's share: the indexes at the places from `length * rank / ranks` up to, but not
   * including, `length * (rank + 1) / ranks`, both rounded down.
   */
  shard(rank: number, ranks: number): Places<N> {
    const [of, among] = [word(rank, "the rank"), word(ranks, "the number of ranks")];
    if (of >= among) {
      throw new RangeError(`there is no rank ${rank} among ${ranks}: ranks are counted from 0`);
    }
    return new Places(this, (this.#length * of) / among, (this.#length * (of + 1n)) / among);
  }

  /** The permutation that undoes this one: its index at place `k` is the place of index `k`. */
  inverted(): Permutation<N> {
    const order = wasm().order_inverted(this.#order.address);
    return ofParts({ ...this.#parts, order, isInverted: !this.#parts.isInverted });
  }

  /**
   * Gives back the memory that the permutation takes in the module, which is otherwise given back
   * some time after the permutation has gone, and never within a loop that does not wait. Only its
   * inverse has indexes afterwards.
   */
  free(): void {
    this.#order.free();
  }

  /** `using p = ..` frees the permutation. */
  [Symbol.dispose](): void {
    this.free();
  }

  /** All indexes in order, in constant memory. */
  [Symbol.iterator](): Generator<Index<N>, void, undefined> {
    return this.places(0n, this.#length);
  }

  /** The indexes from place `from` up to, but not including, `to`, which are computed one by one. */
  places(from: number | bigint, to: number | bigint): Generator<Index<N>, void, undefined> {
    const [first, end] = run(from, to, this.#length);
    const { isWalk, isInverted } = this.#parts;
    const isLookedUp = isWalk || isInverted || (this.#isAtHand && first > 0n);
    return isLookedUp ? this.#indexed(first, end) : this.#counted(first, end);
  }

  /** The indexes at a run of places, by a built index if the order is a shuffle's. */
  *#indexed(from: bigint, to: bigint): Generator<Index<N>, void, undefined> {
    if (from < to && this.#isTooLong) throw this.#refusal();
    for (let first = from; first < to; ) {
      const count = Number(to - first < BigInt(ROOM) ? to - first : BigInt(ROOM));
      wasm().order_run(this.#order.address, first, count);
      // The buffer may be written to between two indexes.
      yield* this.#indexes(wideBuffer().slice(0, count));
      first += BigInt(count);
    }
  }

  /** The indexes at a run of places of a shuffle's order, without a built index near an end. */
  *#counted(from: bigint, to: bigint): Generator<Index<N>, void, undefined> {
    const isNarrow = this.#length <= 1n << 32n && typeof this.length === "number";
    let slot = 0n;
    if (0n < from && from < to) {
      if (!wasm().order_near(this.#order.address, from, 0)) return yield* this.#indexed(from, to);
      slot = wideBuffer()[1]!;
    }
    for (let left = to - from; left > 0n; ) {
      const { address } = this.#order;
      // At least half of all slots have an item.
      const slots = Math.min(isNarrow ? 2 * ROOM : ROOM, 2 * Number(left));
      const found = (isNarrow ? wasm().order_items : wasm().order_items_wide)(address, slot, slots);
      const taken = found > left ? Number(left) : found;
      if (taken < 0) return;
      if (isNarrow) yield* narrowBuffer().slice(0, taken) as unknown as Index<N>[];
      else yield* this.#indexes(wideBuffer().slice(0, taken));
      slot += BigInt(slots);
      left -= BigInt(taken);
    }
  }

  #indexes(words: BigUint64Array): Iterable<Index<N>> {
    return (typeof this.length === "number" ? Array.from(words, Number) : words) as Iterable<Index<N>>;
  }

  #index(index: bigint): Index<N> {
    return (typeof this.length === "number" ? Number(index) : index) as Index<N>;
  }

  #bound(place: number | bigint): bigint {
    const given = numeric(place, "a bound of a slice");
    const whole = typeof given === "bigint" ? given : wholePlace(given);
    const from = whole < 0n ? whole + this.#length : whole;
    return from < 0n ? 0n : from > this.#length ? this.#length : from;
  }

  /** The index at a place, or the place of an index. */
  #lookUp(number: bigint, isIndex: 0 | 1): Index<N> {
    const { address } = this.#order;
    if (!this.#isTooLong) {
      return this.#index(BigInt.asUintN(64, wasm().order_look_up_wide(address, number, isIndex)));
    }
    if (!wasm().order_near(address, number, isIndex)) throw this.#refusal();
    return this.#index(wideBuffer()[0]!);
  }

  #refusal(): RangeError {
    return new RangeError(
      `single places of a shuffle's order of ${this.#length} items, except near its ends, take an ` +
        "index of too many: use Permutation.walk, which needs none",
    );
  }
}

/** A place that is a number, rounded towards 0. NaN is 0, and infinity is beyond any length. */
function wholePlace(place: number): bigint {
  return BigInt(Math.max(-(2 ** 64), Math.min(2 ** 64, Math.trunc(place) || 0)));
}

/** Checks a run of places below a length. */
function run(from: number | bigint, to: number | bigint, length: bigint): [bigint, bigint] {
  const [first, end] = [word(from, "the first place"), word(to, "the end")];
  if (first <= end && end <= length) return [first, end];
  throw new RangeError(`there are no places from ${from} to ${to} among ${length}`);
}

function make<N extends number | bigint>(
  isWalk: boolean,
  length: N,
  seed: Seed,
  options: Options | undefined,
): Parts<N> {
  const wide = word(length, "the length");
  const order = wasm().order(isWalk ? 1 : 0, wide, writeSeed(seed, options));
  return { length, order, isWalk, isInverted: false };
}

function ofParts<N extends number | bigint>(parts: Parts<N>): Permutation<N> {
  const make = Permutation as unknown as new (
    length: N,
    seed: typeof PARTS,
    parts: Parts<N>,
  ) => Permutation<N>;
  return new make(parts.length, PARTS, parts);
}

/** The indexes at a run of places of a permutation. */
export class Places<N extends number | bigint = number> implements Iterable<Index<N>> {
  readonly #of: Permutation<N>;
  readonly #from: bigint;
  readonly #to: bigint;

  /** Use {@link Permutation.shard}. */
  constructor(of: Permutation<N>, from: number | bigint, to: number | bigint) {
    if (!(of instanceof Permutation)) {
      throw new TypeError(`places of ${said(of)} were asked for: they are those of a Permutation`);
    }
    this.#of = of;
    [this.#from, this.#to] = run(from, to, BigInt(of.length));
  }

  /** The first place. */
  get start(): Index<N> {
    return this.#number(this.#from);
  }

  /** The place behind the last. */
  get end(): Index<N> {
    return this.#number(this.#to);
  }

  /** The number of places. */
  get length(): Index<N> {
    return this.#number(this.#to - this.#from);
  }

  [Symbol.iterator](): Generator<Index<N>, void, undefined> {
    return this.#of.places(this.#from, this.#to);
  }

  #number(number: bigint): Index<N> {
    return (typeof this.#of.length === "number" ? Number(number) : number) as Index<N>;
  }
}

/**
 * Draws `count` different numbers below `length`, or items of an array of any kind, in random order: the first
 * ones of `new Permutation(length, seed, options)`, which are those of a shuffled array. It takes
 * time and memory for `count` items, whatever the length is.
 */
export function sample<N extends number | bigint>(
  length: N,
  count: number,
  seed: Seed,
  options?: Options,
): Index<N>[];
export function sample<T>(items: readonly T[], count: number, seed: Seed, options?: Options): T[];
export function sample<A extends TypedArray>(
  items: A,
  count: number,
  seed: Seed,
  options?: Options,
): A[number][];
export function sample<T>(
  from: number | bigint | readonly T[] | TypedArray,
  count: number,
  seed: Seed,
  options?: Options,
): (number | bigint | T)[] {
  const isLength = typeof from === "number" || typeof from === "bigint";
  if (!isLength && !Array.isArray(from) && !isTyped(from)) {
    throw new TypeError(`${said(from)} was given to draw from: it has to be a length or an array`);
  }
  const length = isLength ? from : from.length;
  if (!(integer(count, 0, "the number of items to draw") <= length)) {
    throw new RangeError(`${count} of ${length} items were asked for: at most ${length} can be drawn`);
  }
  const order = new Permutation(length, seed, options);
  try {
    const indexes = order.slice(0, count);
    return isLength ? indexes : indexes.map((index) => from[Number(index)]!);
  } finally {
    order.free();
  }
}
