// Arrays whose items are moved, in place.
//
// The module gives indexes, and JavaScript moves the items: so nothing is copied into the module's
// memory, and any array will do. Items of long arrays go through buckets that fit the caches. To undo
// a shuffle they need not: writes at random places are not waited for, as reads are.

import { said } from "./given.ts";
import { type Options, type Seed, writeSeed } from "./seed.ts";
import { ROOM, narrowBuffer, wasm } from "./wasm.ts";

/** Any array of numbers, such as a Float64Array. */
export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array;

/** The arrays that typed arrays are moved as: the bytes of their items count, and nothing else. */
type Raw = Uint8Array | Uint16Array | Uint32Array | Float64Array | BigUint64Array;

/** With more bytes than this, items are shuffled through buckets. */
const MANY_BYTES = 1 << 23;

/** With more items than this, plain arrays are not: engines keep a longer new array as a table. */
const MOST_PLAIN = 1 << 24;

/** The bits of the slots of a bucket, whose items fit the second cache. */
const BUCKET_BITS = 14;

/** The slots whose items the module gives at a time. */
const SLOTS = 2 * ROOM;

/** The most buckets of usual size: each has a cache line that is written to. */
const MOST_BUCKETS_BITS = 12;

/**
 * Shuffles an array in place, and returns it: the item that was at index `p[k]` is then at place
 * `k`, for the permutation `p = new Permutation(array.length, seed, options)`. Holes of a sparse
 * array become items that are `undefined`.
 *
 * If the array refuses an item, as a frozen array, an element that cannot be written to, or a proxy
 * does, the items are put back where they were and the error is thrown. An element that refuses its
 * own old item too, after it has taken another, keeps that other one.
 */
export function shuffle<A extends unknown[] | TypedArray>(
  array: A,
  seed: Seed,
  options?: Options,
): A {
  reorder(array, seed, options, false);
  return array;
}

/** Undoes {@link shuffle} with the same seed and options, and treats errors as it does. */
export function unshuffle<A extends unknown[] | TypedArray>(
  array: A,
  seed: Seed,
  options?: Options,
): A {
  reorder(array, seed, options, true);
  return array;
}

function reorder(
  array: unknown[] | TypedArray,
  seed: Seed,
  options: Options | undefined,
  isUndo: boolean,
): void {
  if (!Array.isArray(array) && !isTyped(array)) {
    throw new TypeError(`${said(array)} is to be shuffled: it is neither an array nor a typed array`);
  }
  const { length } = array;
  if (length > 2 ** 32) {
    throw new RangeError(`an array of ${length} items was given: at most 2^32 can be shuffled`);
  }
  const order = wasm().order(0, BigInt(length), writeSeed(seed, options));
  try {
    const moved = Array.isArray(array) ? array : raw(array);
    const bytes = length * (Array.isArray(array) ? 8 : array.BYTES_PER_ELEMENT);
    const serve = !isUndo && bytes > MANY_BYTES && !(Array.isArray(array) && length > MOST_PLAIN);
    // The buckets hold more than they can be expected to get, so there is always room.
    if (!serve || !shuffleByBuckets(moved as ArrayOf<unknown>, order)) reorderAtOnce(moved, order, isUndo);
  } finally {
    wasm().order_free(order);
  }
}

/** Whether a value is a typed array. */
export function isTyped(value: unknown): value is TypedArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** The same memory as an array that moves any bits unchanged. */
function raw(array: TypedArray): Raw {
  const { buffer, byteOffset, length } = array;
  switch (array.BYTES_PER_ELEMENT) {
    case 1:
      return new Uint8Array(buffer, byteOffset, length);
    case 2:
      return new Uint16Array(buffer, byteOffset, length);
    case 4:
      return new Uint32Array(buffer, byteOffset, length);
    default:
      // A Float64Array need not keep the bits of what is no number.
      return array instanceof Float64Array
        ? new Float64Array(buffer, byteOffset, length)
        : new BigUint64Array(buffer, byteOffset, length);
  }
}

/** What an array of any kind has that items are moved by. */
interface ArrayOf<T> {
  readonly length: number;
  [index: number]: T;
}

/** A new array of the same kind. */
function alike<T>(array: ArrayOf<T>, length: number): ArrayOf<T> {
  if (Array.isArray(array)) return new Array<T>(length);
  return new (array.constructor as new (length: number) => ArrayOf<T>)(length);
}

