/** The first page: what this is, what it runs on, and what to type next. The dashboard will take its place. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { html } from 'ghtml';
import { marked } from 'marked';
import type { Config } from '../config.ts';
import { type Guide, guides, withOwnOrigin } from '../domain/guides.ts';
import { engineInfo } from '../engines/index.ts';
import type { Engines } from '../engines/types.ts';
import { sendPage, stylesheet } from '../pages/layout.ts';
import { version } from '../project.ts';

const YEAR_SECONDS = 31_536_000;

/** The commands of the first guide that call the API, each under the heading of its section. */
export function quickstart(guide: Guide | undefined, publicUrl: string): string {
  const steps = (guide?.sections ?? []).flatMap(({ heading, markdown }) => {
    const command = marked.lexer(markdown).find((token) => token.type === 'code' && token.lang === 'bash');
    return command && 'text' in command && command.text.includes('/api/v1/')
      ? [`# ${heading}\n${command.text}`]
      : [];
  });
  return withOwnOrigin(steps.join('\n\n'), publicUrl);
}

const database = ({ databaseUrl }: Config) =>
  databaseUrl === undefined
    ? html`The embedded one (PGlite, a Postgres in the process), in the folder <code>DATA_DIR</code>: for trying out and small installs. Set <code>DATABASE_URL</code> to use Postgres.`
    : 'Postgres';

async function engine(engines: Engines): Promise<string> {
  const { chat, default_model: model } = await engineInfo(engines);
  return chat === 'builtin'
    ? html`The built-in one, <code>${model}</code>: no language model is configured; it answers from the guides of this service.`
    : html`A model server; the default model is <code>${model}</code>.`;
}

const signUps = ({ operatorContact, signups }: Config) => {
  const contact = operatorContact === null ? '' : `: ${operatorContact}`;
  return signups === 'open' ? 'Open to everybody' : html`Closed; ask the operator for an account${contact}`;
};

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { config, engines } = app;
  const commands = quickstart(guides()[0], config.publicUrl);

  app.get('/', { schema: { hide: true } }, async (_request, reply) =>
    sendPage(reply, {
      title: 'Parley',
      description:
        'A chat service with an HTTP API: API keys with scopes, and one exact daily quota shared by web and API.',
      main: html`<h1>Parley</h1>
<p>A chat service with an HTTP API: accounts, API keys with scopes, and one exact daily quota shared by web and API use. This installation is running.</p>
<dl class="facts">
<dt>Version</dt><dd>${version}</dd>
<dt>Database</dt><dd>!${database(config)}</dd>
<dt>Chat engine</dt><dd>!${await engine(engines)}</dd>
<dt>Sign-ups</dt><dd>!${signUps(config)}</dd>
</dl>
<h2>Next: the first chat</h2>
<p>In a terminal, sign up, create a key, and chat with it:</p>
<pre tabindex="0"><code>${commands}</code></pre>
<h2>Then</h2>
<ul>
<li><a href="/docs">Guides</a>: how to use the API and how to run the service</li>
<li><a href="/openapi.json">openapi.json</a>: the API, for machines and generators of clients</li>
<li><a href="/healthz">/healthz</a> and <a href="/readyz">/readyz</a>: whether the service is up, and ready for traffic</li>
</ul>
`,
    }),
  );

  // The address that pages use changes with the content.
  app.get('/assets/page.css', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .header('cache-control', `public, max-age=${YEAR_SECONDS}, immutable`)
      .type('text/css; charset=utf-8')
      .send(stylesheet),
  );
};

export default routes;
