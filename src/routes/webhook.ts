/** The account's webhook. Contract sections 1 and 17. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { NoContent, ref } from '../../schemas/common.ts';
import {
  CurrentWebhook,
  PutWebhook,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookDeliveryListQuery,
} from '../../schemas/webhooks.ts';
import { decodeCursor, pageOf } from '../domain/cursor.ts';
import { testNotice } from '../domain/notices.ts';
import { ApiError } from '../errors.ts';
import { sourceOf } from '../limits/address.ts';
import { addMessage, findMessage, listMessages, type MessageRow } from '../store/webhook-messages.ts';
import { deleteWebhook, findWebhook, putWebhook, rotateSecret, type WebhookRow } from '../store/webhooks.ts';
import { newSecret, shownSecret } from '../webhooks/signature.ts';
import { faultOfTarget, targetFaults } from '../webhooks/target.ts';

/** @param secret - only for a new secret, which is shown once */
const toWebhook = (row: WebhookRow, secret?: Buffer) => ({
  url: row.url,
  secret: secret === undefined ? null : shownSecret(secret),
  created_at: row.createdAt.toISOString(),
  old_secret_ends_at:
    row.oldSecretEndsAt !== null && row.oldSecretEndsAt.getTime() > Date.now()
      ? row.oldSecretEndsAt.toISOString()
      : null,
  disabled_at: row.disabledAt?.toISOString() ?? null,
});

const toDelivery = (row: MessageRow) => ({
  id: row.id,
  type: row.type,
  at: row.at.toISOString(),
  status: row.status,
  attempts: row.attempts,
  last_attempt_at: row.lastAttemptAt?.toISOString() ?? null,
  next_attempt_at: row.dueAt?.toISOString() ?? null,
  response_status: row.responseStatus,
  error: row.error,
  data: row.data,
});

const noWebhook = () => new ApiError('notFound', { message: 'The account has no webhook.' });
const errorExamples = { ForWebhook: noWebhook() };

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { config, db } = app;

  app.get(
    '/webhook',
    {
      schema: {
        operationId: 'getWebhook',
        summary: 'Read the webhook',
        description: "Returns the account's webhook without its secret.",
        tags: ['Webhook'],
        response: { 200: ref(CurrentWebhook) },
      },
    },
    async (request) => {
      const row = await findWebhook(db, request.caller.accountId);
      return { data: row === undefined ? null : toWebhook(row) };
    },
  );

  app.put(
    '/webhook',
    {
      schema: {
        operationId: 'putWebhook',
        summary: 'Set the webhook',
        description:
          'Creates the webhook and returns its signing secret, which is shown only once. If the webhook exists, changes its URL and re-enables it; pending messages go to the new URL.',
        tags: ['Webhook'],
        body: ref(PutWebhook),
        response: { 200: ref(Webhook) },
      },
    },
    async (request) => {
      const { url } = request.body;
      const reason = faultOfTarget(url, config.webhookTargets);
      if (reason !== undefined)
        throw new ApiError('invalidRequest', {
          message: `\`url\` ${targetFaults[reason]}`,
          param: 'url',
          reason,
        });
      const secret = newSecret();
      const { isNew, row } = await putWebhook(db, request.caller.accountId, url, secret, sourceOf(request));
      return isNew ? toWebhook(row, secret) : toWebhook(row);
    },
  );

  app.delete(
    '/webhook',
    {
      schema: {
        operationId: 'deleteWebhook',
        summary: 'Delete the webhook',
        description: 'Deletes the webhook, its pending messages, and the delivery log.',
        tags: ['Webhook'],
        response: { 204: NoContent },
      },
      config: { errors: ['notFound'], errorExamples },
    },
    async (request, reply) => {
      if (!(await deleteWebhook(db, request.caller.accountId, sourceOf(request)))) throw noWebhook();
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/webhook/secret',
    {
      schema: {
        operationId: 'rotateWebhookSecret',
        summary: 'Replace the signing secret',
        description:
          'Returns a new secret, which is shown only once. For 24 hours, messages are signed with both the new and the replaced secret.',
        tags: ['Webhook'],
        response: { 200: ref(Webhook) },
      },
      config: { errors: ['notFound'], errorExamples },
    },
    async (request) => {
      const secret = newSecret();
      const row = await rotateSecret(db, request.caller.accountId, secret, sourceOf(request));
      if (row === undefined) throw noWebhook();
      return toWebhook(row, secret);
    },
  );

  app.post(
    '/webhook/test',
    {
      schema: {
        operationId: 'testWebhook',
        summary: 'Send a test message',
        description:
          'Queues a message of type `webhook.test`. Its delivery appears in the delivery log within seconds. At most 10 per minute.',
        tags: ['Webhook'],
        response: { 202: ref(WebhookDelivery) },
      },
      config: { errors: ['notFound'], errorExamples },
    },
    async (request, reply) => {
      const { accountId } = request.caller;
      const webhook = await findWebhook(db, accountId);
      if (webhook === undefined) throw noWebhook();
      await app.limits.countWebhookTest(request);
      const id = await addMessage(db, accountId, testNotice);
      const message = id && (await findMessage(db, accountId, id));
      if (!message)
        throw new ApiError('notFound', {
          message:
            webhook.disabledAt === null
              ? 'Too many messages are already waiting for this webhook. Check the delivery log to see why they fail.'
              : 'The webhook is disabled, because its endpoint returned 410 Gone. Save it again to enable it.',
        });
      return reply.code(202).send(toDelivery(message));
    },
  );

  app.get(
    '/webhook/deliveries',
    {
      schema: {
        operationId: 'listWebhookDeliveries',
        summary: 'List deliveries',
        description: 'Lists messages to the webhook, newest first. They are kept for 30 days.',
        tags: ['Webhook'],
        querystring: WebhookDeliveryListQuery,
        response: { 200: ref(WebhookDeliveryList) },
      },
    },
    async (request) => {
      const { cursor, limit = 20 } = request.query;
      const [at, id] = cursor === undefined ? [] : decodeCursor(cursor, ['instant', 'uuid']);
      const after = at !== undefined && id !== undefined ? { at, id } : undefined;
      const rows = await listMessages(db, request.caller.accountId, limit + 1, after);
      const { nextCursor, page } = pageOf(rows, limit, (row) => [row.at.toISOString(), row.id]);
      return { data: page.map(toDelivery), next_cursor: nextCursor };
    },
  );
};

export default routes;
