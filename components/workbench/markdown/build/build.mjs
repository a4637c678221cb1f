// Rebuilds ../vendor from the packages of package-lock.json, byte for byte. In a copy of this folder, so that no packages
// stay in the tree: `npm ci && npm run build -- <path of vendor>`.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const [, , folder] = process.argv;
const BUNDLES = {
  "parser.js": `
    export { fromMarkdown } from "mdast-util-from-markdown";
    export { gfmTable } from "micromark-extension-gfm-table";
    export { gfmTableFromMarkdown } from "mdast-util-gfm-table";
    export { gfmStrikethrough } from "micromark-extension-gfm-strikethrough";
    export { gfmStrikethroughFromMarkdown } from "mdast-util-gfm-strikethrough";
    export { gfmTaskListItem } from "micromark-extension-gfm-task-list-item";
    export { gfmTaskListItemFromMarkdown } from "mdast-util-gfm-task-list-item";
    export { math } from "micromark-extension-math";
    export { mathFromMarkdown } from "mdast-util-math";`,
  "katex.js": `export { default as katex } from "katex";`,
};
const OPTIONS = {
  bundle: true, format: "esm", minify: true, target: "es2022", legalComments: "none", metafile: true, write: false,
  // "worker" picks the entity table instead of the variant that decodes entities through innerHTML
  conditions: ["worker"], platform: "browser", charset: "utf8",
};

const packages = new Set();
for (const [name, contents] of Object.entries(BUNDLES)) {
  const { outputFiles, metafile } = await build({ ...OPTIONS, stdin: { contents, resolveDir: process.cwd() } });
  writeFileSync(join(folder, name), outputFiles[0].contents);
  for (const path of Object.keys(metafile.inputs)) {
    const [, owner] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
    if (owner) packages.add(owner);
  }
}

const licences = [...packages].sort().map((name) => {
  const home = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${home}/package.json`, "utf8"));
  const file = readdirSync(home).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? readFileSync(`${home}/${file}`, "utf8").trim() : "(no licence file in the package)";
  return `${name} ${version} (${license})\n\n${text}`;
});
writeFileSync(join(folder, "LICENSES.txt"), `${licences.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);

const names = [...Object.keys(BUNDLES), "LICENSES.txt"].sort();
const sums = names.map((name) => `${createHash("sha256").update(readFileSync(join(folder, name))).digest("hex")}  ${name}\n`);
writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
