/** The fenced blocks of the README and the guides, where they stand. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { marked, type Tokens } from 'marked';
import { anchorMaker, inlineText } from '../../src/docs/guides.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type Snippet = {
  /** From the checkout's root, such as `docs/guides/chat.md`. */
  file: string;
  /** Of the opening fence. */
  line: number;
  language: string;
  code: string;
  /** Where the exceptions find it: `chat.md#see-a-conversation`, the section that it stands in. */
  place: string;
};

/** Every page whose snippets are run. */
export const pages: readonly string[] = [
  'README.md',
  'src/sdk/README.md',
  ...readdirSync(`${root}docs/guides`)
    .sort()
    .map((name) => `docs/guides/${name}`),
];

/** The snippets of a page, in its order. */
export function snippetsOf(file: string): Snippet[] {
  const anchorOf = anchorMaker();
  let line = 1;
  let anchor = '';
  return marked.lexer(readFileSync(root + file, 'utf8')).flatMap((token) => {
    const start = line;
    line += token.raw.split('\n').length - 1;
    if (token.type === 'heading') anchor = anchorOf(inlineText((token as Tokens.Heading).tokens));
    if (token.type !== 'code') return [];
    const { lang = '', text } = token as Tokens.Code;
    return [{ file, line: start, language: lang, code: text, place: `${file.split('/').at(-1)}#${anchor}` }];
  });
}
