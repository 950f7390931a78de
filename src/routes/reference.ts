/** The API reference: its pages, files, and document. Contract section 1. */
import { existsSync, readdirSync } from 'node:fs';
import { type FastifyPluginAsyncTypebox, Type } from '@fastify/type-provider-typebox';
import { html } from 'ghtml';
import { operationsOf } from '../docs/api-document.ts';
import { withCodeSamples } from '../docs/code-samples.ts';
import { keyNote, withKeyNote } from '../docs/key-note.ts';
import { type Page, sendPage, wantsPage } from '../docs/layout.ts';
import { requestedPage, sendMarkdown } from '../docs/markdown-pages.ts';
import { operationMarkdown } from '../docs/operation-markdown.ts';
import { documentPath, referencePage } from '../docs/reference.ts';
import { referenceDocument } from '../docs/reference-document.ts';
import { operationPage } from '../docs/reference-pages.ts';
import { documentWithOwnModels, keptForModels } from '../docs/sample-models.ts';
import { ApiError } from '../errors.ts';
import builtFiles from '../plugins/built-files.ts';
import { projectRoot } from '../project.ts';
import { newestKey, ownModels } from './docs-reader.ts';

/** The output folder of the prepare step `reference`. */
const built = new URL('dist/reference/', projectRoot);

const OperationParams = Type.Object({ operation: Type.String({ maxLength: 100 }) });

const noSuchOperation: Page = {
  title: 'Not found · Parley',
  description: 'This operation does not exist.',
  main: html`<h1>This operation does not exist</h1>
<p>See the <a href="/docs">full list</a>.</p>
`,
};

const notBuilt: Page = {
  title: 'Try the API · Parley',
  description: 'The interactive API reference is not built.',
  main: html`<h1>The interactive API reference is not built</h1>
<p>The service is running and the API works. To build this page too, start the service with <code>make start</code>.</p>
<p><a href="/docs">API reference</a> · <a href="/docs/guides">Guides</a> · <a href="/openapi.json">openapi.json</a></p>
`,
};

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { publicUrl } = app.config;
  const names = existsSync(built) ? readdirSync(built) : [];
  const renderer = names.find((name) => /^scalar-\w+\.js$/.test(name));

  const sampledFor = keptForModels<object>();
  const pageFor = keptForModels<Page>();
  app.get(
    '/docs/api/:operation',
    { schema: { hide: true, params: OperationParams } },
    async (request, reply) => {
      const { isMarkdown, name } = requestedPage(request.params.operation);
      const operation = operationsOf(app.swagger()).find(({ operationId }) => operationId === name);
      if (operation === undefined) {
        if (wantsPage(request)) return sendPage(reply.code(404), noSuchOperation);
        throw new ApiError('notFound', {
          message: 'This operation does not exist. `/docs` lists all operations.',
        });
      }
      const models = await ownModels(app);
      const sampled = sampledFor(models, 'document', () =>
        withCodeSamples(documentWithOwnModels(app.swagger(), models), publicUrl),
      );
      if (isMarkdown) return sendMarkdown(reply, operationMarkdown(sampled, operation));
      const page = pageFor(models, name, () => operationPage(sampled, operation, publicUrl));
      return sendPage(reply, await withKeyNote(page, () => newestKey(request)));
    },
  );

  app.get('/docs/try', { schema: { hide: true } }, async (request, reply) => {
    if (renderer === undefined) return sendPage(reply.code(503), notBuilt);
    const { headers, page } = referencePage(
      `/assets/reference/${renderer}`,
      keyNote(await newestKey(request)),
    );
    return reply.headers(headers).type('text/html; charset=utf-8').send(page);
  });

  const documentFor = keptForModels<string>();
  app.get(documentPath, { schema: { hide: true } }, async (_request, reply) => {
    const models = await ownModels(app);
    const document = documentFor(models, 'document', () =>
      JSON.stringify(referenceDocument(documentWithOwnModels(app.swagger(), models), publicUrl)),
    );
    return reply.type('application/json; charset=utf-8').send(document);
  });

  if (renderer !== undefined) app.register(builtFiles, { root: built, prefix: '/assets/reference/' });
};

export default routes;
