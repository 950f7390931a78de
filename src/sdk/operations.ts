/** Generated from openapi.json by `make sdk`. Do not make direct changes to the file. */
import type { Method } from './method.ts';

/** Where each operation is: its method and path, whether it has a body, and whether it takes an `Idempotency-Key`. */
export const operations = {
  changePassword: { method: 'POST', path: '/api/v1/account/password', hasBody: true, isIdempotent: false },
  chat: { method: 'POST', path: '/api/v1/chat', hasBody: true, isIdempotent: true },
  createChatCompletion: { method: 'POST', path: '/api/v1/chat/completions', hasBody: true, isIdempotent: true },
  createImage: { method: 'POST', path: '/api/v1/images/generations', hasBody: true, isIdempotent: true },
  createKey: { method: 'POST', path: '/api/v1/keys', hasBody: true, isIdempotent: false },
  deleteAccount: { method: 'DELETE', path: '/api/v1/account', hasBody: true, isIdempotent: false },
  deleteConversation: { method: 'DELETE', path: '/api/v1/conversations/{id}', hasBody: false, isIdempotent: false },
  endSession: { method: 'DELETE', path: '/api/v1/sessions/{id}', hasBody: false, isIdempotent: false },
  getAccount: { method: 'GET', path: '/api/v1/account', hasBody: false, isIdempotent: false },
  getConversation: { method: 'GET', path: '/api/v1/conversations/{id}', hasBody: false, isIdempotent: false },
  getHealth: { method: 'GET', path: '/healthz', hasBody: false, isIdempotent: false },
  getModel: { method: 'GET', path: '/api/v1/models/{id}', hasBody: false, isIdempotent: false },
  getReadiness: { method: 'GET', path: '/readyz', hasBody: false, isIdempotent: false },
  getService: { method: 'GET', path: '/api/v1/service', hasBody: false, isIdempotent: false },
  getSubscription: { method: 'GET', path: '/api/v1/subscription', hasBody: false, isIdempotent: false },
  getUsage: { method: 'GET', path: '/api/v1/usage', hasBody: false, isIdempotent: false },
  getUsageHistory: { method: 'GET', path: '/api/v1/usage/history', hasBody: false, isIdempotent: false },
  listConversations: { method: 'GET', path: '/api/v1/conversations', hasBody: false, isIdempotent: false },
  listEvents: { method: 'GET', path: '/api/v1/events', hasBody: false, isIdempotent: false },
  listKeys: { method: 'GET', path: '/api/v1/keys', hasBody: false, isIdempotent: false },
  listModels: { method: 'GET', path: '/api/v1/models', hasBody: false, isIdempotent: false },
  listPlans: { method: 'GET', path: '/api/v1/plans', hasBody: false, isIdempotent: false },
  listRequests: { method: 'GET', path: '/api/v1/requests', hasBody: false, isIdempotent: false },
  listSessions: { method: 'GET', path: '/api/v1/sessions', hasBody: false, isIdempotent: false },
  logIn: { method: 'POST', path: '/api/v1/auth/login', hasBody: true, isIdempotent: false },
  logOut: { method: 'POST', path: '/api/v1/auth/logout', hasBody: false, isIdempotent: false },
  reportLeakedKeys: { method: 'POST', path: '/api/v1/keys/report-leak', hasBody: true, isIdempotent: false },
  revokeKey: { method: 'DELETE', path: '/api/v1/keys/{id}', hasBody: false, isIdempotent: false },
  rotateKey: { method: 'POST', path: '/api/v1/keys/{id}/rotate', hasBody: true, isIdempotent: false },
  search: { method: 'POST', path: '/api/v1/search', hasBody: true, isIdempotent: true },
  signUp: { method: 'POST', path: '/api/v1/auth/signup', hasBody: true, isIdempotent: false },
  updateAccount: { method: 'PATCH', path: '/api/v1/account', hasBody: true, isIdempotent: false },
  updateKey: { method: 'PATCH', path: '/api/v1/keys/{id}', hasBody: true, isIdempotent: false },
  updateSubscription: { method: 'PUT', path: '/api/v1/subscription', hasBody: true, isIdempotent: false },
} as const;

