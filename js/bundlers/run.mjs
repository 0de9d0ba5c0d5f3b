// Builds or runs the program beside this file by bundlers and engines, and compares what it says:
//
//     node run.mjs FOLDER [NAME..]
//
// The folder's `node_modules` has the package, and all tools but esbuild. Without names all are
// tried; `short` stands for those of CI. `run` beside this file prepares the folder.

import { execFile, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { inBrowser, program } from "../test/browser.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const [folder, ...asked] = process.argv.slice(2);
const bin = join(folder, "node_modules", ".bin");
const quiet = { DENO_NO_UPDATE_CHECK: "1", NEXT_TELEMETRY_DISABLED: "1", CI: "1" };

/** Runs a program in the folder, and gives what it prints. */
async function run(command, args, cwd = folder) {
  try {
    const said = await promisify(execFile)(command, args, { cwd, env: { ...process.env, ...quiet } });
    return said.stdout.trim();
  } catch (error) {
    throw new Error(`${command} ${args.join(" ")}: ${error.message}\n${error.stdout}\n${error.stderr}`);
  }
}

const node = (...args) => run(process.execPath, args);
const tool = (name, ...args) => run(join(bin, name), args);
const write = (name, text) => {
  mkdirSync(join(folder, name, ".."), { recursive: true });
  writeFileSync(join(folder, name), text);
};

/** A page with a script. */
const html = (script) => `<!doctype html><meta charset="utf-8"><title>page</title>${script}`;
const TYPES = { ".js": "text/javascript", ".html": "text/html" };

/** Serves a folder to the browser, with a page at its root, under a policy. */
function page(at, script, policy) {
  return inBrowser("/", (path) => {
    const headers = policy === undefined ? {} : { "content-security-policy": policy };
    if (path === "/" && script !== undefined) {
      return { headers: { ...headers, "content-type": "text/html" }, body: html(script) };
    }
    const file = join(folder, at, path === "/" ? "index.html" : path.split("?")[0]);
    if (!existsSync(file)) return undefined;
    return { headers: { ...headers, "content-type": TYPES[extname(file)] ?? "application/octet-stream" }, body: readFileSync(file) };
  });
}

/** Runs a server as long as `use` takes, and passes that what an address's path leads to. */
async function served(command, args, port, use) {
  const server = spawn(join(bin, command), args, { cwd: folder, env: { ...process.env, ...quiet }, detached: true });
  let said = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (said += text));
  const get = async (path) => {
    const response = await fetch(`http://localhost:${port}${path}`);
    if (!response.ok) return undefined;
    const type = response.headers.get("content-type");
    return { headers: { "content-type": type }, body: Buffer.from(await response.arrayBuffer()) };
  };
  try {
    for (let left = 300; ; left--) {
      try {
        await get("/");
        break;
      } catch (error) {
        if (left === 0) throw new Error(`${command} serves nothing: ${said}`, { cause: error });
        await new Promise((then) => setTimeout(then, 100));
      }
    }
    return await use(get);
  } finally {
    // With what it has started.
    process.kill(-server.pid);
  }
}

/** A port that nobody listens on. */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "localhost", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** esbuild, for browsers as it is without a platform. */
async function esbuild(format, entry, outfile) {
  const require = createRequire(join(folder, "package.json"));
  const { build } = await import(require.resolve("esbuild", { paths: [folder, join(here, "..")] }));
  const entryPoints = [join(folder, entry)];
  const settings = { bundle: true, minify: true, format, outfile };
  const { warnings } = await build({ absWorkingDir: folder, entryPoints, ...settings });
  if (warnings.length > 0) throw new Error(`esbuild warns of ${warnings.map(({ text }) => text)}`);
}

