/** Generated from openapi.json by `make sdk`. Do not make direct changes to the file. */
import type { Method } from './method.ts';

/** Where each operation is: its method and path, whether it has a body, and whether it takes an `Idempotency-Key`. */
export const operations = {
  cancelChat: { method: 'POST', path: '/api/v1/chat/{id}/cancel', hasBody: false, isIdempotent: false },
  cancelChatByKey: { method: 'POST', path: '/api/v1/chat/cancel', hasBody: true, isIdempotent: false },
  cancelResponse: { method: 'POST', path: '/api/v1/responses/{id}/cancel', hasBody: false, isIdempotent: false },
  changeAccount: { method: 'PATCH', path: '/api/v1/operator/accounts/{id}', hasBody: true, isIdempotent: false },
  changePassword: { method: 'POST', path: '/api/v1/account/password', hasBody: true, isIdempotent: false },
  chat: { method: 'POST', path: '/api/v1/chat', hasBody: true, isIdempotent: true },
  countMessageTokens: { method: 'POST', path: '/api/v1/messages/count_tokens', hasBody: true, isIdempotent: false },
  createAccount: { method: 'POST', path: '/api/v1/operator/accounts', hasBody: true, isIdempotent: false },
  createChatCompletion: { method: 'POST', path: '/api/v1/chat/completions', hasBody: true, isIdempotent: true },
  createEmbeddings: { method: 'POST', path: '/api/v1/embeddings', hasBody: true, isIdempotent: true },
  createImage: { method: 'POST', path: '/api/v1/images/generations', hasBody: true, isIdempotent: true },
  createKey: { method: 'POST', path: '/api/v1/keys', hasBody: true, isIdempotent: false },
  createMessage: { method: 'POST', path: '/api/v1/messages', hasBody: true, isIdempotent: true },
  createResponse: { method: 'POST', path: '/api/v1/responses', hasBody: true, isIdempotent: true },
  deleteAccount: { method: 'DELETE', path: '/api/v1/account', hasBody: true, isIdempotent: false },
  deleteAccountOfOwner: { method: 'DELETE', path: '/api/v1/operator/accounts/{id}', hasBody: false, isIdempotent: false },
  deleteConversation: { method: 'DELETE', path: '/api/v1/conversations/{id}', hasBody: false, isIdempotent: false },
  deleteResponse: { method: 'DELETE', path: '/api/v1/responses/{id}', hasBody: false, isIdempotent: false },
  deleteWebhook: { method: 'DELETE', path: '/api/v1/webhook', hasBody: false, isIdempotent: false },
  endPreviousSecret: { method: 'DELETE', path: '/api/v1/keys/{id}/previous-secret', hasBody: false, isIdempotent: false },
  endSession: { method: 'DELETE', path: '/api/v1/sessions/{id}', hasBody: false, isIdempotent: false },
  exportOperatorLog: { method: 'GET', path: '/api/v1/operator/log/export', hasBody: false, isIdempotent: false },
  exportRequests: { method: 'GET', path: '/api/v1/requests/export', hasBody: false, isIdempotent: false },
  findKeys: { method: 'GET', path: '/api/v1/operator/keys', hasBody: false, isIdempotent: false },
  getAccount: { method: 'GET', path: '/api/v1/account', hasBody: false, isIdempotent: false },
  getAccountOfOwner: { method: 'GET', path: '/api/v1/operator/accounts/{id}', hasBody: false, isIdempotent: false },
  getConversation: { method: 'GET', path: '/api/v1/conversations/{id}', hasBody: false, isIdempotent: false },
  getHealth: { method: 'GET', path: '/healthz', hasBody: false, isIdempotent: false },
  getModel: { method: 'GET', path: '/api/v1/models/{id}', hasBody: false, isIdempotent: false },
  getOperatorOverview: { method: 'GET', path: '/api/v1/operator/overview', hasBody: false, isIdempotent: false },
  getReadiness: { method: 'GET', path: '/readyz', hasBody: false, isIdempotent: false },
  getResponse: { method: 'GET', path: '/api/v1/responses/{id}', hasBody: false, isIdempotent: false },
  getService: { method: 'GET', path: '/api/v1/service', hasBody: false, isIdempotent: false },
  getSubscription: { method: 'GET', path: '/api/v1/subscription', hasBody: false, isIdempotent: false },
  getUsage: { method: 'GET', path: '/api/v1/usage', hasBody: false, isIdempotent: false },
  getUsageHistory: { method: 'GET', path: '/api/v1/usage/history', hasBody: false, isIdempotent: false },
  getWebhook: { method: 'GET', path: '/api/v1/webhook', hasBody: false, isIdempotent: false },
  listAccounts: { method: 'GET', path: '/api/v1/operator/accounts', hasBody: false, isIdempotent: false },
  listConversations: { method: 'GET', path: '/api/v1/conversations', hasBody: false, isIdempotent: false },
  listEvents: { method: 'GET', path: '/api/v1/events', hasBody: false, isIdempotent: false },
  listKeys: { method: 'GET', path: '/api/v1/keys', hasBody: false, isIdempotent: false },
  listMessageImages: { method: 'GET', path: '/api/v1/conversations/{id}/images', hasBody: false, isIdempotent: false },
  listModels: { method: 'GET', path: '/api/v1/models', hasBody: false, isIdempotent: false },
  listOperatorLog: { method: 'GET', path: '/api/v1/operator/log', hasBody: false, isIdempotent: false },
  listPlans: { method: 'GET', path: '/api/v1/plans', hasBody: false, isIdempotent: false },
  listRequests: { method: 'GET', path: '/api/v1/requests', hasBody: false, isIdempotent: false },
  listRequestsOfAccount: { method: 'GET', path: '/api/v1/operator/accounts/{id}/requests', hasBody: false, isIdempotent: false },
  listResponseInput: { method: 'GET', path: '/api/v1/responses/{id}/input_items', hasBody: false, isIdempotent: false },
  listSessions: { method: 'GET', path: '/api/v1/sessions', hasBody: false, isIdempotent: false },
  listWebhookDeliveries: { method: 'GET', path: '/api/v1/webhook/deliveries', hasBody: false, isIdempotent: false },
  logIn: { method: 'POST', path: '/api/v1/auth/login', hasBody: true, isIdempotent: false },
  logOut: { method: 'POST', path: '/api/v1/auth/logout', hasBody: false, isIdempotent: false },
  putWebhook: { method: 'PUT', path: '/api/v1/webhook', hasBody: true, isIdempotent: false },
  reportLeakedKeys: { method: 'POST', path: '/api/v1/keys/report-leak', hasBody: true, isIdempotent: false },
  resetPassword: { method: 'POST', path: '/api/v1/operator/accounts/{id}/reset-password', hasBody: false, isIdempotent: false },
  revokeKey: { method: 'DELETE', path: '/api/v1/keys/{id}', hasBody: false, isIdempotent: false },
  revokeKeyOfAccount: { method: 'DELETE', path: '/api/v1/operator/keys/{prefix}', hasBody: false, isIdempotent: false },
  rotateKey: { method: 'POST', path: '/api/v1/keys/{id}/rotate', hasBody: true, isIdempotent: false },
  rotateWebhookSecret: { method: 'POST', path: '/api/v1/webhook/secret', hasBody: false, isIdempotent: false },
  search: { method: 'POST', path: '/api/v1/search', hasBody: true, isIdempotent: true },
  signUp: { method: 'POST', path: '/api/v1/auth/signup', hasBody: true, isIdempotent: false },
  testWebhook: { method: 'POST', path: '/api/v1/webhook/test', hasBody: false, isIdempotent: false },
  updateAccount: { method: 'PATCH', path: '/api/v1/account', hasBody: true, isIdempotent: false },
  updateConversation: { method: 'PATCH', path: '/api/v1/conversations/{id}', hasBody: true, isIdempotent: false },
  updateKey: { method: 'PATCH', path: '/api/v1/keys/{id}', hasBody: true, isIdempotent: false },
  updateSubscription: { method: 'PUT', path: '/api/v1/subscription', hasBody: true, isIdempotent: false },
} as const;