/** The operations as methods. */
export interface Operations {
  /**
   * Change the password.
   * Ends every other session of the account; this one goes on under a new cookie. Keys stay as they are. Needs the current password.
   */
  changePassword: Method<'changePassword'>;

  /**
   * Send a message and get the reply.
   * Answers a message. Without `conversation_id` a new conversation is begun; with it, the conversation's recent history goes to the model too, as much of it as fits; `history` says how much. With `stream` the reply comes as it is made.
   *
   * Needs the scope `chat` when called with a key.
   *
   * Charges the daily quota `chat`.
   */
  chat: Method<'chat'>;

  /**
   * OpenAI's chat completions.
   * Takes and answers what OpenAI's clients send and expect: set their base URL to this service's `/api/v1`. Each of the `n` choices is charged.
   *
   * Needs the scope `chat` when called with a key.
   *
   * Charges the daily quota `chat`.
   */
  createChatCompletion: Method<'createChatCompletion'>;

  /**
   * OpenAI's image generations.
   * Draws pictures from words, and answers with the files themselves. Each of the `n` pictures is charged.
   *
   * Needs the scope `images` when called with a key.
   *
   * Charges the daily quota `images`.
   */
  createImage: Method<'createImage'>;

  /**
   * Create a key.
   * Makes a new key. The raw key is in this response only: it is stored hashed and cannot be shown again.
   */
  createKey: Method<'createKey'>;

  /**
   * Delete the account.
   * Ends every session and every key at once and frees the e-mail address; the data of the account is removed soon after. It cannot be undone. Needs the current password.
   */
  deleteAccount: Method<'deleteAccount'>;

  /**
   * Delete a conversation.
   * Deletes the conversation and all its messages, for good.
   *
   * Needs the scope `chat` when called with a key.
   */
  deleteConversation: Method<'deleteConversation'>;

  /**
   * End a session.
   * Signs the account out there, on every replica at once. Ending the session of this request is signing out: its cookie is cleared.
   */
  endSession: Method<'endSession'>;

  /**
   * Read the account.
   * The account that is signed in.
   */
  getAccount: Method<'getAccount'>;

  /**
   * Read a conversation.
   * The conversation with its newest messages, oldest of them first; `next_cursor` leads to older ones. A page of long messages has fewer than `limit`.
   *
   * Needs the scope `chat` when called with a key.
   */
  getConversation: Method<'getConversation'>;

  /**
   * Whether the process is up.
   * Answers as long as the process runs, whatever the state of the database. Restart it when this does not answer.
   */
  getHealth: Method<'getHealth'>;

  /**
   * Look up a model.
   * One model by its id. The slashes of an id such as `org/name` may be sent as they are or encoded.
   *
   * Needs the scope `models` when called with a key.
   */
  getModel: Method<'getModel'>;

  /**
   * Whether to send traffic here.
   * Answers 200 while the database answers and the process is not stopping. Send traffic only then.
   */
  getReadiness: Method<'getReadiness'>;

  /**
   * Read about this service.
   * What a sign-up page needs to know: the version, whether sign-ups are open, who changes plans, and which engines answer.
   */
  getService: Method<'getService'>;

  /**
   * Read the subscription.
   * The account's plan, how it is billed, and what it allows.
   */
  getSubscription: Method<'getSubscription'>;

  /**
   * Read today's usage.
   * What the account used since 00:00 UTC over all keys and the web, the ceilings of its plan, and when the counters start again.
   *
   * Needs the scope `usage` when called with a key.
   */
  getUsage: Method<'getUsage'>;

  /**
   * Read the usage of the last days.
   * What the account used in each of the last UTC days, by meter and by key. Every day and meter has its row, also where nothing was used.
   */
  getUsageHistory: Method<'getUsageHistory'>;

