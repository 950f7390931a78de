import type { Router } from './routing/router.ts';
import type { ChatEngine, EmbeddingEngine, ImageEngine, SearchEngine } from './types.ts';

export type Engines = {
  chat: ChatEngine;
  /** Set if the operator configures upstreams in a file. The engines use it for the tasks that its models support. */
  router?: Router;
  images: ImageEngine;
  search: SearchEngine;
  embeddings: EmbeddingEngine;
};
