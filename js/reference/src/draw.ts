// Chapter 4: exact draws.

import { M64 } from "./words.ts";

/** How many ranges from `n` down one word serves, and their product. */
export function batch(n: bigint): { count: bigint; product: bigint } {
  let [count, product] = [1n, n];
  while (n - count > 1n && product * (n - count) <= 1n << 56n) {
    product *= n - count;
    count++;
  }
  return { count, product };
}

/** A permutation of some items, from words of 64 bits. */
export function draw(items: number, word64: () => bigint): number[] {
  const v = Array.from({ length: items }, (_, k) => k);
  let n = items;
  while (n > 1) {
    const { count, product } = batch(BigInt(n));
    let w: bigint;
    do {
      w = word64();
    } while (((w * product) & M64) < (1n << 64n) % product);
    for (let times = 0n; times < count; times++) {
      const p = w * BigInt(n);
      const other = Number(p >> 64n);
      const item = v[n - 1] as number;
      v[n - 1] = v[other] as number;
      v[other] = item;
      w = p & M64;
      n--;
    }
  }
  return v;
}