/** Looks up each item where it was. */
function reorderAtOnce(array: unknown[] | Raw, order: number, isUndo: boolean): void {
  const before = array.slice();
  // Engines compile a function for the arrays that it has seen, so each kind has its own.
  const plain = isUndo ? Plain.put : Plain.take;
  const typed = isUndo ? putTyped : takeTyped;
  let place = 0;
  try {
    for (let slot = 0, count; (count = wasm().order_items(order, BigInt(slot), SLOTS)) >= 0; slot += SLOTS) {
      if (Array.isArray(array)) plain(array, before as unknown[], ownIndexes(count), place, count);
      else typed(array as Uint8Array, before as Uint8Array, narrowBuffer(), place, count);
      place += count;
    }
  } catch (error) {
    // Typed arrays take every item, so nothing else can fail.
    for (let k = 0; k < before.length; k++) Plain.putBack(array as unknown[], k, before[k]);
    throw error;
  }
}

/**
 * A copy of the module's buffer. A plain array may be a proxy or have setters, which may call this
 * package while items are moved.
 */
function ownIndexes(count: number): Uint32Array {
  return narrowBuffer().slice(0, count);
}

/**
 * Writes to plain arrays. Bodies of classes are strict code in every bundle. In sloppy code, as
 * bundlers make for scripts, an element that cannot be written to would drop its item in silence.
 */
class Plain {
  static take(to: unknown[], from: unknown[], indexes: Uint32Array, place: number, count: number): void {
    for (let k = 0; k < count; k++) to[place + k] = from[indexes[k]!];
  }

  static put(to: unknown[], from: unknown[], indexes: Uint32Array, place: number, count: number): void {
    for (let k = 0; k < count; k++) to[indexes[k]!] = from[place + k];
  }

  /** Writes the items of a bucket in the order of their slots. Returns the place after the last. */
  static takeBucket<T>(to: ArrayOf<T>, place: number, from: ArrayOf<T>, start: number, found: Uint32Array): number {
    for (let slot = 0; slot < found.length; slot++) {
      const k = found[slot]!;
      if (k > 0) to[place++] = from[start + k - 1]!;
    }
    return place;
  }

  /** Writes an item to the place that it had, if that takes it. */
  static putBack<T>(array: ArrayOf<T>, place: number, item: T): void {
    try {
      array[place] = item;
    } catch {
      // The array has thrown before, and the caller passes the first error on.
    }
  }
}

function takeTyped(to: Uint8Array, from: Uint8Array, indexes: Uint32Array, place: number, count: number): void {
  for (let k = 0; k < count; k++) to[place + k] = from[indexes[k]!]!;
}

function putTyped(to: Uint8Array, from: Uint8Array, indexes: Uint32Array, place: number, count: number): void {
  for (let k = 0; k < count; k++) to[indexes[k]!] = from[place + k]!;
}

/**
 * Reads the items in order, puts each into the bucket of its slot, and then writes the buckets in
 * order. Returns whether there was room in all buckets; if not, nothing has moved.
 */
function shuffleByBuckets<T>(array: ArrayOf<T>, order: number): boolean {
  const { length } = array;
  const bits = 32 - Math.clz32(length - 1);
  const shift = Math.max(Math.min(bits, BUCKET_BITS), bits - MOST_BUCKETS_BITS);
  const [slots, buckets] = [2 ** shift, 2 ** (bits - shift)];
  // The number of items in a bucket deviates by at most half the root of its slots.
  const mean = Math.ceil((slots * length) / 2 ** bits);
  const room = Math.min(slots, mean + Math.ceil(5 * Math.sqrt(slots)));
  const bucketed = alike(array, buckets * room);
  const lows = new (shift <= 16 ? Uint16Array : Uint32Array)(buckets * room);
  const ends = new Float64Array(buckets);
  for (let b = 0; b < buckets; b++) ends[b] = b * room;

  for (let first = 0; first < length; first += SLOTS) {
    const count = Math.min(length - first, SLOTS);
    wasm().order_slots(order, first, count);
    const given = ownIndexes(count);
    for (let k = 0; k < count; k++) {
      const slot = given[k]!;
      const b = slot >>> shift;
      const at = ends[b]!++;
      if (at >= (b + 1) * room) return false;
      bucketed[at] = array[first + k]!;
      lows[at] = slot & (slots - 1);
    }
  }

  // For each slot of a bucket, where its item is, plus 1.
  const found = new Uint32Array(slots);
  let place = 0;
  try {
    for (let b = 0; b < buckets; b++) {
      const start = b * room;
      const count = ends[b]! - start;
      for (let k = 0; k < count; k++) found[lows[start + k]!] = k + 1;
      place = Plain.takeBucket(array, place, bucketed, start, found);
      found.fill(0);
    }
  } catch (error) {
    // Items are in their bucket in the order of their indexes.
    for (let b = 0; b < buckets; b++) ends[b] = b * room;
    for (let first = 0; first < length; first += SLOTS) {
      const count = Math.min(length - first, SLOTS);
      wasm().order_slots(order, first, count);
      const given = ownIndexes(count);
      for (let k = 0; k < count; k++) Plain.putBack(array, first + k, bucketed[ends[given[k]! >>> shift]!++]!);
    }
    throw error;
  }
  return true;
}