/** Next: the program runs on the server for each page that is asked for, and again in the browser. */
async function next(bundler) {
  const text = 'import { results } from "../program.js";\n\nconst found = results();\n';
  rmSync(join(folder, "next"), { recursive: true, force: true });
  write("next/package.json", '{ "private": true, "type": "module" }\n');
  for (const name of ["program.js", "vectors.js"]) cpSync(join(folder, name), join(folder, "next", name));
  write("next/app/layout.js", "export default ({ children }) => <html><body>{children}</body></html>;\n");
  write("next/app/page.js", `import { connection } from "next/server";\n${text}import { Client } from "./client.js";

export default async function Page() {
  await connection();
  return <main><p>server: {found}</p><Client /></main>;
}
`);
  write("next/app/client.js", `"use client";\nimport { useEffect } from "react";\n${text}
export function Client() {
  useEffect(() => void fetch("/result", { method: "POST", body: found }), []);
  return <p>client: {found}</p>;
}
`);
  await run(join(bin, "next"), ["build", bundler], join(folder, "next"));
  const port = await freePort();
  return served("next", ["start", "next", "--port", String(port)], port, async (get) => {
    const said = String((await get("/")).body).replaceAll("<!-- -->", "");
    const server = /server: (passed \d+ checks by WebAssembly)/.exec(said)?.[1];
    const client = /client: (passed \d+ checks by WebAssembly)/.exec(said)?.[1];
    const browser = await inBrowser("/", get);
    if (server !== browser || client !== browser) throw new Error(`${browser}, and on the server ${said}`);
    return browser;
  });
}

const MODULE = '<script type="module" src="/page.js"></script>';
const CLASSIC = '<script defer src="/page.js"></script>';
const STRICT = "default-src 'none'; script-src 'self'; connect-src 'self'";

const WASM = "WebAssembly";
const PLAIN = "plain JavaScript";

/** What is tried: the name, what gives the values there, and how it is built and run. */
const TRIED = [
  ["Node, import", WASM, () => node("print.js")],
  ["Node, require", WASM, () => node("print.cjs")],
  ["Node without its compiler", PLAIN, () => node("--jitless", "print.js")],
  ["esbuild, iife", WASM, async () => {
    await esbuild("iife", "print.js", "esbuild/iife.cjs");
    return node("esbuild/iife.cjs");
  }],
  ["esbuild, cjs", WASM, async () => {
    await esbuild("cjs", "print.js", "esbuild/print.cjs");
    return node("esbuild/print.cjs");
  }],
  ["esbuild, esm, in Chromium", WASM, async () => {
    await esbuild("esm", "page.js", "esbuild/page.js");
    return page("esbuild", MODULE);
  }],
  ["a strict policy in Chromium", PLAIN, () => page("esbuild", MODULE, STRICT)],
  ["a policy with 'wasm-unsafe-eval' in Chromium", WASM, () =>
    page("esbuild", MODULE, STRICT.replace("'self'", "'self' 'wasm-unsafe-eval'"))],
  ["no bundler, in Chromium", WASM, () => {
    const dist = "/node_modules/bijective-shuffle/dist";
    const imports = { "bijective-shuffle": `${dist}/index.js`, "bijective-shuffle/webgpu": `${dist}/webgpu.js` };
    return page(".", `<script type="importmap">${JSON.stringify({ imports })}</script>${MODULE}`);
  }],
  ["webpack, in Chromium", WASM, async () => {
    await tool("webpack", "--mode=production", "--entry=./page.js", "--output-path=webpack", "--output-filename=page.js");
    return page("webpack", CLASSIC);
  }],
  ["webpack, for Node, by require", WASM, async () => {
    await tool("webpack", "--mode=production", "--target=node", "--entry=./print.cjs", "--output-path=webpack", "--output-filename=print.cjs");
    return node("webpack/print.cjs");
  }],
  ["Rollup, in Chromium", WASM, async () => {
    await tool("rollup", "page.js", "-p", "node-resolve", "-f", "iife", "-o", "rollup/page.js", "--failAfterWarnings");
    return page("rollup", CLASSIC);
  }],
  ["Vite, in Chromium", WASM, async () => {
    write("vite/index.html", html('<script type="module" src="../page.js"></script>'));
    await tool("vite", "build", "vite", "--outDir", "../vite-built", "--logLevel", "warn");
    return page("vite-built");
  }],
  ["Vite's server, in Chromium", WASM, async () => {
    write("vite-served/index.html", html(MODULE));
    write("vite-served/page.js", 'import "../page.js";\n');
    const port = await freePort();
    const args = ["vite-served", "--host", "localhost", "--port", String(port), "--strictPort"];
    return served("vite", args, port, (get) => inBrowser("/", get));
  }],
  ["Parcel, in Chromium", WASM, async () => {
    write("parcel/index.html", html('<script type="module" src="../page.js"></script>'));
    await tool("parcel", "build", "parcel/index.html", "--dist-dir", "parcel-built", "--no-cache", "--no-source-maps");
    return page("parcel-built");
  }],
  ["Next, on the server and in Chromium", WASM, () => next("--turbopack")],
  ["Next by webpack, on the server and in Chromium", WASM, () => next("--webpack")],
  ["Jest", WASM, async () => {
    write("jest/print.test.cjs", `const { results } = require("../program.cjs");
test("the program", () => console.log(results()));
`);
    const said = await tool("jest", "--rootDir", "jest", "--silent=false", "--testMatch", "**/*.test.cjs");
    return /passed \d+ checks by [A-Za-z ]+/.exec(said)?.[0] ?? said;
  }],
  ["Deno without rights", WASM, () => tool("deno", "run", "--no-prompt", "--node-modules-dir=manual", "print.js")],
  ["Bun", WASM, () => tool("bun", "print.js")],
  ["Bun, require", WASM, () => tool("bun", "print.cjs")],
  ["Bun's bundler, in Chromium", WASM, async () => {
    await tool("bun", "build", "page.js", "--outdir", "bun", "--minify");
    return page("bun", MODULE);
  }],
  ["workerd", PLAIN, async () => {
    write("worker.js", `import { results } from "./program.js";
export default { test: () => console.log(results()) };
`);
    await esbuild("esm", "worker.js", "workerd/worker.js");
    write("workerd/config.capnp", `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = (
  modules = [(name = "worker", esModule = embed "worker.js")], compatibilityDate = "2026-01-01"))]);
`);
    return tool("workerd", "test", "workerd/config.capnp");
  }],
  ["publint and attw", "", async () => {
    const [packed] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
    await tool("publint", "run", packed, "--strict");
    await tool("attw", packed, "--exclude-entrypoints", "./vectors/*.json");
    return "passed ";
  }],
];

