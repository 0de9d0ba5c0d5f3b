// The functions of the module and its memory. The first call starts them, so an import does nothing.

import { type Exports, ROOM, start } from "./start.ts";

export { ROOM };

let functions: Exports | undefined;
let words = new BigUint64Array(0);
let narrow = new Uint32Array(0);

/** The functions. The first call takes a few milliseconds. */
export function wasm(): Exports {
  return (functions ??= start());
}

function look(): void {
  const { memory, buffer } = wasm();
  // A memory that has grown has another buffer.
  if (words.buffer !== memory.buffer) {
    words = new BigUint64Array(memory.buffer, buffer(), ROOM);
    narrow = new Uint32Array(memory.buffer, buffer(), 2 * ROOM);
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
