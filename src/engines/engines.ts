import type { Router } from './routing/router.ts';
import type { ChatEngine, EmbeddingEngine, ImageEngine, SearchEngine } from './types.ts';

export type Engines = {
  chat: ChatEngine;
  /** Set if the operator's file configures several upstreams. The engines use it for the tasks of its models. */
  router?: Router;
  images: ImageEngine;
  search: SearchEngine;
  embeddings: EmbeddingEngine;
};
