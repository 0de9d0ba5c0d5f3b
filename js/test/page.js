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
  const isDrawn = (id) => {
    const { width, height } = at(id);
    return at(id).getContext("2d").getImageData(0, 0, width, height).data.some((x) => x !== 0);
  };
  assert(isDrawn("picture") && isDrawn("cloud"), "both pictures are drawn at load");

  // A phone: nothing is wider than the window.
  const phone = Object.assign(document.createElement("iframe"), { src: "/page/alone", width: 390, height: 844 });
  phone.style.border = "0";
  await new Promise((then) => {
    phone.addEventListener("load", then);
    document.body.append(phone);
  });
  const small = phone.contentDocument;
  while (small.getElementById("digests").rows.length === 0) await new Promise((then) => setTimeout(then, 50));
  small.querySelector("details").open = true;
  assert(phone.contentWindow.innerWidth === 390, "the phone");
  const wide = small.documentElement.scrollWidth;
  assert(wide <= 390, `the page is ${wide} pixels wide on a phone`);
  phone.remove();

  at("shuffle").click();
  const shuffled = pixels();
  assert(!same(before, shuffled) && sum(before) === sum(shuffled), "the picture is shuffled");
  at("seed").value = "43";
  at("unshuffle").click();
  assert(!same(before, pixels()), "another seed does not bring it back");
  assert(!at("picture-says").textContent.includes("put back"), "and the page does not say that it did");
  at("shuffle").click();
  at("seed").value = "42";
  at("unshuffle").click();
  assert(same(before, pixels()), "the picture is back");
  assert(at("picture-says").textContent.includes("put back"), "the page says so");
  for (const wrong of ["-1", "ten", "", "0x2", String(2n ** 64n)]) {
    at("seed").value = wrong;
    at("shuffle").click();
    const said = at("picture-says").textContent;
    assert(said.startsWith("The seed must be a whole number"), `seed ${wrong}: ${said}`);
  }

  const found = () => at("found").textContent;
  const item = String(0x70366b4dbb);
  assert(found().startsWith(`Place 15 has item ${item}, and item ${item} is at place 15.`), found());
  at("length").value = "10";
  at("place").value = "5";
  at("length").dispatchEvent(new Event("input"));
  assert(found().includes("has item 7,") && found().endsWith("Next: 5, 3, 8, 2."), found());
  at("place").value = "10";
  at("place").dispatchEvent(new Event("input"));
  assert(found() === "The last place is 9.", found());
  at("place").value = "x";
  at("place").dispatchEvent(new Event("input"));
  assert(found().startsWith("The place must be a whole number"), found());

  const rows = [...at("digests").rows].map((row) => row.cells[3].textContent);
  assert(rows.length > 10 && rows.every((cell) => cell === "the same"), `digests: ${rows}`);

  // The cloud, shuffled and put back.
  const cloud = at("cloud").getContext("2d");
  const clouds = [];
  const said = [];
  // The second seed is wrong, so that undo is undone before the right one.
  for (const [id, seed] of [["shuffle", 42], ["unshuffle", 43], ["shuffle", 43], ["unshuffle", 42]]) {
    at("seed").value = seed;
    at(`cloud-${id}`).click();
    while (at("cloud-says").textContent === "Moving ..") await new Promise((then) => setTimeout(then, 20));
    said.push(at("cloud-says").textContent);
    const { data } = cloud.getImageData(0, 0, at("cloud").width, at("cloud").height);
    clouds.push(data.reduce((hash, x) => Math.imul(hash ^ x, 16777619) >>> 0, 2166136261));
  }
  assert(said[0].startsWith("10,000,000 points shuffled"), said[0]);
  assert(said[1].includes("not back in order"), said[1]);
  assert(said[3].startsWith("10,000,000 points put back"), said[3]);
  assert(clouds[0] === clouds[2] && new Set(clouds).size === 3, "the cloud is shuffled and put back");
  const engine = said[0].includes("on the GPU") ? "on a GPU" : "without a GPU";
  await say(`passed: picture, places, ${rows.length} digests, cloud ${clouds} ${engine}`);
} catch (error) {
  await say(`failed: ${error.stack}`);
}
