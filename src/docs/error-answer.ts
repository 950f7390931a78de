import { STATUS_CODES } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { html } from 'ghtml';
import { type ApiError, errorUrl } from '../errors.ts';
import { isApiPath, type Page, wantsPage } from './layout.ts';

const isHidden = ({ routeOptions }: FastifyRequest) =>
  routeOptions.schema === undefined || routeOptions.schema.hide === true;

/** Whether to send an error page to a browser. Operations in openapi.json always send the JSON envelope. */
export const wantsErrorPage = (request: FastifyRequest): boolean =>
  wantsPage(request) && !isApiPath(request.url) && isHidden(request);

/** Formats `code` in a sentence. Escapes each part because it may come from a client. */
const sentenceHtml = (sentence: string): string =>
  sentence
    .split('`')
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
    .join('');

/** Creates an error page for browsers. `message` must not contain secrets. */
export const errorPage = ({ code, statusCode }: ApiError, message: string): Page => {
  const title = STATUS_CODES[statusCode] ?? 'Error';
  return {
    title: `${title} · Parley`,
    description: 'This page cannot be displayed.',
    main: html`<h1>${title}</h1>
<p>!${sentenceHtml(message)}</p>
<p><a href="${errorUrl('', code)}">About this error</a></p>
`,
  };
};