  /**
   * List conversations.
   * Most recently updated first. A key lists those that it created; one with allowed origins, which is public, lists none (403 `listingNotAllowed`) and reads a conversation by its id. The dashboard lists all of the account.
   *
   * Needs the scope `chat` when called with a key.
   */
  listConversations: Method<'listConversations'>;

  /**
   * Read the audit trail.
   * What was done to the account, its sessions, keys and plan, newest first, kept for a year: when and from where, never a secret. Of failed sign-ins it tells at most one a minute.
   */
  listEvents: Method<'listEvents'>;

  /**
   * List the active keys.
   * The account's active keys, at most 5, without their secrets. Expired and revoked keys are not listed.
   */
  listKeys: Method<'listKeys'>;

  /**
   * List the models.
   * The models that a chat may name, the default one first.
   *
   * Needs the scope `models` when called with a key.
   */
  listModels: Method<'listModels'>;

  /**
   * List the plans.
   * Prices and ceilings of every plan, in the order in which to show them. Anybody may read them.
   */
  listPlans: Method<'listPlans'>;

  /**
   * Read the request log.
   * The account's metered requests, and those that were refused (403, 429, 5xx), newest first. Requests that were refused have one row for each minute, key and code, with their number; these rows appear within a second or two and are kept on a best-effort basis, while charges are exact. Where few rows fit the filters, a page may have fewer rows than `limit`, or none, and a `next_cursor` that leads on: the end is where it is null.
   */
  listRequests: Method<'listRequests'>;

  /**
   * List the sessions.
   * Where the account is signed in, the newest session first; `current` marks this one.
   */
  listSessions: Method<'listSessions'>;

  /**
   * Sign in.
   * Begins a new session: the answer sets the session cookie. An unknown e-mail address and a wrong password get the same answer.
   */
  logIn: Method<'logIn'>;

  /**
   * Sign out.
   * Ends the session on every replica and clears its cookie. Other sessions of the account go on.
   */
  logOut: Method<'logOut'>;

  /**
   * Report leaked keys.
   * For anyone who finds API keys in public. Valid keys are revoked at once, and their owners see it. A key with allowed origins is public by design: it keeps working, and its owner sees the report. The answer is the same for keys that do not exist.
   */
  reportLeakedKeys: Method<'reportLeakedKeys'>;

  /**
   * Revoke a key.
   * Ends the key at once and for good, with a secret that was replaced and still works. Requests that are being answered run to their end.
   */
  revokeKey: Method<'revokeKey'>;

  /**
   * Give a key a new secret.
   * Name, scopes, origins, expiry and id stay; `key_prefix` changes. The old secret works for `grace_seconds` longer, a still older one ends at once. The new raw key is in this response only.
   */
  rotateKey: Method<'rotateKey'>;

  /**
   * Search.
   * Finds pages for a few words or a question, best first. Nothing found is an empty list.
   *
   * Needs the scope `search` when called with a key.
   *
   * Charges the daily quota `search`.
   */
  search: Method<'search'>;

  /**
   * Sign up.
   * Creates an account on the first plan and signs it in: the answer sets the session cookie. What an account with this e-mail address used earlier that day still counts.
   */
  signUp: Method<'signUp'>;

  /**
   * Change the e-mail address.
   * Sign in with the new address from now on. Sessions and keys stay as they are. Needs the current password. At most 5 attempts an hour.
   */
  updateAccount: Method<'updateAccount'>;

  /**
   * Change a key's allowed origins.
   * Replaces the list of origins whose pages may call with this key: https only, at most 10. An empty list restricts the key to servers and the service's own origin.
   */
  updateKey: Method<'updateKey'>;

  /**
   * Change the plan.
   * Takes effect at once; what was used today stays used. Where the operator manages plans, the answer is 403 `planNotSelfServe`.
   */
  updateSubscription: Method<'updateSubscription'>;
}
