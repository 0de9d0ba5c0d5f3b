// Opens pages in Chromium without a window, where there is one.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The program, or `undefined`. */
export const program = ["chromium", "chromium-browser", "google-chrome"].find((name) =>
  (process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, name))),
);

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

/**
 * Opens a path in the browser, and gives what the page there posts to `/result`, if that begins
 * with "passed" or "skipped". `answer` gives the headers and the body for a request's path, or
 * `undefined` if there is no such file.
 */
export function inBrowser(path, answer, more = []) {
  return new Promise((resolve, reject) => {
    const profile = mkdtempSync(join(tmpdir(), "browser-"));
    let browser;
    const server = createServer(async (request, response) => {
      if (request.url === "/result") {
        let body = "";
        request.on("data", (part) => (body += part));
        request.on("end", () => {
          response.end();
          end(() => (/^(passed|skipped)/.test(body) ? resolve(body) : reject(new Error(body))));
        });
        return;
      }
      const answered = await answer(request.url);
      if (answered === undefined) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, answered.headers).end(answered.body);
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
      const quiet = ["--disable-background-networking"];
      const all = [...flags, ...quiet, ...more, `--user-data-dir=${profile}`, address];
      browser = spawn(program, all, { stdio: "ignore" });
      browser.once("exit", () => end(() => reject(new Error("the browser has ended"))));
    });
  });
}
