// The code of the WebAssembly modules, from the files beside this one.

/** The bytes of a file of the package. */
async function bytes(file: URL): Promise<BufferSource> {
  if (file.protocol === "file:") {
    // Node, Deno and Bun; browsers do not fetch files.
    const { readFile } = await import("node:fs/promises");
    return readFile(file);
  }
  const response = await fetch(file);
  if (!response.ok) throw new Error(`${file.href} cannot be fetched: ${response.status}`);
  return response.arrayBuffer();
}

/**
 * Starts with the code in a file. Returns whether it can be had: not in every engine, nor under
 * every policy of a page.
 */
export async function isStarted(
  start: (code: BufferSource) => Promise<void>,
  file: URL,
): Promise<boolean> {
  if (typeof WebAssembly !== "object") return false;
  try {
    await start(await bytes(file));
    return true;
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return false;
    throw error;
  }
}
