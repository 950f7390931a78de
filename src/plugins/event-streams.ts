import fp from 'fastify-plugin';
import { EventStreams } from '../requests/event-stream.ts';

declare module 'fastify' {
  interface FastifyInstance {
    streams: EventStreams;
  }
}

export default fp(
  async (app) => {
    const { answerLimits, unreadMs } = app.config;
    app.decorate('streams', new EventStreams(answerLimits.milliseconds + unreadMs));
  },
  { name: 'event-streams', dependencies: ['in-flight-requests'] },
);
