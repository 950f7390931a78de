/** Guards a scope inside the session's scope, for accounts listed in `OPERATORS`. Contract section 17. */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isOperator } from '../domain/operators.ts';
import { ApiError } from '../errors.ts';
import { sourceOf } from '../limits/address.ts';
import { findAccount } from '../store/accounts.ts';
import type { Operator } from '../store/operator-log.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in operator. Set only in the operators' scope. */
    operator: Operator | null;
  }
}

/** Returns the operator who sent a request in the operators' scope. */
export function actingOperator({ operator }: FastifyRequest): Operator {
  if (operator === null) throw new Error('This route is not in the scope of operators.');
  return operator;
}

export default fp(
  async (app) => {
    app.decorateRequest('operator', null);
    app.addHook('onRoute', (route) => {
      const { errors = [], ...config } = route.config ?? {};
      route.config = { ...config, errors: [...errors, 'operatorRequired'] };
    });

    app.addHook('onRequest', async (request) => {
      const account = await findAccount(app.db, request.caller.accountId);
      if (account === undefined) throw new ApiError('sessionRequired');
      if (!isOperator(account, app.config)) throw new ApiError('operatorRequired');
      request.operator = { id: account.id, email: account.email, from: sourceOf(request) };
    });
  },
  { name: 'operator-guard', dependencies: ['session-guard'] },
);