/** The operations as methods. */
export interface Operations {
  /**
   * Stop a reply.
   * Stops the model, on whichever replica it runs. The text sent so far becomes the reply, marked as stopped, and the request remains charged. If the request has `replaces`, the reply is not stored. The stopped request itself ends normally. Use the ID of the reply, which a stream sends in its `start` event, or the `X-Request-Id` of a request to any chat endpoint.
   *
   * Requires the `chat` scope when called with a key.
   */
  cancelChat: Method<'cancelChat'>;

  /**
   * Stop a reply by its idempotency key.
   * Stops the model, on whichever replica it runs. The text sent so far becomes the reply, marked as stopped, and the request remains charged. If the request has `replaces`, the reply is not stored. The stopped request itself ends normally. Also works before the first output, when the reply has no ID yet.
   *
   * Requires the `chat` scope when called with a key.
   */
  cancelChatByKey: Method<'cancelChatByKey'>;

  /**
   * Stop a response.
   * Stops a response that is being generated, on whichever replica it runs. The output generated so far becomes the response, and the request remains charged.
   *
   * Requires the `chat` scope when called with a key.
   */
  cancelResponse: Method<'cancelResponse'>;

  /**
   * Change the plan of an account, or suspend it.
   * Changes take effect on every replica within a second. Suspending ends the sessions of the account; its keys are refused, but not revoked.
   */
  changeAccount: Method<'changeAccount'>;

