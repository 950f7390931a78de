/** Names the reader's key next to the samples of a page. */
import type { FastifyRequest } from 'fastify';
import { html } from 'ghtml';
import { keyPrefix } from '../domain/api-key.ts';
import { restoreSession } from '../plugins/sessions.ts';
import { type ApiKeyRow, listActiveKeys } from '../store/keys.ts';
import type { Page } from './layout.ts';
import { KEY_COMMENT_MARKS, KEY_NOTE_MARK } from './markdown.ts';

type NamedKey = Pick<ApiKeyRow, 'publicId' | 'name'>;

const keyNote = (key: NamedKey | undefined) =>
  html`<p class="key">The samples read your key from <code>PARLEY_KEY</code>. !${
    key
      ? html`Your newest key, <a href="/your-api">${key.name}</a>, begins with <code>${keyPrefix(key.publicId)}…</code>`
      : html`<a href="/your-api">Create a key</a>`
  }</p>
`;

/** Without the name, which may have several lines. */
const keyComment = (sign: string, { publicId }: NamedKey) =>
  html`<span class="own-key">!${sign} PARLEY_KEY: ${keyPrefix(publicId)}…
</span>`;

/** The samples are the same without it, so a failure is no reason to withhold the page. */
async function newestKey(request: FastifyRequest): Promise<NamedKey | undefined> {
  try {
    const session = await restoreSession(request);
    if (session === null) return undefined;
    const [newest] = await listActiveKeys(request.server.db, session.accountId);
    return newest;
  } catch (error) {
    request.log.warn(
      { err: error },
      "Could not look up the reader's key. Showing the documentation without it.",
    );
    return undefined;
  }
}

/** What the reader's samples expect in `PARLEY_KEY`: the newest active key. It is for this reader only: do not cache it. */
export const keyNoteFor = async (request: FastifyRequest): Promise<string> =>
  keyNote(await newestKey(request));

/**
 * Returns the page with the prefix of the reader's newest active key, above the samples and in each, or with a link to
 * create one. It is for this reader only: do not cache it.
 */
export async function withKeyNote(request: FastifyRequest, page: Page): Promise<Page> {
  if (!page.main.includes(KEY_NOTE_MARK)) return page;
  const key = await newestKey(request);
  const main = page.main
    .replace(KEY_NOTE_MARK, () => keyNote(key))
    .replace(KEY_COMMENT_MARKS, (_, sign: string) => (key ? keyComment(sign, key) : ''));
  return { ...page, main };
}
