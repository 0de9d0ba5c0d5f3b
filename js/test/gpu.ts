// What is checked in a browser with WebGPU: the GPU moves items as the first module's orders say.

import { type Seed, Permutation, shuffle } from "bijective-shuffle";
import { WebGpuError, WebGpuShuffler } from "bijective-shuffle/webgpu";

let checks = 0;

function assert(condition: boolean, what: string): void {
  checks += 1;
  if (!condition) throw new Error(what);
}

// Those of GPUBufferUsage, which TypeScript does not know.
const [MAP_READ, COPY_SRC, COPY_DST, STORAGE] = [0x1, 0x4, 0x8, 0x80] as const;
const ALL = STORAGE | COPY_SRC | COPY_DST;

/** What stands behind the items, and has to stay. */
const GUARD = 0xa5a5a5a5;

function upload(device: GPUDevice, items: Uint32Array): GPUBuffer {
  const size = items.byteLength + 8;
  const buffer = device.createBuffer({ size, usage: ALL, mappedAtCreation: true });
  const words = new Uint32Array(buffer.getMappedRange());
  words.set(items);
  words.fill(GUARD, items.length);
  buffer.unmap();
  return buffer;
}

/** The words of a buffer without its guard, which is as it was. */
async function download(device: GPUDevice, buffer: GPUBuffer): Promise<Uint32Array> {
  const { size } = buffer;
  const staging = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const words = new Uint32Array(staging.getMappedRange()).slice();
  staging.destroy();
  assert(words.slice(-2).every((word) => word === GUARD), "nothing behind the items is written");
  return words.slice(0, -2);
}

const same = (a: Uint32Array, b: Uint32Array): boolean => a.every((word, k) => word === b[k]);

/** Items of some words, each of which tells its item and its place there. */
function itemsOf(order: ArrayLike<number>, words: number): Uint32Array {
  const items = new Uint32Array(order.length * words);
  for (let k = 0; k < order.length; k++) {
    for (let j = 0; j < words; j++) {
      items[k * words + j] = Math.imul(order[k]! + 1, 0x9e3779b1) ^ (j << 3);
    }
  }
  return items;
}

/** All ways there and back, for one length, size and seed. */
async function moves(
  gpu: WebGpuShuffler,
  length: number,
  words: number,
  seed: Seed,
  epoch: number,
): Promise<void> {
  const { device } = gpu;
  const what = `${length} items of ${words} words, seed ${seed}`;
  const inOrder = Uint32Array.from({ length }, (_, k) => k);
  const before = itemsOf(inOrder, words);
  const after = itemsOf(shuffle(inOrder, seed, { epoch }), words);
  const buffer = upload(device, before);
  const into = upload(device, before.slice().fill(7));
  const back = upload(device, before.slice().fill(9));
  // One encoder for two calls, of which the second reads what the first writes.
  const encoder = device.createCommandEncoder();
  gpu.shuffle(buffer, length, 4 * words, seed, { epoch, into, encoder });
  gpu.unshuffle(into, length, 4 * words, seed, { epoch, into: back, encoder });
  device.queue.submit([encoder.finish()]);
  assert(same(await download(device, into), after), `${what}: into`);
  assert(same(await download(device, back), before), `${what}: and back`);
  assert(same(await download(device, buffer), before), `${what}: the source`);
  gpu.shuffle(buffer, length, 4 * words, seed, { epoch });
  assert(same(await download(device, buffer), after), `${what}: in place`);
  gpu.unshuffle(buffer, length, 4 * words, seed, { epoch });
  assert(same(await download(device, buffer), before), `${what}: in place and back`);
  for (const each of [buffer, into, back]) each.destroy();
}

function refused(work: () => unknown, type: { prototype: Error }, words: string): void {
  try {
    work();
  } catch (error) {
    const isRight = Object.getPrototypeOf(error) === type.prototype;
    assert(isRight && (error as Error).message.includes(words), `${error} has "${words}"`);
    return;
  }
  assert(false, `this is to be refused: ${words}`);
}

