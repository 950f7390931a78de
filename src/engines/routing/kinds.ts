/** The engines that speak to each kind of upstream. Contract section 15. */
import type { UpstreamKind } from '../../upstreams/schema.ts';
import type { ChatEngine } from '../types.ts';
import { createUpstreamChat, type UpstreamChatOptions } from '../upstream/chat.ts';

export const chatConstructors: Partial<Record<UpstreamKind, (options: UpstreamChatOptions) => ChatEngine>> = {
  openai: createUpstreamChat,
};

export const isBuilt = (kind: UpstreamKind): boolean => chatConstructors[kind] !== undefined;
