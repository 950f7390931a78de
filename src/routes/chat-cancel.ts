/** Stops running requests of any chat API. Contract section 16. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ChatCancelRequest, StoppedChat } from '../../schemas/chat.ts';
import { idParams, ref } from '../../schemas/common.ts';
import { ApiError } from '../errors.ts';
import { idempotencyKeyOf } from '../ledger/idempotency.ts';
import type { RunningRequests } from '../requests/stoppable-requests.ts';

const noSuchReply = () =>
  new ApiError('notFound', { message: 'You do not have a running request with this ID.' });

const noSuchKey = () =>
  new ApiError('notFound', {
    message: 'You have not sent a request with this `Idempotency-Key` in the last 24 hours.',
    param: 'idempotency_key',
  });

const effect =
  'Stops the model, on whichever replica it runs. The text sent so far becomes the reply, marked as stopped, and the request remains charged. If the request has `replaces`, the reply is not stored. The stopped request itself ends normally.';

const routes: FastifyPluginAsyncTypebox<{ running: RunningRequests }> = async (app, { running }) => {
  app.post(
    '/chat/:id/cancel',
    {
      schema: {
        operationId: 'cancelChat',
        summary: 'Stop a reply',
        description: `${effect} Use the ID of the reply, which a stream sends in its \`start\` event, or the \`X-Request-Id\` of a request to any chat endpoint.`,
        tags: ['Chat'],
        params: idParams("The reply's ID."),
        response: { 200: ref(StoppedChat) },
      },
      config: {
        scope: 'chat',
        errors: ['notFound', 'alreadyFinished'],
        errorExamples: { ForRunningRequest: noSuchReply() },
      },
    },
    async (request) => {
      if (!(await running.stop(request.caller, request.params.id))) throw noSuchReply();
      return { stopped: true };
    },
  );

  app.post(
    '/chat/cancel',
    {
      schema: {
        operationId: 'cancelChatByKey',
        summary: 'Stop a reply by its idempotency key',
        description: `${effect} Also works before the first output, when the reply has no ID yet.`,
        tags: ['Chat'],
        body: ref(ChatCancelRequest),
        response: { 200: ref(StoppedChat) },
      },
      config: {
        scope: 'chat',
        errors: ['notFound', 'alreadyFinished'],
        errorExamples: { ForIdempotencyKey: noSuchKey() },
      },
    },
    async (request) => {
      const key = idempotencyKeyOf(request.body.idempotency_key);
      if (!(await running.stopByKey(request.caller, key))) throw noSuchKey();
      return { stopped: true };
    },
  );
};

export default routes;
