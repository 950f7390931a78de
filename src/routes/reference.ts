/** The API reference: its page, files, and document. Contract section 1. */
import { existsSync, readdirSync } from 'node:fs';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { html } from 'ghtml';
import { sendPage } from '../docs/layout.ts';
import { documentPath, referencePage } from '../docs/reference.ts';
import { referenceDocument } from '../docs/reference-document.ts';
import builtFiles from '../plugins/built-files.ts';
import { projectRoot } from '../project.ts';

/** Output folder of the prepare step `reference`. */
const built = new URL('dist/reference/', projectRoot);

const notBuilt = {
  title: 'API reference · Parley',
  description: 'The API reference is not built.',
  main: html`<h1>The API reference is not built</h1>
<p>The service is running and the API works. To build this page too, start the service with <code>make start</code>.</p>
<p><a href="/docs/guides">Guides</a> · <a href="/openapi.json">openapi.json</a></p>
`,
};

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { publicUrl } = app.config;
  const names = existsSync(built) ? readdirSync(built) : [];
  const renderer = names.find((name) => /^scalar-\w+\.js$/.test(name));

  app.get('/docs', { schema: { hide: true } }, async (_request, reply) => {
    if (renderer === undefined) return sendPage(reply.code(503), notBuilt);
    const { headers, page } = referencePage(`/assets/reference/${renderer}`);
    return reply.headers(headers).type('text/html; charset=utf-8').send(page);
  });

  let document: string | undefined;
  app.get(documentPath, { schema: { hide: true } }, async (_request, reply) => {
    document ??= JSON.stringify(referenceDocument(app.swagger(), publicUrl));
    return reply.type('application/json; charset=utf-8').send(document);
  });

  if (renderer !== undefined) app.register(builtFiles, { root: built, prefix: '/assets/reference/' });
};

export default routes;
