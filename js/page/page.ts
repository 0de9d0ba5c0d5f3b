// The page: what it shows is computed by the package that it has within itself.

import vectors from "../../crates/vectors/data/06-compaction.json";

import { Permutation, shuffle, unshuffle } from "bijective-shuffle";

import { done, drawOrdered, moveCloud } from "./cloud.ts";

function element<E extends HTMLElement>(id: string): E {
  return document.getElementById(id) as E;
}

function say(id: string, text: string): void {
  element(id).textContent = text;
}

/** The number that a field has, or an error that says which numbers it takes. */
function field(id: string, name: string, least = 0n): bigint {
  const text = element<HTMLInputElement>(id).value.trim();
  const value = /^\d+$/.test(text) ? BigInt(text) : -1n;
  if (value >= least && value < 1n << 64n) return value;
  throw new Error(`${name} must be a whole number from ${least} to ${(1n << 64n) - 1n}.`);
}

const seed = (): bigint => field("seed", "The seed");

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

const original = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);

function movePixels(isUndo: boolean): void {
  try {
    const image = context.getImageData(0, 0, width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const began = performance.now();
    if (isUndo) unshuffle(pixels, seed());
    else shuffle(pixels, seed());
    const took = performance.now() - began;
    context.putImageData(image, 0, 0);
    const isBack = pixels.every((pixel, k) => pixel === original[k]);
    say("picture-says", done(width * height, "pixels", "", isUndo, isBack, took));
  } catch (error) {
    say("picture-says", (error as Error).message);
  }
}

element("shuffle").addEventListener("click", () => movePixels(false));
element("unshuffle").addEventListener("click", () => movePixels(true));

drawOrdered(element("cloud"));
const buttons = ["cloud-shuffle", "cloud-unshuffle"].map((id) => element<HTMLButtonElement>(id));

for (const button of buttons) {
  button.addEventListener("click", async () => {
    for (const each of buttons) each.disabled = true;
    say("cloud-says", "Moving ..");
    try {
      const isUndo = button.id === "cloud-unshuffle";
      say("cloud-says", await moveCloud(element("cloud"), seed(), isUndo));
    } catch (error) {
      say("cloud-says", (error as Error).message);
    }
    for (const each of buttons) each.disabled = false;
  });
}

function lookUp(): void {
  try {
    const length = field("length", "The number of items", 1n);
    const place = field("place", "The place");
    const order = Permutation.walk(length, 42);
    const item = order.at(place);
    const next = order.slice(place + 1n, place + 6n).join(", ");
    const found = `Place ${place} has item ${item}, and item ${item} is at place`;
    say("found", item === undefined
      ? `The last place is ${length - 1n}.`
      : `${found} ${order.position(item)}. ${next === "" ? "It is the last." : `Next: ${next}.`}`);
  } catch (error) {
    say("found", (error as Error).message);
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

let same = 0;
const digests = element<HTMLTableSectionElement>("digests");
for (const { length, seed, digest: theirs } of vectors.cases.standard) {
  // Short ones, of seeds that are numbers and have no epoch.
  if (!/^\d{1,20}$/.test(seed) || Number(length) > 5000) continue;
  const isSame = digest(new Permutation<number>(Number(length), BigInt(seed))) === BigInt(theirs);
  same += Number(isSame);
  const row = digests.insertRow();
  for (const text of [Number(length), seed, theirs, isSame ? "the same" : "another"]) {
    row.insertCell().textContent = String(text);
  }
}
say("digests-say", `${same} of ${digests.rows.length} digests are the same here`);
