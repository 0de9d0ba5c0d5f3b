// Chapters 6 to 9: compaction, walks, views, and shuffles of blocks.

import { Standard } from "./families.ts";
import type { Bijection, Family } from "./families.ts";
import { child, domains } from "./keys.ts";
import { atEpoch, check, parseSaved, samples, savedText } from "./words.ts";
import type { Seed } from "./words.ts";

/** The permutation of `length` items that a bijection compacts to, for lengths that fit memory. */
export function compact({ last, narrow, forward }: Bijection, length: number): number[] {
  const order: number[] = [];
  for (let slot = 0; slot <= Number(last); slot++) {
    const index = narrow === undefined ? Number(forward(BigInt(slot))) : narrow.forward(slot);
    if (index < length) {
      order.push(index);
    }
  }
  return order;
}

/** The order of a plain seed. */
export const order = (length: number, seed: Seed): number[] =>
  compact(Standard(BigInt(length), seed), length);

/** The first items of the order of a plain seed, for any length. */
export function sample(length: bigint, count: number, seed: Seed): bigint[] {
  const { forward } = Standard(length, seed);
  const items: bigint[] = [];
  for (let slot = 0n; items.length < count; slot++) {
    const item = forward(slot);
    if (item < length) {
      items.push(item);
    }
  }
  return items;
}

/** `CycleWalk` of a family. */
export const cycleWalk =
  (family: Family): Family =>
  (length, seed) => {
    const inner = family(length, seed);
    const points = length === 0n ? 1n : length;
    const until =
      (step: (x: bigint) => bigint) =>
      (x: bigint): bigint => {
        do {
          x = step(x);
        } while (x >= points);
        return x;
      };
    return { last: points - 1n, forward: until(inner.forward), inverse: until(inner.inverse) };
  };

/** The order with random access. */
export const walk: Family = cycleWalk(Standard);

export function inverse(permutation: readonly number[]): number[] {
  const places: number[] = new Array(permutation.length);
  permutation.forEach((item, place) => (places[item] = place));
  return places;
}

/** Row `row` of a batch of permutations. */
export const row = (length: number, seed: Seed, row: bigint): number[] =>
  order(length, atEpoch(seed, row));

/** The first place and the end of a shard. */
export const shard = (length: bigint, rank: bigint, ranks: bigint): [bigint, bigint] => [
  (length * rank) / ranks,
  (length * (rank + 1n)) / ranks,
];

/** The next places of a cursor: the first, how many, and their distance. */
export interface Position {
  readonly next: bigint;
  readonly left: bigint;
  readonly stride: bigint;
}

/** The text of a cursor: it says nothing of slots that were evaluated. */
export function cursorText(
  bijection: Bijection,
  length: bigint,
  inverted: boolean,
  { next, left, stride }: Position,
): string {
  const numbers = [length, next, left, stride, 0n, 0n];
  return savedText([...numbers, cursorCheck(bijection, numbers, inverted)]);
}

function cursorCheck(bijection: Bijection, numbers: bigint[], inverted: boolean): bigint {
  const { last } = bijection;
  const more = [last, inverted ? 1n : 0n, ...samples(last, bijection.forward)];
  return check([...numbers, ...more]);
}

/** The position of a cursor, or nothing if it is no cursor of this permutation. */
export function parseCursor(
  text: string,
  bijection: Bijection,
  length: bigint,
  inverted: boolean,
): Position | undefined {
  const numbers = parseSaved(text, 7);
  if (numbers === undefined) {
    return undefined;
  }
  const [ofLength, next, left, stride, slot, survivors, checked] = numbers as [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  if (ofLength !== length || stride === 0n) {
    return undefined;
  }
  const isThere =
    next + (left - 1n) * stride < length &&
    survivors <= next &&
    survivors <= slot &&
    length - survivors <= bijection.last + 1n - slot;
  const isRight = checked === cursorCheck(bijection, numbers.slice(0, 6), inverted);
  return isRight && (left === 0n || isThere) ? { next, left, stride } : undefined;
}

/** A shuffle of blocks: a bijection, and the blocks in the order in which they are read. */
export interface BlockShuffle extends Bijection {
  readonly blocks: bigint;
  block(position: bigint): bigint;
}

export function blockShuffle(
  length: bigint,
  block: bigint,
  window: bigint,
  seed: Seed,
): BlockShuffle {
  const blocks = (length + block - 1n) / block;
  const ofLast = length - (blocks - 1n) * block;
  const own = child(seed, domains.blocks);
  const outer = walk(blocks, own);
  const lastPosition = outer.inverse(blocks - 1n);
  /** The first slot of a position. */
  const start = (position: bigint): bigint =>
    position <= lastPosition ? position * block : (position - 1n) * block + ofLast;
  const positionOf = (slot: bigint): bigint => {
    const guess = slot / block;
    // Behind the short block, positions begin earlier than they would if it were full.
    return guess + 1n < blocks && start(guess + 1n) <= slot ? guess + 1n : guess;
  };
  // The window of the last slot is kept: it is the next one's, too, unless slots are asked for in
  // another order.
  let kept: { number: bigint; first: bigint; inner: Bijection } | undefined;
  const windowOf = (position: bigint): { first: bigint; inner: Bijection } => {
    const number = position / window;
    if (kept?.number !== number) {
      const end = (number + 1n) * window;
      const first = start(number * window);
      const items = (end < blocks ? start(end) : length) - first;
      kept = { number, first, inner: walk(items, atEpoch(own, number + 1n)) };
    }
    return kept;
  };
  return {
    last: length - 1n,
    blocks,
    block: outer.forward,
    forward(slot) {
      const { first, inner } = windowOf(positionOf(slot));
      const place = first + inner.forward(slot - first);
      const position = positionOf(place);
      return outer.forward(position) * block + place - start(position);
    },
    inverse(index) {
      const position = outer.inverse(index / block);
      const { first, inner } = windowOf(position);
      return first + inner.inverse(start(position) + (index % block) - first);
    },
  };
}
