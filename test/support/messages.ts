/** Requests of the Messages API, for tests. */

export const user = (content: unknown) => ({ role: 'user', content });

/** A request; `fields` replace its fields. */
export const askMessage = (fields: object = {}) => ({
  model: 'parley-builtin',
  max_tokens: 1000,
  messages: [user('How do I create a key?')],
  ...fields,
});
