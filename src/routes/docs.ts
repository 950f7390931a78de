/** Guides, error pages, documentation search, and `openapi.json`. Contract section 1. */
import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox';
import { html } from 'ghtml';
import { LRUCache } from 'lru-cache';
import { MAX_QUERY_LENGTH, searchForm, searchPage } from '../docs/docs-search.ts';
import { errorIndex, errorPages } from '../docs/error-pages.ts';
import { type Guide, groupOf, guideGroups, guides, guideUrl, withOwnOrigin } from '../docs/guides.ts';
import { withKeyNote } from '../docs/key-note.ts';
import { markdownLinks, type Page, pageFiles, sendPage, wantsPage } from '../docs/layout.ts';
import { guideMarkdown, llmsFull, llmsIndex } from '../docs/llms.ts';
import { guideHtml, withBreaks } from '../docs/markdown.ts';
import { keptForModels, type OwnModels, ownModels } from '../docs/own-models.ts';
import { neighbourLinks } from '../docs/pager.ts';
import { referenceFiles } from '../docs/reference.ts';
import { contents, outline, sideList } from '../docs/side.ts';
import { ApiError } from '../errors.ts';

const MARKDOWN = '.md';
const MARKDOWN_TYPE = 'text/markdown; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const YEAR_SECONDS = 31_536_000;
/** A page of results has up to 10 KB. */
const KEPT_SEARCHES = 500;

/** On a phone, in characters. */
const COLUMN_WIDTH = 12;

const GuideParams = Type.Object({ slug: Type.String({ maxLength: 100 }) });
const SearchQuery = Type.Object({ q: Type.String({ maxLength: MAX_QUERY_LENGTH, default: '' }) });
const ErrorParams = Type.Object({ code: Type.String({ maxLength: 100 }) });

const asMarkdown = ({ slug }: Guide) =>
  html`<p class="source">!${markdownLinks(`${guideUrl('', slug)}${MARKDOWN}`)}</p>
`;

const toLink = ({ slug, title }: Guide) => ({ href: guideUrl('', slug), title });
const link = (guide: Guide | undefined) => guide && toLink(guide);

const ofGroup = (group: string, all: readonly Guide[]) => all.filter((guide) => groupOf(guide) === group);

const groupHtml = (group: string, all: readonly Guide[], publicUrl: string) => html`<h2>${group}</h2>
<dl class="guides">
!${ofGroup(group, all).map(
  ({ slug, summary, title }) =>
    html`<dt><a href="${guideUrl('', slug)}">${title}</a></dt><dd>${withOwnOrigin(summary, publicUrl)}</dd>`,
)}
</dl>
`;

const guideIndex = (all: readonly Guide[], publicUrl: string): Page => ({
  title: 'Guides · Parley',
  description: 'How to use the API and how to run the service.',
  main: html`<h1>Guides</h1>
<p>How to use the API and how to run the service. See also the <a href="/docs">API reference</a>, its source <a href="/openapi.json">openapi.json</a>, and the <a href="/docs/errors">error codes</a>.</p>
!${searchForm()}!${guideGroups.map((group) => groupHtml(group, all, publicUrl))}`,
});

const noSuch = (what: string, list: string): Page => ({
  title: 'Not found · Parley',
  description: `This ${what} does not exist.`,
  main: html`<h1>This ${what} does not exist</h1>
<p>See the <a href="${list}">full list</a>.</p>
`,
});

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { publicUrl } = app.config;
  let index: Page | undefined;
  const pageFor = keptForModels<Page>();
  const pageOf = (guide: Guide, models: OwnModels): Page => {
    const all = guides();
    const markdown = guideMarkdown(guide, publicUrl, models);
    const position = all.indexOf(guide);
    const { opening, sections } = guideHtml({ ...guide, markdown }, publicUrl);
    const neighbours = neighbourLinks('Guides', link(all[position - 1]), link(all[position + 1]));
    const groups = guideGroups.map((name) => ({ name, links: ofGroup(name, all).map(toLink) }));
    return {
      title: `${guide.title} · Parley`,
      description: guide.summary,
      main:
        opening +
        asMarkdown(guide) +
        contents(guide.sections) +
        withBreaks(sections, COLUMN_WIDTH) +
        neighbours,
      copiesMarkdown: true,
      beside: {
        list: sideList('All guides', groups, guideUrl('', guide.slug)),
        outline: outline(guide.sections),
      },
    };
  };

  app.get('/docs/guides', { schema: { hide: true } }, async (_request, reply) => {
    index ??= guideIndex(guides(), publicUrl);
    return sendPage(reply, index);
  });

  app.get('/docs/guides/:slug', { schema: { hide: true, params: GuideParams } }, async (request, reply) => {
    const { slug: asked } = request.params;
    const isMarkdown = asked.endsWith(MARKDOWN);
    const name = isMarkdown ? asked.slice(0, -MARKDOWN.length) : asked;
    const guide = guides().find(({ slug }) => slug === name);
    if (guide === undefined) {
      if (wantsPage(request)) return sendPage(reply.code(404), noSuch('guide', '/docs/guides'));
      throw new ApiError('notFound', {
        message: 'This guide does not exist. `/docs/guides` lists all guides.',
      });
    }
    const models = await ownModels(app);
    if (isMarkdown) return reply.type(MARKDOWN_TYPE).send(guideMarkdown(guide, publicUrl, models));
    const page = pageFor(models, guide.slug, () => pageOf(guide, models));
    return sendPage(reply, await withKeyNote(request, page));
  });

  app.get('/llms.txt', { schema: { hide: true } }, async (_request, reply) =>
    reply.type(TEXT_TYPE).send(llmsIndex(publicUrl, app.swagger())),
  );

  const fullFor = keptForModels<string>();
  app.get('/llms-full.txt', { schema: { hide: true } }, async (_request, reply) => {
    const models = await ownModels(app);
    return reply.type(TEXT_TYPE).send(fullFor(models, 'all', () => llmsFull(publicUrl, models)));
  });

  app.get('/docs/errors', { schema: { hide: true } }, async (_request, reply) => sendPage(reply, errorIndex));

  // The document is complete only after all routes are registered.
  let ofErrors: Map<string, Page> | undefined;
  app.get('/docs/errors/:code', { schema: { hide: true, params: ErrorParams } }, async (request, reply) => {
    const guide = guides().find(({ slug }) => slug === 'errors');
    ofErrors ??= guide && errorPages(guide, app.swagger(), publicUrl);
    const page = ofErrors?.get(request.params.code);
    if (page === undefined) {
      if (wantsPage(request)) return sendPage(reply.code(404), noSuch('error code', '/docs/errors'));
      throw new ApiError('notFound', {
        message: 'This error code does not exist. `/docs/errors` lists all codes.',
      });
    }
    return sendPage(reply, page);
  });

  const searches = new LRUCache<string, Page>({ max: KEPT_SEARCHES });
  app.get('/docs/search', { schema: { hide: true, querystring: SearchQuery } }, async (request, reply) => {
    const query = request.query.q.trim();
    const page = searches.get(query) ?? (await searchPage(query, app.documentation));
    searches.set(query, page);
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
