/** The fenced code blocks of the README and the guides, with their locations. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { marked, type Tokens } from 'marked';
import { anchorMaker, inlineText } from '../../src/docs/guides.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export type Snippet = {
  /** Relative to the root of the checkout, such as `docs/guides/chat.md`. */
  file: string;
  /** The line of the opening fence. */
  line: number;
  language: string;
  code: string;
  /** The section that contains it, such as `chat.md#see-a-conversation`. */
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

/** The snippets of a page, in page order. */
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