/** For CI, where the package comes with one bundler. */
const SHORT = /^(Node|esbuild|a strict)/;

/** An ECMAScript module of the folder that exports functions and constants, as CommonJS. */
function asCommonJs(name) {
  const names = [];
  const text = readFileSync(join(folder, name), "utf8")
    .replaceAll(/^import (\{[^}]*\}) from ("[^"]*");/gm, "const $1 = require($2);")
    .replaceAll(/^export (function|const) (\w+)/gm, (_, kind, of) => (names.push(of), `${kind} ${of}`))
    .replaceAll(/require\("(\.\/\w+)\.js"\)/g, 'require("$1.cjs")');
  return `${text}\nmodule.exports = { ${names.join(", ")} };\n`;
}

// The vectors that are short, with seeds that are numbers and have no epoch.
const read = (name) => JSON.parse(readFileSync(join(folder, `node_modules/bijective-shuffle/dist/vectors/${name}.json`), "utf8")).cases;
const isShort = ({ length, seed, count = 0 }) => /^\d{1,20}$/.test(seed) && count < 100 && (Number(length) < 5000 || count > 0);
const vectors = {
  compaction: read("06-compaction").standard.filter(isShort),
  walks: read("07-walk").places.filter(({ seed }) => /^\d{1,20}$/.test(seed)),
  samples: read("08-permutations").samples.filter(isShort),
};
if (Object.values(vectors).some((cases) => cases.length === 0)) throw new Error("there are no vectors");
write("vectors.js", Object.entries(vectors).map(([name, cases]) => `export const ${name} = ${JSON.stringify(cases)};\n`).join(""));
for (const name of ["program.js", "page.js", "print.js"]) cpSync(join(here, name), join(folder, name));
for (const name of ["program", "vectors"]) write(`${name}.cjs`, asCommonJs(`${name}.js`));
write("print.cjs", 'const { results } = require("./program.cjs");\nconsole.log(results());\n');

const failed = [];
let first;
for (const [name, engine, trial] of TRIED) {
  const isAsked = asked.length === 0 || asked.includes(name) || (asked.includes("short") && SHORT.test(name));
  if (!isAsked) continue;
  if (name.includes("Chromium") && program === undefined) {
    console.log(`${name}: skipped, there is no browser`);
    continue;
  }
  try {
    const said = await trial();
    const count = /^passed (\d*)/.exec(said)?.[1];
    if (count === undefined || !said.endsWith(engine)) throw new Error(`it says: ${said}`);
    // All check the same values.
    if (count !== "") first ??= count;
    if (count !== "" && count !== first) throw new Error(`${count} checks, and elsewhere ${first}`);
    console.log(`${name}: ${said}`);
  } catch (error) {
    failed.push(name);
    console.log(`${name}: FAILED\n${error.stack}`);
  }
}
if (first === undefined) throw new Error("nothing was tried");
if (failed.length > 0) throw new Error(`failed: ${failed.join("; ")}`);