  /**
   * Change the password.
   * Ends all other sessions of the account. This session continues with a new cookie. Keys stay valid. Requires the current password.
   */
  changePassword: Method<'changePassword'>;

  /**
   * Send a message and get the reply.
   * Sends a message and returns the reply. Without `conversation_id`, starts a new conversation. With it, the model also gets as much of the recent history as fits; `history` reports how much. `replaces` replaces an earlier message. `images` attaches images, which stay part of the conversation. With `stream`, the reply arrives as it is generated.
   *
   * Requires the `chat` scope when called with a key.
   *
   * Counts toward the daily `chat` quota.
   */
  chat: Method<'chat'>;

  /**
   * Count the tokens of a message.
   * Counts the input tokens of a conversation, if the model's server can count them. Otherwise, estimates them: one for every four characters of its text, tool calls, and tools; images do not count. Not charged.
   *
   * Requires the `chat` scope when called with a key.
   */
  countMessageTokens: Method<'countMessageTokens'>;

  /**
   * Create an account.
   * Creates an account with a random password, even if sign-ups are closed. Only this response contains the password.
   */
  createAccount: Method<'createAccount'>;

  /**
   * Create a chat completion (OpenAI-compatible).
   * Works with OpenAI's clients: set their base URL to this service's `/api/v1`. Each of the `n` choices is charged.
   *
   * Requires the `chat` scope when called with a key.
   *
   * Counts toward the daily `chat` quota.
   */
  createChatCompletion: Method<'createChatCompletion'>;

  /**
   * Create embeddings (OpenAI-compatible).
   * Returns a vector for each input. Similar texts have similar vectors. Each input is charged.
   *
   * Requires the `search` scope when called with a key.
   *
   * Counts toward the daily `embeddings` quota.
   */
  createEmbeddings: Method<'createEmbeddings'>;

  /**
   * Generate images (OpenAI-compatible).
   * Generates images from a prompt and returns the files. Each of the `n` images is charged.
   *
   * Requires the `images` scope when called with a key.
   *
   * Counts toward the daily `images` quota.
   */
  createImage: Method<'createImage'>;

  /**
   * Create a key.
   * Creates a key. Only this response contains the raw key: Parley stores its hash and cannot show it again.
   */
  createKey: Method<'createKey'>;

  /**
   * Create a message (Anthropic's Messages API).
   * Works with Anthropic's clients and with Claude Code: set their base URL to this service's `/api`. Each request costs one unit of chat, or more if the operator set more for the model.
   *
   * Requires the `chat` scope when called with a key.
   *
   * Counts toward the daily `chat` quota.
   */
  createMessage: Method<'createMessage'>;

