// Builds the package: the WebAssembly modules by Cargo, which dist/module.js and
// dist/module_webgpu.js contain; dist/*.js by TypeScript, dist/plain.js of the reference, all of
// these as CommonJS in dist/cjs, the vectors, and the page of one file, dist/page/index.html.
// `node build.mjs --no-page` leaves the page out.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const run = (command, args, env = {}) =>
  execFileSync(command, args, { cwd: here, stdio: "inherit", env: { ...process.env, ...env } });

/** The modules: the package, and the script that contains it. */
const MODULES = [
  ["bijective-shuffle-js", "module.js"],
  ["bijective-shuffle-js-webgpu", "module_webgpu.js"],
];

/** The entries, and the most bytes that a page gets of one, bundled and compressed. */
const ENTRIES = [
  ["index.js", 70_000],
  ["webgpu.js", 135_000],
];

const dist = join(here, "dist");
rmSync(dist, { recursive: true, force: true });
mkdirSync(join(dist, "page"), { recursive: true });

// Small where speed does not matter. Loops over bijections, in core, are vectorised only where code
// may become longer.
const settings = {
  "profile.release.lto": '"fat"',
  "profile.release.codegen-units": "1",
  "profile.release.panic": '"abort"',
  "profile.release.strip": "true",
  "profile.release.opt-level": "3",
  'profile.release.package."*".opt-level': '"s"',
  "profile.release.package.bijective-shuffle.opt-level": '"s"',
  "profile.release.package.bijective-shuffle-js-webgpu.opt-level": '"s"',
  "profile.release.package.bijective-shuffle-wgsl.opt-level": '"s"',
};
const target = "wasm32-unknown-unknown";
const folder = process.env.CARGO_TARGET_DIR ?? join(here, "..", "target");
run(
  "cargo",
  ["build", "--locked", "--quiet", "--release", "--target", target].concat(
    MODULES.flatMap(([name]) => ["--package", name]),
    Object.entries(settings).flatMap(([key, value]) => ["--config", `${key}=${value}`]),
  ),
  { RUSTFLAGS: "-Ctarget-feature=+simd128", CARGO_TARGET_DIR: join(folder, "js") },
);
for (const [name, file] of MODULES) {
  const wasm = join(folder, "js", target, "release", `${name.replaceAll("-", "_")}.wasm`);
  writeFileSync(join(dist, file), `export const code = "${readFileSync(wasm, "hex")}";\n`);
}

run("npx", ["tsc"]);
// TypeScript changes the names of imported files in the code, and not in the types.
for (const name of readdirSync(dist).filter((name) => name.endsWith(".d.ts"))) {
  const types = readFileSync(join(dist, name), "utf8");
  writeFileSync(join(dist, name), types.replaceAll(/((from|import) "\.\/\w+)\.ts"/g, '$1.js"'));
}
const together = { absWorkingDir: here, bundle: true, format: "esm", target: "es2022" };
run("npx", ["tsc", "-p", "plain"]);
await build({ ...together, entryPoints: ["plain/plain.ts"], outfile: "dist/plain.js" });
for (const [entry, most] of ENTRIES) {
  const whole = await build({ ...together, entryPoints: [`dist/${entry}`], minify: true, write: false });
  const size = gzipSync(whole.outputFiles[0].contents, { level: 9 }).length;
  console.log(`${entry}: ${size} bytes, bundled and compressed`);
  if (size > most) throw new Error(`${entry} takes ${size} bytes, more than ${most}`);
}

const published = readdirSync(dist).filter((name) => /\.(js|d\.ts)$/.test(name));
await build({
  absWorkingDir: here,
  entryPoints: published.filter((name) => name.endsWith(".js")).map((name) => `dist/${name}`),
  format: "cjs",
  target: "es2022",
  outdir: "dist/cjs",
});
for (const name of published.filter((name) => name.endsWith(".d.ts"))) {
  cpSync(join(dist, name), join(dist, "cjs", name));
}
writeFileSync(join(dist, "cjs", "package.json"), '{ "type": "commonjs" }\n');
cpSync(join(here, "..", "crates", "vectors", "data"), join(dist, "vectors"), { recursive: true });
if (!process.argv.includes("--no-page")) {
  run("npx", ["tsc", "-p", "page"]);
  const bundled = await build({
    ...together,
    entryPoints: ["page/page.ts"],
    minify: true,
    write: false,
  });
  // In a script, the end of one must not be seen.
  const script = bundled.outputFiles[0].text.replaceAll("</script", "<\\/script");
  const drawing = readFileSync(join(here, "..", "docs", "figures", "compaction.svg"), "base64");
  const page = readFileSync(join(here, "page", "page.html"), "utf8").replace(
    "figures/compaction.svg",
    `data:image/svg+xml;base64,${drawing}`,
  );
  const [before, after] = page.split("<!-- script -->");
  writeFileSync(
    join(dist, "page", "index.html"),
    `${before}<script type="module">${script}</script>${after}`,
  );
}
