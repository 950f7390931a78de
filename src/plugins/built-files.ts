/**
 * Serves a folder that was built: its names change with their content, so that they may be kept for good, and each file
 * lies there in three encodings.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { FastifyError, FastifyPluginAsync } from 'fastify';

const YEAR_SECONDS = 31_536_000;

const builtFiles: FastifyPluginAsync<{ root: URL; prefix: string }> = async (scope, { root }) => {
  const folder = fileURLToPath(root);
  const names = new Set(readdirSync(folder).filter((name) => !name.startsWith('.')));
  // Folders, parents, and names that only some file system understands never reach the plugin below.
  scope.addHook('preHandler', async (request, reply) => {
    const { '*': name = '' } = request.params as { '*'?: string };
    if (!names.has(name)) return reply.callNotFound();
  });
  // The plugin throws a precondition that failed: `If-Match` never holds, as the entity tags are weak.
  scope.setErrorHandler<FastifyError>(async (error, _request, reply) => {
    if (error.statusCode !== 412) throw error;
    return reply.code(412).send();
  });
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, isAsset: true };
  });
  // A cache in between must not mix the encodings up.
  scope.addHook('onRequest', async (_request, reply) => {
    reply.header('vary', 'Accept-Encoding');
  });
  scope.register(staticFiles, {
    root: folder,
    decorateReply: false,
    index: false,
    // Whole files only: a range that no file has would be an error.
    acceptRanges: false,
    preCompressed: true,
    immutable: true,
    maxAge: YEAR_SECONDS * 1000,
  });
};

export default builtFiles;
