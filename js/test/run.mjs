// Compiles the tests, and runs them in Node and, where there is Chromium, in a browser without a
// window, each with WebAssembly and without; then those of a GPU, and the page without and with
// one. `node test/run.mjs --no-browser` leaves the browser out.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { runInThisContext } from "node:vm";

import { build } from "esbuild";

import { inBrowser, program } from "./browser.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const data = join(root, "..", "crates", "vectors", "data");
const chapters = () =>
  Object.fromEntries(
    readdirSync(data)
      .filter((name) => /^\d/.test(name))
      .map((name) => [name.replace(".json", ""), JSON.parse(readFileSync(join(data, name)))]),
  );

/** What may be wrong with WebAssembly, whose place plain JavaScript takes then. */
const WRONG = {
  missing: () => delete globalThis.WebAssembly,
  // As under a page's policy, or in an engine without vectors.
  "not compiled": () => (WebAssembly.Module = fails(WebAssembly.CompileError)),
  // As in the main thread of an old Chrome.
  "refused for its size": () => (WebAssembly.Module = fails(RangeError)),
  "without memory": () => (WebAssembly.Instance = fails(RangeError)),
};

const fails = (kind) =>
  function () {
    throw new kind("a test");
  };

/** Runs the tests in this process. */
async function inNode(wrong) {
  const isPlain = wrong !== undefined;
  WRONG[wrong]?.();
  const { check, isRight } = await import("./build/test/cases.js");
  const { wasm } = await import("../dist/wasm.js");
  // All tests in one of these cases, and a few in the others.
  const isShort = isPlain && wrong !== "missing";
  const checks = isShort ? isRight(wasm(), isPlain) : check(chapters(), wasm(), isPlain);
  console.log(`Node ${process.version}${isPlain ? `, WebAssembly ${wrong}` : ""}: ${checks} checks`);
}

if (process.argv.includes("--wrong")) {
  await inNode(process.argv.at(-1));
  process.exit();
}
execFileSync("npx", ["tsc", "-p", "test"], { cwd: root, stdio: "inherit" });
await inNode();
for (const wrong of Object.keys(WRONG)) {
  execFileSync(process.execPath, [fileURLToPath(import.meta.url), "--wrong", wrong], { stdio: "inherit" });
}

// A bundler makes sloppy code for a script: there too, an array that refuses an item is whole.
const script = await build({
  stdin: { contents: 'export * from "./dist/index.js"', resolveDir: root },
  bundle: true,
  write: false,
  format: "iife",
  globalName: "bundled",
});
const { shuffle, unshuffle } = runInThisContext(`${script.outputFiles[0].text}; bundled`);
for (const move of [shuffle, unshuffle]) {
  const items = Object.defineProperty([..."abcdefghij"], 3, { writable: false });
  assert.throws(() => move(items, 42), TypeError);
  assert.equal(items.join(""), "abcdefghij");
}

const TYPES = { ".js": "text/javascript", ".html": "text/html" };

const IMPORTS = `<!doctype html><meta charset="utf-8"><script type="importmap">{"imports": {
  "bijective-shuffle": "/dist/index.js",
  "bijective-shuffle/webgpu": "/dist/webgpu.js"
}}</script>`;

const TEST = `${IMPORTS}
<script type="module">
const say = (text) => fetch("/result", { method: "POST", body: text });
try {
  const { check } = await import("/test/build/test/cases.js");
  const { wasm } = await import("/dist/wasm.js");
  const isPlain = location.pathname === "/plain";
  const vectors = await (await fetch("/vectors")).json();
  await say("passed " + check(vectors, wasm(), isPlain) + " checks");
} catch (error) {
  await say("failed: " + error.stack);
}
</script>`;

const TEST_OF_GPU = `${IMPORTS}
<script type="module">
const say = (text) => fetch("/result", { method: "POST", body: text });
try {
  const { check } = await import("/test/build/test/gpu.js");
  const { tuning } = await import("/dist/gpu.js");
  const checks = await check(tuning);
  await say(checks === undefined ? "skipped: it has no GPU" : "passed " + checks);
} catch (error) {
  await say("failed: " + error.stack);
}
</script>`;

/** A GPU that is the CPU, with SwiftShader. */
const WITH_GPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];

/** The page, used as a reader would. */
const page = () => `${readFileSync(join(root, "dist/page/index.html"), "utf8")}
<script type="module">${readFileSync(join(root, "test/page.js"), "utf8")}</script>`;

/** What the server says to a path. */
function answer(path) {
  const { pathname } = new URL(path, "http://localhost");
  const file = join(root, normalize(pathname));
  const made = {
    "/": () => TEST,
    "/plain": () => TEST,
    "/gpu": () => TEST_OF_GPU,
    "/page": page,
    "/page/alone": () => readFileSync(join(root, "dist/page/index.html")),
    "/vectors": () => JSON.stringify(chapters()),
  }[pathname];
  if (made === undefined && !existsSync(file)) return undefined;
  const headers = { "content-type": TYPES[extname(pathname) || ".html"] ?? "application/json" };
  // A policy that allows scripts, and no WebAssembly.
  if (pathname === "/plain") headers["content-security-policy"] = "script-src 'self' 'unsafe-inline'";
  return { headers, body: made?.() ?? readFileSync(file) };
}

if (process.argv.includes("--no-browser") || program === undefined) {
  console.log("Skipped: the browser.");
} else {
  console.log(`${program}: ${await inBrowser("/", answer)}`);
  console.log(`${program} without WebAssembly: ${await inBrowser("/plain", answer)}`);
  const gpu = await inBrowser("/gpu", answer, WITH_GPU);
  console.log(`${program} with a GPU: ${gpu}`);
  if (existsSync(join(root, "dist/page/index.html"))) {
    const page = await inBrowser("/page", answer, ["--disable-features=WebGPU"]);
    console.log(`the page: ${page}`);
    if (gpu.startsWith("passed")) {
      const onGpu = await inBrowser("/page", answer, WITH_GPU);
      console.log(`the page with a GPU: ${onGpu}`);
      if (page.replace("without a GPU", "on a GPU") !== onGpu) {
        throw new Error("the cloud is to be the same on the GPU");
      }
    }
  }
}
