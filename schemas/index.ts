/** Schemas with an `$id` in these files become named components of the contract. */
import type { TSchema } from '@sinclair/typebox';
import * as accounts from './accounts.ts';
import * as chat from './chat.ts';
import * as chatEvents from './chat-events.ts';
import * as completionChunks from './completion-chunks.ts';
import * as completions from './completions.ts';
import * as conversations from './conversations.ts';
import * as embeddings from './embeddings.ts';
import { errorSetSchemas } from './error-sets.ts';
import * as errors from './errors.ts';
import * as events from './events.ts';
import * as images from './images.ts';
import * as keys from './keys.ts';
import * as messages from './messages.ts';
import * as messagesErrors from './messages-errors.ts';
import * as messagesEvents from './messages-events.ts';
import * as messagesRequests from './messages-requests.ts';
import * as models from './models.ts';
import * as operator from './operator.ts';
import * as operatorLog from './operator-log.ts';
import * as passedObjects from './passed-objects.ts';
import * as plans from './plans.ts';
import * as requestLog from './request-log.ts';
import * as responseEvents from './response-events.ts';
import * as responseRequests from './response-requests.ts';
import * as responses from './responses.ts';
import * as search from './search.ts';
import * as service from './service.ts';
import * as sessions from './sessions.ts';
import * as usage from './usage.ts';
import * as webhooks from './webhooks.ts';

const resources = [
  accounts,
  chat,
  chatEvents,
  completionChunks,
  completions,
  conversations,
  embeddings,
  errors,
  events,
  images,
  keys,
  messages,
  messagesErrors,
  messagesEvents,
  messagesRequests,
  models,
  operator,
  operatorLog,
  passedObjects,
  plans,
  requestLog,
  responseEvents,
  responseRequests,
  responses,
  search,
  service,
  sessions,
  usage,
  webhooks,
];

export const components: TSchema[] = resources
  .flatMap((resource) => Object.values(resource) as unknown[])
  .filter((value): value is TSchema => typeof value === 'object' && value !== null && '$id' in value)
  .concat(errorSetSchemas, messagesErrors.messagesErrorSchemas);
