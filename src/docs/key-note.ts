/** Names the reader's key next to the samples of a page. */
import type { FastifyRequest } from 'fastify';
import { html } from 'ghtml';
import { keyPrefix } from '../domain/api-key.ts';
import { restoreSession } from '../plugins/sessions.ts';
import { type ApiKeyRow, listActiveKeys } from '../store/keys.ts';
import type { Page } from './layout.ts';
import { KEY_NOTE_MARK } from './markdown.ts';

type NamedKey = Pick<ApiKeyRow, 'publicId' | 'name'>;

const keyNote = (key: NamedKey | undefined) =>
  html`<p class="key">The samples read your key from <code>PARLEY_KEY</code>. !${
    key
      ? html`Your newest key, <a href="/your-api">${key.name}</a>, begins with <code>${keyPrefix(key.publicId)}…</code>`
      : html`<a href="/your-api">Create a key</a>`
  }</p>
`;

/** The samples are the same without it, so a failure is no reason to withhold the page. */
async function newestKey(request: FastifyRequest): Promise<NamedKey | undefined> {
  try {
    const session = await restoreSession(request);
    if (session === null) return undefined;
    const [newest] = await listActiveKeys(request.server.db, session.accountId);
    return newest;
  } catch (error) {
    request.log.warn({ err: error }, 'The documentation is shown without the key of its reader.');
    return undefined;
  }
}

/**
 * Returns the page with the prefix of the reader's newest active key, or with a link to create one. It is for this
 * reader only: do not cache it.
 */
export async function withKeyNote(request: FastifyRequest, page: Page): Promise<Page> {
  if (!page.main.includes(KEY_NOTE_MARK)) return page;
  const note = keyNote(await newestKey(request));
  return { ...page, main: page.main.replace(KEY_NOTE_MARK, () => note) };
}
