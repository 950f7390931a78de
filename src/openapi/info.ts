import { MAX_ACTIVE_KEYS } from '../../schemas/key-limits.ts';
import { version } from '../project.ts';

/** The description links to the guide, because its address is relative, which `externalDocs` does not allow. */
const tag = (name: string, description: string, slug: string, title: string) => ({
  name,
  description: `${description} [${title}](/docs/guides/${slug}).`,
});

export const info = {
  title: 'Parley API',
  version,
  summary: 'Chat, images, search, and embeddings with API keys, scopes, and an exact daily quota.',
  description: [
    'A chat API with keys, scopes, and one exact daily quota shared by the web and the API. Send your key as `Authorization: Bearer <API_KEY>`.',
    "Every error has the same envelope, except in the Messages API, which uses Anthropic's envelope. In both, `error.code` identifies the error. Each operation lists its codes by status. New codes may be added. An unsupported method on a known path returns 405 `methodNotAllowed` with an `Allow` header.",
    'Streams are server-sent events. The schema of a `text/event-stream` response describes one event: `event` is its name, and `data` is the content of its `data` line, parsed if it is JSON. Lines that begin with a colon are comments.',
    'In addition to the headers listed for each response, every response has headers that keep browsers from running its content, such as `Content-Security-Policy`, `X-Content-Type-Options`, and `Permissions-Policy`.',
  ].join('\n\n'),
  contact: { name: 'Parley contributors' },
  license: { name: 'MIT', identifier: 'MIT' },
};

/** Tags in reading order. */
export const tags = [
  tag(
    'Chat',
    "Chat with a model through Parley's chat API or OpenAI-compatible chat completions, with or without streaming.",
    'chat',
    'How to chat',
  ),
  tag(
    'Responses',
    "Chat with a model through OpenAI's Responses API, and manage stored responses.",
    'openai-compatible',
    'OpenAI-compatible endpoints',
  ),
  tag(
    'Messages',
    "Chat with a model through Anthropic's Messages API.",
    'anthropic-compatible',
    'Anthropic-compatible endpoint',
  ),
  tag(
    'Conversations',
    'List, read, and delete stored conversations. A key sees the conversations that it created.',
    'chat',
    'How to chat',
  ),
  tag(
    'Images',
    "Generate images from text, in the format of OpenAI's image generations.",
    'images',
    'How to generate images',
  ),
  tag('Search', 'Find pages that match keywords or a question.', 'search', 'How to search'),
  tag(
    'Embeddings',
    "Create vectors from text, in the format of OpenAI's embeddings.",
    'embeddings',
    'How to use embeddings',
  ),
  tag('Models', 'The models that the account can use.', 'models', 'Available models'),
  tag('Usage', 'Usage today, in recent days, and per request.', 'quotas', 'Quotas'),
  tag(
    'Keys',
    `API keys with scopes and allowed origins, managed by their signed-in owner. An account can have up to ${MAX_ACTIVE_KEYS} active keys.`,
    'keys',
    'How to manage keys',
  ),
  tag(
    'Plans',
    'The plans of this service and the subscription of the account.',
    'plans',
    'Plans and subscriptions',
  ),
  tag(
    'Authentication',
    'Sign up, sign in, sign out, and manage sessions.',
    'authentication',
    'Keys, scopes, and sessions',
  ),
  tag('Account', 'The account: email address, password, audit trail, and deletion.', 'accounts', 'Accounts'),
  tag(
    'Webhook',
    'Notifications about usage, keys, and sign-ins, sent to a URL of your choice.',
    'webhooks',
    'Webhooks',
  ),
  tag(
    'Operator',
    'The state of the service, all accounts, and the operator log. Requires the session of an account listed in `OPERATORS`.',
    'operators',
    'Operators',
  ),
  tag(
    'Service',
    'Information about this installation, and its health.',
    'running-parley',
    'How to run Parley',
  ),
];

/** Relative, because the server of this document also serves the API. */
export const servers = [{ url: '/', description: 'This service.', 'x-internal': false }];

export const securitySchemes = {
  apiKey: {
    type: 'http' as const,
    scheme: 'bearer',
    bearerFormat: 'parley_…',
    description:
      "An API key with the scope that the operation requires. Pages on the key's `allowed_origins` can call from browsers: Parley answers preflights and sends `Access-Control-Allow-Origin` and `Access-Control-Expose-Headers` with every response, including errors and streams. Other origins, except the service's own, get 403 `originNotAllowed`.",
  },
  apiKeyHeader: {
    type: 'apiKey' as const,
    in: 'header',
    name: 'x-api-key',
    description: "The same API key, as Anthropic's clients send it. Other operations ignore this header.",
  },
  session: {
    type: 'apiKey' as const,
    in: 'cookie',
    name: 'parley_session',
    description:
      "The session cookie of the signed-in owner. It works only on the service's own origin: these operations never send CORS headers. Over https, its name is `__Host-parley_session`.",
  },
};
