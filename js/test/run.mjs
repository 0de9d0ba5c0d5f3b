// Compiles the tests, and runs them in Node and, where there is Chromium, in a browser without a
// window, each with WebAssembly and without; then those of a GPU, and the page without and with
// one. `node test/run.mjs --no-browser` leaves the browser out.

import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const data = join(root, "..", "crates", "vectors", "data");
const chapters = () =>
  Object.fromEntries(
    readdirSync(data)
      .filter((name) => /^\d/.test(name))
      .map((name) => [name.replace(".json", ""), JSON.parse(readFileSync(join(data, name)))]),
  );

/** Runs the tests in this process, which `--plain` takes WebAssembly from. */
async function inNode(isPlain) {
  if (isPlain) delete globalThis.WebAssembly;
  const { check } = await import("./build/test/cases.js");
  const { wasm } = await import("../dist/wasm.js");
  const name = isPlain ? "Node without WebAssembly" : `Node ${process.version}`;
  console.log(`${name}: ${check(chapters(), wasm, isPlain)} checks`);
}

if (process.argv.includes("--plain")) {
  await inNode(true);
  process.exit();
}
execFileSync("npx", ["tsc", "-p", "test"], { cwd: root, stdio: "inherit" });
await inNode(false);
execFileSync(process.execPath, [fileURLToPath(import.meta.url), "--plain"], { stdio: "inherit" });

const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };

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
  await say("passed " + check(vectors, wasm, isPlain) + " checks");
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

/**
 * Removes a browser's folder, where its other processes may be writing for a moment after it has
 * ended. (The retries of `rmSync` do not look for what has been written meanwhile.)
 */
function remove(folder) {
  for (let left = 50; ; left--) {
    try {
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (left === 0) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
}

/** Opens a path in the browser, and gives what the page there says. */
function inBrowser(program, path, more = []) {
  return new Promise((resolve, reject) => {
    const profile = mkdtempSync(join(tmpdir(), "browser-"));
    let browser;
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url, "http://localhost");
      if (pathname === "/result") {
        let body = "";
        request.on("data", (part) => (body += part));
        request.on("end", () => {
          response.end();
          end(() => (/^(passed|skipped)/.test(body) ? resolve(body) : reject(new Error(body))));
        });
        return;
      }
      const file = join(root, normalize(pathname));
      const answer = {
        "/": () => TEST,
        "/plain": () => TEST,
        "/gpu": () => TEST_OF_GPU,
        "/page": page,
        "/vectors": () => JSON.stringify(chapters()),
      }[pathname];
      if (answer === undefined && !existsSync(file)) {
        response.writeHead(404).end();
        return;
      }
      // A policy that allows scripts, and no WebAssembly.
      if (pathname === "/plain") {
        response.setHeader("content-security-policy", "script-src 'self' 'unsafe-inline'");
      }
      response.setHeader("content-type", TYPES[extname(pathname) || ".html"] ?? "application/json");
      response.end(answer?.() ?? readFileSync(file));
    });
    const patience = setTimeout(() => end(() => reject(new Error(`${path} says nothing`))), 600_000);
    let ended = false;
    const end = (then) => {
      if (ended) return;
      ended = true;
      clearTimeout(patience);
      server.close();
      server.closeAllConnections();
      browser.once("exit", () => {
        remove(profile);
        then();
      });
      browser.kill();
    };
    server.listen(0, "localhost", () => {
      const address = `http://localhost:${server.address().port}${path}`;
      const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
      const all = [...flags, ...more, `--user-data-dir=${profile}`, address];
      browser = spawn(program, all, { stdio: "ignore" });
      browser.once("exit", () => end(() => reject(new Error("the browser has ended"))));
    });
  });
}

const program = ["chromium", "chromium-browser", "google-chrome"].find((name) =>
  (process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, name))),
);
if (process.argv.includes("--no-browser") || program === undefined) {
  console.log("Skipped: the browser.");
} else {
  console.log(`${program}: ${await inBrowser(program, "/")}`);
  console.log(`${program} without WebAssembly: ${await inBrowser(program, "/plain")}`);
  const gpu = await inBrowser(program, "/gpu", WITH_GPU);
  console.log(`${program} with a GPU: ${gpu}`);
  if (existsSync(join(root, "dist/page/index.html"))) {
    const page = await inBrowser(program, "/page", ["--disable-features=WebGPU"]);
    console.log(`the page: ${page}`);
    if (gpu.startsWith("passed")) {
      const onGpu = await inBrowser(program, "/page", WITH_GPU);
      console.log(`the page with a GPU: ${onGpu}`);
      if (page.replace("without a GPU", "on a GPU") !== onGpu) {
        throw new Error("the cloud is to be the same on the GPU");
      }
    }
  }
}
