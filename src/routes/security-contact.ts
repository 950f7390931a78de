/** `/.well-known/security.txt`, if the operator has set a security contact. Contract section 17. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { securityText } from '../domain/security-contact.ts';
import { ApiError } from '../errors.ts';

const routes: FastifyPluginAsyncTypebox = async (app) => {
  const { publicUrl, securityContact } = app.config;

  app.get('/.well-known/security.txt', { schema: { hide: true } }, async (_request, reply) => {
    if (securityContact === undefined)
      throw new ApiError('notFound', {
        message: 'The operator of this service has not published a contact for security reports.',
      });
    return reply.type('text/plain; charset=utf-8').send(securityText(securityContact, publicUrl));
  });
};

export default routes;