  /**
   * Create a response (OpenAI's Responses API).
   * Works with OpenAI's clients and with Codex: set their base URL to this service's `/api/v1`. Each request costs one unit of chat, or more if the operator set more for the model. Unless `store` is false, the response is kept for 30 days and can be continued with `previous_response_id`.
   *
   * Requires the `chat` scope when called with a key.
   *
   * Counts toward the daily `chat` quota.
   */
  createResponse: Method<'createResponse'>;

  /**
   * Delete the account.
   * Immediately ends every session, revokes every key, and frees the email address. The account's data is removed soon after. This cannot be undone. Requires the current password.
   */
  deleteAccount: Method<'deleteAccount'>;

  /**
   * Delete any account.
   * Immediately ends its sessions and revokes its keys. Its data is removed soon after. This cannot be undone.
   */
  deleteAccountOfOwner: Method<'deleteAccountOfOwner'>;

  /**
   * Delete a conversation.
   * Permanently deletes the conversation and all its messages.
   *
   * Requires the `chat` scope when called with a key.
   */
  deleteConversation: Method<'deleteConversation'>;

  /**
   * Delete a response.
   * Permanently deletes a stored response and its input. It can no longer be continued.
   *
   * Requires the `chat` scope when called with a key.
   */
  deleteResponse: Method<'deleteResponse'>;

  /**
   * Delete the webhook.
   * Deletes the webhook, its pending messages, and the delivery log.
   */
  deleteWebhook: Method<'deleteWebhook'>;

  /**
   * Revoke a key's old secret.
   * Ends the grace period of the last rotation early: the old secret stops working immediately, on every replica. The new secret keeps working. In-flight requests run to completion.
   */
  endPreviousSecret: Method<'endPreviousSecret'>;

  /**
   * End a session.
   * Signs out a device on every replica immediately. If you end the session of this request, its cookie is cleared too.
   */
  endSession: Method<'endSession'>;

  /**
   * Export the operator log.
   * All entries, newest first, as a file with a JSON object per line.
   */
  exportOperatorLog: Method<'exportOperatorLog'>;

  /**
   * Export the request log.
   * Returns all rows that match the filters, newest first, as a file: CSV with a header row, or JSON. An account can have one export at a time.
   */
  exportRequests: Method<'exportRequests'>;

  /**
   * Find keys by their prefix.
   * Lists keys of all accounts whose secret begins with `prefix`, including revoked keys and replaced secrets.
   */
  findKeys: Method<'findKeys'>;

  /**
   * Read the account.
   * Returns the signed-in account.
   */
  getAccount: Method<'getAccount'>;

  /**
   * Read any account.
   * Returns an account with today's usage and how many keys and sessions it has.
   */
  getAccountOfOwner: Method<'getAccountOfOwner'>;

  /**
   * Read a conversation.
   * Returns the conversation with a page of its newest messages, in chronological order. Send `next_cursor` as `cursor` to get older messages. A page of long messages can have fewer messages than `limit`.
   *
   * Requires the `chat` scope when called with a key.
   */
  getConversation: Method<'getConversation'>;

  /**
   * Check liveness.
   * Responds while the process is running, even if the database is unavailable. Restart the process when it stops responding.
   */
  getHealth: Method<'getHealth'>;

  /**
   * Retrieve a model.
   * Returns a model by its ID, or by an alias that the operator has set. You can send the slash in an ID such as `org/name` as is or percent-encoded. With an `anthropic-version` header, the request and response, errors included, have the format of the Anthropic API ([Anthropic-compatible endpoint](/docs/guides/anthropic-compatible#list-models-with-an-anthropic-client)).
   *
   * Requires the `models` scope when called with a key.
   */
  getModel: Method<'getModel'>;

  /**
   * Read the state of the service.
   * Returns today's load, the causes of refusals and the slowest requests in the last hour, the health of upstreams as seen by the replica that responds, and background jobs.
   */
  getOperatorOverview: Method<'getOperatorOverview'>;

  /**
   * Check readiness.
   * Returns 200 while the database responds and the process is not shutting down. Send traffic only then.
   */
  getReadiness: Method<'getReadiness'>;

