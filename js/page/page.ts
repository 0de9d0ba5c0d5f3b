// The page: what it shows is computed by the package that it has within itself.

import vectors from "../../crates/vectors/data/06-compaction.json";

import { Permutation, shuffle, unshuffle } from "bijective-shuffle";

import { moveCloud } from "./cloud.ts";

function element<E extends HTMLElement>(id: string): E {
  return document.getElementById(id) as E;
}

function say(id: string, text: string): void {
  element(id).textContent = text;
}

/** What a field has; what is no integer is refused by the package. */
const field = (id: string): bigint => BigInt(element<HTMLInputElement>(id).value.trim());

const canvas = element<HTMLCanvasElement>("picture");
const context = canvas.getContext("2d", { willReadFrequently: true })!;
const { width, height } = canvas;
for (let y = 0; y < height; y++) {
  for (let x = 0; x < width; x++) {
    const ring = Math.hypot(x - width / 2, y - height / 2);
    context.fillStyle = `hsl(${(x / width) * 300} 80% ${45 + 20 * Math.sin(ring / 9)}%)`;
    context.fillRect(x, y, 1, 1);
  }
}

function movePixels(move: (pixels: Uint32Array, seed: bigint) => void, done: string): void {
  try {
    const image = context.getImageData(0, 0, width, height);
    const began = performance.now();
    move(new Uint32Array(image.data.buffer), field("seed"));
    const took = performance.now() - began;
    context.putImageData(image, 0, 0);
    say("picture-says", `${(width * height).toLocaleString("en")} pixels ${done}, ${took.toFixed(1)} ms`);
  } catch (error) {
    say("picture-says", (error as Error).message);
  }
}

element("shuffle").addEventListener("click", () => movePixels(shuffle, "shuffled"));
element("unshuffle").addEventListener("click", () => movePixels(unshuffle, "put back"));

const buttons = ["cloud-shuffle", "cloud-unshuffle"].map((id) => element<HTMLButtonElement>(id));

for (const button of buttons) {
  button.addEventListener("click", async () => {
    for (const each of buttons) each.disabled = true;
    say("cloud-says", "..");
    try {
      const isUndo = button.id === "cloud-unshuffle";
      say("cloud-says", await moveCloud(element("cloud"), field("seed"), isUndo));
    } catch (error) {
      say("cloud-says", (error as Error).message);
    }
    for (const each of buttons) each.disabled = false;
  });
}

function lookUp(): void {
  try {
    const order = Permutation.walk(field("length"), 42);
    const place = field("place");
    const item = order.at(place);
    say("item", item === undefined ? "none" : String(item));
    say("back", item === undefined ? "none" : String(order.positionOf(item)));
    say("next", order.slice(place + 1n, place + 6n).join(", "));
  } catch (error) {
    for (const id of ["back", "next"]) say(id, "");
    say("item", (error as Error).message);
  }
}

for (const id of ["length", "place"]) element(id).addEventListener("input", lookUp);
lookUp();

/** FNV-1a with 64 bits over the items as words of 64 bits, the least significant byte first. */
function digest(items: Iterable<number>): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const item of items) {
    for (let shift = 0n; shift < 64n; shift += 8n) {
      const byte = (BigInt(item) >> shift) & 0xffn;
      hash = BigInt.asUintN(64, (hash ^ byte) * 0x100000001b3n);
    }
  }
  return hash;
}

for (const { length, seed, digest: theirs } of vectors.cases.standard) {
  // Short ones, of seeds that are numbers and have no epoch.
  if (!/^\d{1,20}$/.test(seed) || Number(length) > 5000) continue;
  const ours = digest(new Permutation<number>(Number(length), BigInt(seed)));
  const row = element<HTMLTableSectionElement>("digests").insertRow();
  for (const text of [Number(length), seed, theirs, ours === BigInt(theirs) ? "the same" : "another"]) {
    row.insertCell().textContent = String(text);
  }
}
