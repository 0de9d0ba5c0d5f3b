// The WebAssembly module: all that knows its functions and its memory.

/** The functions of js/wasm/src/lib.rs, and of js/plain, which stands in where they cannot be had. */
export interface Exports {
  readonly memory: WebAssembly.Memory;
  /** The longest order of a shuffle in which single places are looked up, if not the module's. */
  readonly mostIndexed?: bigint;
  buffer(): number;
  order(isWalk: number, length: bigint, isKey: number): number;
  order_inverse(order: number): number;
  order_free(order: number): void;
  order_look_up(order: number, place: number, isItem: number): number;
  order_look_up_wide(order: number, place: bigint, isItem: number): bigint;
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
  sampler_resume(sampler: number, length: number): number;
}

/** The words of 64 bits that the module's buffer holds. */
export const ROOM = 1 << 12;

export let wasm: Exports;
let address = 0;
let words = new BigUint64Array(0);
let narrow = new Uint32Array(0);

/** Starts with a module's code. */
export async function start(code: BufferSource): Promise<void> {
  const { instance } = await WebAssembly.instantiate(code, {});
  startWith(instance.exports as unknown as Exports);
}

/** Starts with the functions. */
export function startWith(functions: Exports): void {
  wasm = functions;
  address = wasm.buffer();
}

function look(): void {
  // A memory that has grown has another buffer.
  if (words.buffer !== wasm.memory.buffer) {
    words = new BigUint64Array(wasm.memory.buffer, address, ROOM);
    narrow = new Uint32Array(wasm.memory.buffer, address, 2 * ROOM);
  }
}

/** The buffer, as words of 64 bits. It is valid until the next call that allocates. */
export function wideBuffer(): BigUint64Array {
  look();
  return words;
}

/** The buffer, as words of 32 bits. It is valid until the next call that allocates. */
export function narrowBuffer(): Uint32Array {
  look();
  return narrow;
}

const handles = new FinalizationRegistry<Handle>((handle) => handle.free());

/** An object of the module, which is freed once: on request, or after its owner has gone. */
export class Handle {
  #address: number;
  readonly #free: (address: number) => void;

  constructor(owner: object, address: number, free: (address: number) => void) {
    this.#address = address;
    this.#free = free;
    handles.register(owner, this, this);
  }

  /** Where it is in the module's memory. */
  get address(): number {
    if (this.#address === 0) throw new TypeError("this object has been freed: make another one");
    return this.#address;
  }

  free(): void {
    const address = this.#address;
    if (address === 0) return;
    this.#address = 0;
    handles.unregister(this);
    this.#free(address);
  }
}