  /**
   * Retrieve a response.
   * Returns a stored response. A key sees the responses that it created. Other query parameters are ignored.
   *
   * Requires the `chat` scope when called with a key.
   */
  getResponse: Method<'getResponse'>;

  /**
   * Retrieve service information.
   * Returns what a sign-up page needs: the version, whether sign-ups are open, who changes plans, and the engines in use.
   */
  getService: Method<'getService'>;

  /**
   * Read the subscription.
   * Returns the account's plan, its billing, and its limits.
   */
  getSubscription: Method<'getSubscription'>;

  /**
   * Read today's usage.
   * Returns the account's usage since 00:00 UTC across all keys and the web, the limits of its plan, and the time of the next reset.
   *
   * Requires the `usage` scope when called with a key.
   */
  getUsage: Method<'getUsage'>;

  /**
   * Read daily usage.
   * Returns the account's usage for each recent UTC day, by meter and key. Every day and meter of the plan has a row, even without usage.
   */
  getUsageHistory: Method<'getUsageHistory'>;

  /**
   * Read the webhook.
   * Returns the account's webhook without its secret.
   */
  getWebhook: Method<'getWebhook'>;

  /**
   * List accounts.
   * Lists all accounts, newest first.
   */
  listAccounts: Method<'listAccounts'>;

  /**
   * List conversations.
   * Pinned conversations first, then the most recently updated. With `q`, only those that contain its words; if few match, a page can have fewer conversations than `limit`, or none, and the last page is the one whose `next_cursor` is null. A key lists the conversations that it created. A key with allowed origins is public and cannot list conversations (403 `listingNotAllowed`), but can read a conversation by its ID. The dashboard lists all conversations of the account.
   *
   * Requires the `chat` scope when called with a key.
   */
  listConversations: Method<'listConversations'>;

  /**
   * Read the audit trail.
   * Lists changes to the account and its sessions, keys, and plan, newest first, with time and network address but never a secret. Events are kept for a year. Failed sign-ins are recorded at most once a minute.
   */
  listEvents: Method<'listEvents'>;

  /**
   * List active keys.
   * The account's active keys, at most 5, without their secrets. Expired and revoked keys are listed only with `status=inactive`.
   */
  listKeys: Method<'listKeys'>;

  /**
   * Read the images of a message.
   * Returns the images that were sent with a message of the conversation, as `data:` URLs. Messages without images have an empty list.
   *
   * Requires the `chat` scope when called with a key.
   */
  listMessageImages: Method<'listMessageImages'>;

  /**
   * List models.
   * Lists the models that the account's plan includes: chat models first, starting with the default. With an `anthropic-version` header, the request and response, errors included, have the format of the Anthropic API ([Anthropic-compatible endpoint](/docs/guides/anthropic-compatible#list-models-with-an-anthropic-client)).
   *
   * Requires the `models` scope when called with a key.
   */
  listModels: Method<'listModels'>;

  /**
   * Read the operator log.
   * Lists the changes that operators made through the API and on the command line, newest first. Entries are kept for a year.
   */
  listOperatorLog: Method<'listOperatorLog'>;

  /**
   * List plans.
   * Lists the prices and limits of every plan, in display order. No credentials required.
   */
  listPlans: Method<'listPlans'>;

  /**
   * Read the request log.
   * Lists the account's metered requests and its refused requests (403, 429, 5xx), newest first. Charges are exact. Refused requests have one row per minute, key, and code, with a count; these rows appear within a second or two and are best-effort. If few rows match the filters, a page can have fewer rows than `limit`, or none. The last page is the one whose `next_cursor` is null.
   */
  listRequests: Method<'listRequests'>;

  /**
   * Read the request log of any account.
   * Returns the same rows that the owner sees, plus the upstream of each request. Shows why requests were refused.
   */
  listRequestsOfAccount: Method<'listRequestsOfAccount'>;

