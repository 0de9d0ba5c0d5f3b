// Gets the functions that all else calls, from the WebAssembly module or from plain JavaScript.

import { instantiated } from "./code.ts";
import { code } from "./module.js";
import { plain } from "./plain.js";

/** The functions of js/wasm/src/lib.rs, and of js/plain, which stands in where there is no WebAssembly. */
export interface Exports {
  readonly memory: WebAssembly.Memory;
  /** The longest order of a shuffle in which single places are looked up, if not the module's. */
  readonly mostIndexed?: bigint;
  buffer(): number;
  order(isWalk: number, length: bigint, isKey: number): number;
  order_inverted(order: number): number;
  order_free(order: number): void;
  order_look_up(order: number, place: number, isItem: number): number;
  order_look_up_wide(order: number, place: bigint, isItem: number): bigint;
  order_near(order: number, place: bigint, isItem: number): number;
  order_run(order: number, first: bigint, count: number): void;
  order_items(order: number, slot: bigint, slots: number): number;
  order_items_wide(order: number, slot: bigint, slots: number): number;
  order_slots(order: number, first: number, count: number): void;
  sampler(isKey: number, tail: number, order: number): number;
  sampler_free(sampler: number): void;
  sampler_next(sampler: number): number;
  sampler_batch(sampler: number): number;
  sampler_set_epoch(sampler: number, epoch: bigint): number;
  sampler_numbers(sampler: number): void;
  sampler_state(sampler: number): number;
  sampler_state_at(sampler: number, epoch: bigint, consumed: bigint): number;
  sampler_resume(sampler: number, length: number): number;
}

/** The words of 64 bits that the module's buffer holds. */
export const ROOM = 1 << 12;

/** The module's functions, or those that stand in where WebAssembly is missing or not allowed. */
export function start(): Exports {
  return (instantiated(code) as Exports | undefined) ?? plain(ROOM);
}
