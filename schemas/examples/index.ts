import { accountExamples } from './account.ts';
import { chatExamples } from './chat.ts';
import type { OperationExamples } from './example.ts';
import { keyExamples } from './keys.ts';
import { messagesExamples } from './messages.ts';
import { operatorExamples } from './operator.ts';
import { responseExamples } from './responses.ts';
import { toolExamples } from './tools.ts';
import { usageExamples } from './usage.ts';
import { webhookExamples } from './webhook.ts';

export const operationExamples: Record<string, OperationExamples> = {
  ...accountExamples,
  ...chatExamples,
  ...keyExamples,
  ...messagesExamples,
  ...operatorExamples,
  ...responseExamples,
  ...toolExamples,
  ...usageExamples,
  ...webhookExamples,
};
