/** What `openapi.json` says of the whole API: its title, groups and credentials. */
import { version } from '../project.ts';

/** A group, and the guide on it: a relative address, which `externalDocs` does not take. */
const tag = (name: string, description: string, slug: string, title: string) => ({
  name,
  description: `${description} [${title}](/docs/guides/${slug}).`,
});

export const info = {
  title: 'Parley API',
  version,
  summary: 'Chat, images and search with keys, scopes and one exact daily quota.',
  description: [
    'A chat API with keys, scopes and one exact daily quota shared by web and API use. Send your key as `Authorization: Bearer <API_KEY>`.',
    'Every error has the same envelope; `error.code` says what happened. Each operation lists its codes by status, and new ones may be added. A known path with a method that it does not take answers 405 `methodNotAllowed` with `Allow`.',
    'Streams are server-sent events. Where a response is `text/event-stream`, the schema is that of one event: `event` its name, `data` what its `data` line holds, parsed where it is JSON. Lines that begin with a colon are comments.',
    'Beside the headers that are listed with each response, every answer carries those that tell browsers to run nothing in it (`Content-Security-Policy`, `X-Content-Type-Options`, `Permissions-Policy` and their kind).',
  ].join('\n\n'),
  contact: { name: 'Parley contributors' },
  license: { name: 'MIT', identifier: 'MIT' },
};

/** The groups of operations, in the order in which to read them. */
export const tags = [
  tag(
    'Chat',
    "Talk to a model: with the service's own messages, or with OpenAI's chat completions for its clients. Replies come whole or as a stream.",
    'chat',
    'How to chat',
  ),
  tag(
    'Conversations',
    'The stored turns of chats: list, read and delete them. A key sees those that it began.',
    'chat',
    'How to chat',
  ),
  tag(
    'Images',
    "Pictures from words, in the shape of OpenAI's image generations.",
    'images',
    'How to draw images',
  ),
  tag('Search', 'Pages for a few words or a question.', 'search', 'How to search'),
  tag('Models', 'The models that a chat may name.', 'models', 'Which models there are'),
  tag('Usage', 'What was used: today, in the last days, and request by request.', 'quotas', 'Quotas'),
  tag(
    'Keys',
    'API keys with scopes and allowed origins, managed by the signed-in owner. At most 5 are active.',
    'keys',
    'How to manage keys',
  ),
  tag(
    'Plans',
    'The plans of this service, and which of them the account has.',
    'plans',
    'Plans and subscriptions',
  ),
  tag(
    'Authentication',
    'Signing up, in and out, and where the account is signed in.',
    'authentication',
    'Keys, scopes and sessions',
  ),
  tag(
    'Account',
    'The account itself: its e-mail address, password, audit trail and deletion.',
    'accounts',
    'Accounts',
  ),
  tag('Service', 'This installation: what it offers, and its health.', 'running-parley', 'How to run Parley'),
];

/** Relative: whoever serves the document serves the API. */
export const servers = [{ url: '/', description: 'This service.', 'x-internal': false }];

export const securitySchemes = {
  apiKey: {
    type: 'http' as const,
    scheme: 'bearer',
    bearerFormat: 'parley_…',
    description:
      'An API key with the scope that the operation names. Pages of the origins in its `allowed_origins` may call from browsers: preflights are answered, and every answer, errors and streams included, carries `Access-Control-Allow-Origin` and `Access-Control-Expose-Headers`. Pages of any other origin but the own get 403 `originNotAllowed`.',
  },
  session: {
    type: 'apiKey' as const,
    in: 'cookie',
    name: 'parley_session',
    description:
      'The cookie of the signed-in owner, for the own origin only: its operations never send a CORS header. Named `__Host-parley_session` where the service is on https.',
  },
};