  /**
   * List the input of a response.
   * Lists the input items of a stored response, without those of the responses that it continues. Newest first, unless `order` is `asc`. Other query parameters are ignored.
   *
   * Requires the `chat` scope when called with a key.
   */
  listResponseInput: Method<'listResponseInput'>;

  /**
   * List sessions.
   * Lists the sessions of the account, newest first. `current` marks the session of this request.
   */
  listSessions: Method<'listSessions'>;

  /**
   * List deliveries.
   * Lists messages to the webhook, newest first. They are kept for 30 days.
   */
  listWebhookDeliveries: Method<'listWebhookDeliveries'>;

  /**
   * Sign in.
   * Starts a new session by setting the session cookie. An unknown email address and a wrong password return the same error.
   */
  logIn: Method<'logIn'>;

  /**
   * Sign out.
   * Ends the session on every replica and clears its cookie. Other sessions of the account continue.
   */
  logOut: Method<'logOut'>;

  /**
   * Set the webhook.
   * Creates the webhook and returns its signing secret, which is shown only once. If the webhook exists, changes its URL and re-enables it; pending messages go to the new URL.
   */
  putWebhook: Method<'putWebhook'>;

  /**
   * Report leaked keys.
   * For anyone who finds API keys in public. Valid keys are revoked immediately. A key with allowed origins is public by design and keeps working. In both cases, the owner sees the report. The response is the same for keys that do not exist.
   */
  reportLeakedKeys: Method<'reportLeakedKeys'>;

  /**
   * Reset the password of an account.
   * Sets a random password, which only this response contains, and ends the sessions of the account. Its keys still work.
   */
  resetPassword: Method<'resetPassword'>;

  /**
   * Revoke a key.
   * Permanently revokes the key, including a replaced secret that still works. Takes effect immediately. In-flight requests run to completion.
   */
  revokeKey: Method<'revokeKey'>;

  /**
   * Revoke a key of any account.
   * Permanently revokes the key, on every replica within a second. This cannot be undone.
   */
  revokeKeyOfAccount: Method<'revokeKeyOfAccount'>;

  /**
   * Rotate a key.
   * Replaces the key's secret. Its name, scopes, origins, expiry, and ID stay the same; `key_prefix` changes. The old secret keeps working for `grace_seconds`. Any older secret stops working immediately. Only this response contains the new raw key.
   */
  rotateKey: Method<'rotateKey'>;

  /**
   * Replace the signing secret.
   * Returns a new secret, which is shown only once. For 24 hours, messages are signed with both the new and the replaced secret.
   */
  rotateWebhookSecret: Method<'rotateWebhookSecret'>;

  /**
   * Search.
   * Finds pages that match keywords or a question, best match first. Returns an empty list if nothing matches.
   *
   * Requires the `search` scope when called with a key.
   *
   * Counts toward the daily `search` quota.
   */
  search: Method<'search'>;

  /**
   * Sign up.
   * Creates an account on the first plan and signs it in by setting the session cookie. If an account with this email address was deleted earlier the same day, its usage still counts.
   */
  signUp: Method<'signUp'>;

  /**
   * Send a test message.
   * Queues a message of type `webhook.test`. Its delivery appears in the delivery log within seconds. At most 10 per minute.
   */
  testWebhook: Method<'testWebhook'>;

  /**
   * Change the email address.
   * Changes the address that the account signs in with. Sessions and keys stay valid. Requires the current password. At most 5 attempts per hour.
   */
  updateAccount: Method<'updateAccount'>;

  /**
   * Change a conversation.
   * Renames or pins the conversation, or sets the instructions and temperature to use if a request has none. Only the fields in the body change; null removes a setting.
   *
   * Requires the `chat` scope when called with a key.
   */
  updateConversation: Method<'updateConversation'>;

  /**
   * Change a key's allowed origins.
   * Replaces the list of origins whose pages can use this key: https only, at most 10. With an empty list, only servers and the service's own pages can use the key.
   */
  updateKey: Method<'updateKey'>;

  /**
   * Change the plan.
   * Takes effect immediately. Today's usage still counts. If the operator manages plans, returns 403 `planNotSelfServe`.
   */
  updateSubscription: Method<'updateSubscription'>;
}
