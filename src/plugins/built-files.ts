/** Serves a built folder. A file's name changes with its content, so caches may keep files forever. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { FastifyError, FastifyPluginAsync } from 'fastify';

const YEAR_SECONDS = 31_536_000;

const builtFiles: FastifyPluginAsync<{ root: URL; prefix: string }> = async (scope, { root }) => {
  const folder = fileURLToPath(root);
  const names = new Set(readdirSync(folder).filter((name) => !name.startsWith('.')));
  // Hides folders, parent paths, and platform-specific names from the plugin below.
  scope.addHook('preHandler', async (request, reply) => {
    const { '*': name = '' } = request.params as { '*'?: string };
    if (!names.has(name)) return reply.callNotFound();
  });
  // The plugin throws if a precondition fails. `If-Match` never holds, because the entity tags are weak.
  scope.setErrorHandler<FastifyError>(async (error, _request, reply) => {
    if (error.statusCode !== 412) throw error;
    return reply.code(412).send();
  });
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, isAsset: true };
  });
  scope.addHook('onRequest', async (_request, reply) => {
    reply.header('vary', 'Accept-Encoding');
  });
  scope.register(staticFiles, {
    root: folder,
    decorateReply: false,
    index: false,
    // Otherwise an unsatisfiable range would raise an error.
    acceptRanges: false,
    preCompressed: true,
    immutable: true,
    maxAge: YEAR_SECONDS * 1000,
  });
};

export default builtFiles;
