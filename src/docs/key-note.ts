/** Shows which key a reader can use for the samples of a page. */
import { html } from 'ghtml';
import { keyPrefix } from '../domain/api-key.ts';
import type { Page } from './layout.ts';
import { KEY_COMMENT_MARKS, KEY_NOTE_MARK } from './markdown.ts';

type NamedKey = { publicId: string; name: string };

/** The note about `PARLEY_KEY`. It is specific to the reader, so do not cache it. */
export const keyNote = (key: NamedKey | undefined): string =>
  html`<p class="key">The samples read your key from <code>PARLEY_KEY</code>. !${
    key
      ? html`Your newest key, <a href="/your-api">${key.name}</a>, begins with <code>${keyPrefix(key.publicId)}…</code>`
      : html`<a href="/your-api">Create a key</a>`
  }</p>
`;

/** Omits the key's name, which may have several lines. */
const keyComment = (sign: string, { publicId }: NamedKey) =>
  html`<span class="own-key">!${sign} PARLEY_KEY: ${keyPrefix(publicId)}…
</span>`;

/**
 * Returns the page with the prefix of the reader's newest active key, above the samples and in each sample. Without a
 * key, adds a link to create one. The page is specific to the reader, so do not cache it.
 *
 * @param newestKey - called only if the page has samples
 */
export async function withKeyNote(page: Page, newestKey: () => Promise<NamedKey | undefined>): Promise<Page> {
  if (!page.main.includes(KEY_NOTE_MARK)) return page;
  const key = await newestKey();
  const main = page.main
    .replace(KEY_NOTE_MARK, () => keyNote(key))
    .replace(KEY_COMMENT_MARKS, (_, sign: string) => (key ? keyComment(sign, key) : ''));
  return { ...page, main };
}
