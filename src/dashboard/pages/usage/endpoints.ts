/** The metered endpoints that the request log can filter by. */
export const endpoints = [
  'POST /api/v1/chat',
  'POST /api/v1/chat/completions',
  'POST /api/v1/responses',
  'POST /api/v1/messages',
  'POST /api/v1/images/generations',
  'POST /api/v1/search',
  'POST /api/v1/embeddings',
];
