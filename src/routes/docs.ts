/** The guides as pages, and the machine-readable description of the API. Contract section 1. */
import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox';
import { html } from 'ghtml';
import { type Guide, guides, guideUrl, withOwnOrigin } from '../domain/guides.ts';
import { ApiError } from '../errors.ts';
import { sendPage, stylesheet } from '../pages/layout.ts';
import { guideHtml } from '../pages/markdown.ts';

const YEAR_SECONDS = 31_536_000;

const GuideParams = Type.Object({ slug: Type.String({ maxLength: 100 }) });

const contents = ({ sections }: Guide) => html`<nav class="contents" aria-label="On this page"><details>
<summary>On this page</summary>
<ul>!${sections.map(({ anchor, heading }) => html`<li><a href="#${anchor}">${heading}</a></li>`)}</ul>
</details></nav>
`;

const turn = (
  previous: Guide | undefined,
  next: Guide | undefined,
) => html`<nav class="turn" aria-label="Guides">
!${previous ? html`<a rel="prev" href="${guideUrl('', previous.slug)}">← ${previous.title}</a>` : ''}
!${next ? html`<a rel="next" href="${guideUrl('', next.slug)}">${next.title} →</a>` : ''}
</nav>
`;

const index = (all: readonly Guide[], publicUrl: string) => html`<h1>Guides</h1>
<p>How to use the API and how to run the service. The API is described for machines in <a href="/openapi.json">openapi.json</a>.</p>
<dl class="guides">
!${all.map(({ slug, summary, title }) => html`<dt><a href="${guideUrl('', slug)}">${title}</a></dt><dd>${withOwnOrigin(summary, publicUrl)}</dd>`)}
</dl>
`;

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { publicUrl } = app.config;
  const all = guides();
  const pages = new Map(
    all.map((guide, position) => {
      const { opening, sections } = guideHtml(guide, publicUrl);
      const main = opening + contents(guide) + sections + turn(all[position - 1], all[position + 1]);
      return [guide.slug, { title: `${guide.title} · Parley`, description: guide.summary, main }];
    }),
  );

  app.get('/docs', { schema: { hide: true } }, async (_request, reply) =>
    sendPage(reply, {
      title: 'Guides · Parley',
      description: 'How to use the API and how to run the service.',
      main: index(all, publicUrl),
    }),
  );

  app.get('/docs/guides/:slug', { schema: { hide: true, params: GuideParams } }, async (request, reply) => {
    const page = pages.get(request.params.slug);
    if (page === undefined)
      throw new ApiError('notFound', { message: 'There is no such guide. `/docs` lists them.' });
    return sendPage(reply, page);
  });

  // The address that pages use changes with the content.
  app.get('/assets/page.css', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .header('cache-control', `public, max-age=${YEAR_SECONDS}, immutable`)
      .type('text/css; charset=utf-8')
      .send(stylesheet),
  );

  let document: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    document ??= JSON.stringify({ ...app.swagger(), servers: [{ url: publicUrl }] });
    return reply.type('application/json; charset=utf-8').send(document);
  });
};

export default routes;
