// node build.mjs OUT: write the page as one file that loads nothing. The same input gives the same bytes.

import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LARGEST = 220_000;
const TAG = '<script type="module" src="./view.js"></script>';
const HTML = '<html lang="en">';
const here = dirname(fileURLToPath(import.meta.url));

function read(name) {
  return readFileSync(join(here, name), 'utf8');
}

async function script() {
  const { outputFiles } = await build({
    entryPoints: [join(here, 'page', 'view.js')], bundle: true, minify: true, format: 'esm', target: 'es2022', charset: 'utf8',
    legalComments: 'none', write: false, logLevel: 'error',
  });
  return outputFiles[0].text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
}

// A function as replacement: "$&" in minified code must stay what it is.
function replaced(page, was, now) {
  if (!page.includes(was)) throw new Error(`page/index.html has no ${was}`);
  return page.replace(was, () => now);
}

const out = process.argv[2];
if (!out) throw new Error('usage: node build.mjs OUT');
const noticed = replaced(read('page/index.html'), HTML, `${HTML}\n<!--\n${read('NOTICE.txt').trim()}\n-->`);
const html = replaced(noticed, TAG, `<script type="module">${await script()}</script>`);
const size = Buffer.byteLength(html);
if (size > LARGEST) throw new Error(`the page has ${size} bytes, more than ${LARGEST}`);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, html);
console.log(`${out}: ${size} bytes`);
