/** Parsing a reply block by block gives the same result as parsing the whole text. */
import { existsSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { blocksOf } from '../../src/dashboard/pages/chat/markdown-blocks.ts';
import { projectRoot } from '../../src/project.ts';

type Node = { type: string; position?: unknown; children?: Node[] };
type Parser = { fromMarkdown(text: string, options: object): Node };

const modules = new URL('src/dashboard/node_modules/', projectRoot);
const isInstalled = existsSync(new URL('mdast-util-from-markdown/index.js', modules));
const skip = !isInstalled && 'the dashboard is not installed';

const withoutPlaces = ({ position, children, ...node }: Node): unknown =>
  children === undefined ? node : { ...node, children: children.map(withoutPlaces) };

const pieces = [
  'A paragraph.',
  'Two lines\nof one paragraph.',
  '# Heading',
  'Heading\n---',
  '- one\n- two',
  '- one',
  '1. first',
  '2. second\n\n   with a paragraph',
  '  indented by two',
  '    code by indentation',
  '```js\nconst a = 1;\n\nconst b = 2;\n```',
  '````md\n```\n\ninside\n```\n````',
  '~~~\n\n```\n\n~~~',
  '- item\n\n  ```\n\n  code\n  ```',
  '```\nnever closed\n\nstill code',
  '> quoted\n> ```\n> code',
  '| a | b |\n|---|---|\n| 1 | 2 |',
  '***',
  '```inline``` at the start',
  '<div>\n\nmarkup',
  '<!-- a comment\n\nthat goes on -->',
  '<!-- one line --> and more',
  '<pre>\n\n# no heading\n\n</pre>',
  'Text\n<script>a\n\nb</script> rest',
  '<?php\n\necho 1 ?>',
  '<!DOCTYPE html\n\n>',
  '- item\n\n  <pre>\n\n  text',
  '```html\n<!doctype html>\n<script>\n\n[a]: 1\n\n```',
  '[label]: https://parley.test/',
  'See [label] and [^1].',
  '[^1]: A footnote.',
  '+ plus\n\n+ plus',
  '```\n    ```\n\ninside\n```',
];

t.test('parsing a reply block by block gives the same tree as parsing it whole', { skip }, async () => {
  const { fromMarkdown }: Parser = await import(new URL('mdast-util-from-markdown/index.js', modules).href);
  const { gfm } = await import(new URL('micromark-extension-gfm/index.js', modules).href);
  const { gfmFromMarkdown } = await import(new URL('mdast-util-gfm/index.js', modules).href);
  const parse = (text: string) =>
    (fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }).children ?? []).map(
      withoutPlaces,
    );
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...pieces), fc.constantFrom('\n', '\n\n', '\n\n\n', '\n  \n')), {
        maxLength: 8,
      }),
      (parts) => {
        const text = parts.flat().join('');
        const blocks = blocksOf(text);
        if (blocks.join('') !== text) throw new Error(`lost text: ${JSON.stringify(blocks)}`);
        return JSON.stringify(blocks.flatMap(parse)) === JSON.stringify(parse(text));
      },
    ),
    { numRuns: 2000 },
  );
});

t.test('finished blocks do not change as a reply grows', (t) => {
  const page = '```html\n<!doctype html>\n<script>\n\n[a]: 1\n</script>\n```\n\n';
  const paragraphs = Array.from({ length: 50 }, (_, at) => `Paragraph ${at}.\n\n- a\n- b\n\n`);
  const text = [page, ...paragraphs].join('');
  const finished = new Set<string>();
  for (let end = 1; end <= text.length; end += 7)
    for (const block of blocksOf(text.slice(0, end)).slice(0, -1)) finished.add(block);
  t.equal(finished.size, 50, 'each block is fixed once it ends');
  t.end();
});
