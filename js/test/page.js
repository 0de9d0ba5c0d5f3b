// Uses the page as a reader would, and says whether it does what it says. It runs in the page.

const say = (text) => fetch("/result", { method: "POST", body: text });
const at = (id) => document.getElementById(id);
const assert = (condition, what) => {
  if (!condition) throw new Error(what);
};

try {
  // The page waits for its module, and this script does not wait for the page.
  while (at("digests").rows.length === 0) await new Promise((then) => setTimeout(then, 50));
  const context = at("picture").getContext("2d");
  const pixels = () => context.getImageData(0, 0, at("picture").width, at("picture").height).data;
  const same = (a, b) => a.every((x, k) => x === b[k]);
  const sum = (a) => a.reduce((all, x) => all + x, 0);
  const before = pixels();
  at("shuffle").click();
  const shuffled = pixels();
  assert(!same(before, shuffled) && sum(before) === sum(shuffled), "the picture is shuffled");
  at("seed").value = "43";
  at("unshuffle").click();
  assert(!same(before, pixels()), "another seed does not bring it back");
  at("shuffle").click();
  at("seed").value = "42";
  at("unshuffle").click();
  assert(same(before, pixels()), "the picture is back");
  assert(at("picture-says").textContent.includes("put back"), "the page says so");
  at("seed").value = "-1";
  at("shuffle").click();
  assert(at("picture-says").textContent.includes("seed is -1"), "a bad seed is refused");

  assert(at("item").textContent === String(0x70366b4dbb), "place 15 of a trillion");
  assert(at("back").textContent === "15", "and back");
  at("length").value = "10";
  at("place").value = "5";
  at("length").dispatchEvent(new Event("input"));
  assert(at("item").textContent === "7" && at("next").textContent === "5, 3, 8, 2", "ten items");

  const rows = [...at("digests").rows].map((row) => row.cells[3].textContent);
  assert(rows.length > 10 && rows.every((cell) => cell === "the same"), `digests: ${rows}`);

  // The cloud, shuffled and put back.
  const cloud = at("cloud").getContext("2d");
  const clouds = [];
  const said = [];
  at("seed").value = "42";
  for (const id of ["shuffle", "unshuffle"]) {
    at(`cloud-${id}`).click();
    while (at("cloud-says").textContent === "..") await new Promise((then) => setTimeout(then, 20));
    said.push(at("cloud-says").textContent);
    const { data } = cloud.getImageData(0, 0, at("cloud").width, at("cloud").height);
    clouds.push(data.reduce((hash, x) => Math.imul(hash ^ x, 16777619) >>> 0, 2166136261));
  }
  assert(said[0].startsWith("10,000,000 points shuffled"), said[0]);
  assert(said[1].startsWith("10,000,000 points put back"), said[1]);
  assert(clouds[0] !== clouds[1], "the cloud is shuffled");
  const engine = said[0].includes("on the GPU") ? "on a GPU" : "without a GPU";
  await say(`passed: picture, places, ${rows.length} digests, cloud ${clouds} ${engine}`);
} catch (error) {
  await say(`failed: ${error.stack}`);
}