function refusals(gpu: WebGpuShuffler): void {
  const { device } = gpu;
  const buffer = upload(device, new Uint32Array(100));
  const other = upload(device, new Uint32Array(50));
  const plain = device.createBuffer({ size: 400, usage: COPY_DST });
  const narrow = device.createBuffer({ size: 400, usage: STORAGE });
  refused(() => gpu.shuffle(buffer, -1, 4, 1), RangeError, "the length is -1");
  refused(() => gpu.shuffle(buffer, 1.5, 4, 1), RangeError, "the length is 1.5");
  refused(() => gpu.shuffle(buffer, 2 ** 32, 4, 1), RangeError, "at most 4294967295");
  refused(() => gpu.shuffle(buffer, 2 ** 32 - 1, 2 ** 20, 1), RangeError, "the device binds");
  for (const itemBytes of [0, 2, 6, -4, 2 ** 21, NaN]) {
    refused(() => gpu.shuffle(buffer, 10, itemBytes, 1), RangeError, `${itemBytes}`);
  }
  const wrong = "4" as unknown as number;
  refused(() => gpu.shuffle(buffer, wrong, 4, 1), TypeError, "the length is");
  refused(() => gpu.shuffle(buffer, 10, wrong, 1), TypeError, "the size of an item is");
  const unknown = { epochs: 1 } as object;
  refused(() => gpu.shuffle(buffer, 10, 4, 1, unknown), TypeError, 'no option "epochs"');
  refused(() => gpu.shuffle(buffer, 103, 4, 1), RangeError, "a buffer of 408 bytes");
  refused(() => gpu.unshuffle(buffer, 100, 4, 1, { into: other }), RangeError, "a buffer of 208");
  refused(() => gpu.shuffle(buffer, 10, 4, 1, { into: buffer }), TypeError, "their own buffer");
  refused(() => gpu.shuffle(buffer, 10, 4, 1, { into: plain }), TypeError, "create it with STORAGE");
  refused(() => gpu.shuffle(narrow, 10, 4, 1), TypeError, "STORAGE, COPY_SRC and COPY_DST");
  refused(() => gpu.shuffle(buffer, 10, 4, -1), RangeError, "the seed is -1");
  refused(() => gpu.shuffle(buffer, 0, 4, new Uint8Array(31)), RangeError, "a key of 31 bytes");
  // Nothing to do.
  gpu.shuffle(buffer, 0, 4, 1);
}

/** Runs all checks; `undefined` where there is no GPU. */
export async function check(): Promise<number | undefined> {
  let gpu: WebGpuShuffler;
  try {
    gpu = await WebGpuShuffler.open();
  } catch (error) {
    if (error instanceof WebGpuError && error.reason === "no-gpu") return undefined;
    throw error;
  }
  let failure: string | undefined;
  gpu.device.addEventListener("uncapturederror", ({ error }) => (failure ??= error.message));
  refusals(gpu);
  for (const length of [1, 2, 3, 100, 256, 257, 1000, 1024, 1025, 2049, 65536, 65537, 70000]) {
    await moves(gpu, length, 1, length, 0);
    await moves(gpu, length, [2, 3, 4, 10][length % 4]!, BigInt(length) << 40n, 5);
  }
  const key = Uint8Array.from({ length: 32 }, (_, k) => 7 * k + 1);
  for (const length of [200, 5000, 4096]) await moves(gpu, length, 1, key, 2 ** 40);
  for (const length of [2 ** 20, 2 ** 20 + 1]) await moves(gpu, length, 1, 42, 0);
  gpu.free();
  await moves(gpu, 300, 4, 1, 0);
  const items = await place(gpu, 1e6);
  assert(items.join() === new Permutation(1e6, 42).slice(0, 5).join(), `${items}`);
  assert(failure === undefined, `an error of the device: ${failure}`);

  gpu.device.destroy();
  await gpu.device.lost;
  const buffer = gpu.device.createBuffer({ size: 400, usage: ALL });
  refused(() => gpu.shuffle(buffer, 10, 4, 1), WebGpuError, "device is lost");
  return checks;
}

/** The first places of an order that the GPU has shuffled. */
async function place(gpu: WebGpuShuffler, length: number): Promise<number[]> {
  const buffer = upload(gpu.device, Uint32Array.from({ length }, (_, k) => k));
  gpu.shuffle(buffer, length, 4, 42);
  return [...(await download(gpu.device, buffer)).slice(0, 5)];
}
