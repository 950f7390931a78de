/** Guides, error pages, lists of documentation pages, their search, and `openapi.json`. Contract section 1. */
import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox';
import { html } from 'ghtml';
import { LRUCache } from 'lru-cache';
import { type ErrorCode, errorCodes } from '../../schemas/errors.ts';
import { searchPage } from '../docs/docs-search.ts';
import type { Documentation } from '../docs/documentation.ts';
import { errorCodePage, errorIndexMarkdown, errorMarkdown } from '../docs/error-pages.ts';
import { guideIndexMarkdown, guidePage } from '../docs/guide-pages.ts';
import { guides } from '../docs/guides.ts';
import { withKeyNote } from '../docs/key-note.ts';
import { type Page, pageFiles, sendPage, wantsPage } from '../docs/layout.ts';
import { guideMarkdown, llmsFull, llmsIndex } from '../docs/llms.ts';
import { markdownPage, markdownUrl, requestedPage, sendMarkdown } from '../docs/markdown-pages.ts';
import { referenceFiles } from '../docs/reference.ts';
import { referenceIndexMarkdown } from '../docs/reference-pages.ts';
import { keptForModels } from '../docs/sample-models.ts';
import { MAX_QUERY_LENGTH, SEARCH_PATH } from '../docs/search-form.ts';
import { ApiError } from '../errors.ts';
import { newestKey, ownModels } from './docs-reader.ts';

const TEXT_TYPE = 'text/plain; charset=utf-8';
const YEAR_SECONDS = 31_536_000;
/** Each cached page of results uses up to 10 KB. */
const KEPT_SEARCHES = 500;
/** All entries fit on fewer pages. */
const MAX_PAGES = 100;

const GuideParams = Type.Object({ slug: Type.String({ maxLength: 100 }) });
const SearchQuery = Type.Object({
  q: Type.String({ maxLength: MAX_QUERY_LENGTH, default: '' }),
  page: Type.Integer({ minimum: 1, maximum: MAX_PAGES, default: 1 }),
});
const ErrorParams = Type.Object({ code: Type.String({ maxLength: 100 }) });

const noSuch = (what: string, list: string): Page => ({
  title: 'Not found · Parley',
  description: `This ${what} does not exist.`,
  main: html`<h1>This ${what} does not exist</h1>
<p>See the <a href="${list}">full list</a>.</p>
`,
});

const routes: FastifyPluginAsyncTypebox<{ documentation: Documentation }> = async (
  app,
  { documentation },
) => {
  const { publicUrl } = app.config;
  const indexes = new Map<string, Page>();
  const index = (path: string, markdown: () => string) => {
    app.get(path, { schema: { hide: true } }, async (_request, reply) => {
      const page = indexes.get(path) ?? markdownPage(path, markdown(), publicUrl);
      indexes.set(path, page);
      return sendPage(reply, page);
    });
    app.get(markdownUrl(path), { schema: { hide: true } }, async (_request, reply) =>
      sendMarkdown(reply, markdown()),
    );
  };
  index('/docs', () => referenceIndexMarkdown(app.swagger()));
  index('/docs/guides', () => guideIndexMarkdown(publicUrl));
  index('/docs/errors', errorIndexMarkdown);

  const guidePageFor = keptForModels<Page>();
  app.get('/docs/guides/:slug', { schema: { hide: true, params: GuideParams } }, async (request, reply) => {
    const { isMarkdown, name } = requestedPage(request.params.slug);
    const guide = guides().find(({ slug }) => slug === name);
    if (guide === undefined) {
      if (wantsPage(request)) return sendPage(reply.code(404), noSuch('guide', '/docs/guides'));
      throw new ApiError('notFound', {
        message: 'This guide does not exist. `/docs/guides` lists all guides.',
      });
    }
    const models = await ownModels(app);
    const markdown = () => guideMarkdown(guide, publicUrl, models);
    if (isMarkdown) return sendMarkdown(reply, markdown());
    const page = guidePageFor(models, name, () => guidePage(guide, markdown(), publicUrl, app.swagger()));
    return sendPage(reply, await withKeyNote(page, () => newestKey(request)));
  });

  app.get('/llms.txt', { schema: { hide: true } }, async (_request, reply) =>
    reply.type(TEXT_TYPE).send(llmsIndex(publicUrl, app.swagger())),
  );

  const fullFor = keptForModels<Promise<string>>();
  app.get('/llms-full.txt', { schema: { hide: true } }, async (_request, reply) => {
    const models = await ownModels(app);
    const full = await fullFor(models, 'all', () => llmsFull(publicUrl, app.swagger(), models));
    return reply.type(TEXT_TYPE).send(full);
  });

  const errorPages = new Map<ErrorCode, Page>();
  app.get('/docs/errors/:code', { schema: { hide: true, params: ErrorParams } }, async (request, reply) => {
    const { isMarkdown, name } = requestedPage(request.params.code);
    const code = errorCodes.find((one) => one === name);
    if (code === undefined) {
      if (wantsPage(request)) return sendPage(reply.code(404), noSuch('error code', '/docs/errors'));
      throw new ApiError('notFound', {
        message: 'This error code does not exist. `/docs/errors` lists all codes.',
      });
    }
    const markdown = () => errorMarkdown(guides(), app.swagger(), code);
    if (isMarkdown) return sendMarkdown(reply, markdown());
    const page = errorPages.get(code) ?? errorCodePage(code, markdown(), publicUrl);
    errorPages.set(code, page);
    return sendPage(reply, await withKeyNote(page, () => newestKey(request)));
  });

  const searches = new LRUCache<string, Page>({ max: KEPT_SEARCHES });
  app.get(SEARCH_PATH, { schema: { hide: true, querystring: SearchQuery } }, async (request, reply) => {
    const query = request.query.q.trim();
    const name = `${request.query.page} ${query}`;
    const page = searches.get(name) ?? (await searchPage(query, request.query.page, documentation));
    searches.set(name, page);
    return sendPage(reply, page);
  });

  for (const { content, path, type } of [...pageFiles, ...referenceFiles]) {
    app.get(path, { schema: { hide: true }, config: { isAsset: true } }, async (_request, reply) =>
      reply.header('cache-control', `public, max-age=${YEAR_SECONDS}, immutable`).type(type).send(content),
    );
  }

  let document: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    document ??= JSON.stringify({ ...app.swagger(), servers: [{ url: publicUrl }] });
    return reply.type('application/json; charset=utf-8').send(document);
  });
};

export default routes;
