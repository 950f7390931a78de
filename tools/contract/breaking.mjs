/**
 * What of a change to openapi.json breaks a client: contract section 12. api-smart-diff finds and names every
 * difference between two documents, references followed; what each means for clients of this service is decided here,
 * because a limit that is narrowed breaks who sends and one that is widened breaks who reads.
 */
import { apiCompare } from 'api-smart-diff';

/** Words for people; they may be reworded. */
const annotations = new Set([
  'description',
  'summary',
  'example',
  'examples',
  'title',
  'externalDocs',
  'x-codeSamples',
  'x-sunset',
]);
const upperLimits = new Set(['maxLength', 'maximum', 'maxItems', 'maxProperties', 'exclusiveMaximum']);
const lowerLimits = new Set(['minLength', 'minimum', 'minItems', 'minProperties', 'exclusiveMinimum']);
const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];

/** What is to go announces itself for so long; a release may be made up to a month after its changes. */
const MONTHS_ANNOUNCED = 6;
const MONTHS_UNTIL_RELEASE = 1;

/**
 * @param {object} before - the document of the last release
 * @param {object} after - the document now
 * @param {Date} now - an operation whose sunset lies before it may be gone
 * @param {{ isRelease?: boolean }} options - whether it is released now, so that what is announced has its whole time
 * @returns {string[]} a line for each change that breaks a client
 */
export function breakingChanges(before, after, now = new Date(), { isRelease = false } = {}) {
  const { diffs, merged } = apiCompare(before, after);
  const found = diffs.flatMap((diff) => {
    const why = problemOf(diff, { before, merged, now });
    return why === undefined ? [] : [`${place(diff.path)}: ${why}`];
  });
  const months = isRelease ? MONTHS_ANNOUNCED : MONTHS_ANNOUNCED - MONTHS_UNTIL_RELEASE;
  return [
    ...new Set([
      ...found,
      ...movedServers(before, after),
      ...renamedOperations(before, after),
      ...earlySunsets(before, after, now, months),
    ]),
  ];
}

/** Every client begins there. */
const movedServers = ({ servers: before }, { servers: after }) =>
  JSON.stringify(before) === JSON.stringify(after) ? [] : ['servers: the address of the API has changed'];

/** An end is announced in time, and once announced comes no earlier. */
function earlySunsets(before, after, now, months) {
  const earliest = new Date(now);
  earliest.setUTCMonth(earliest.getUTCMonth() + months);
  const day = earliest.toISOString().slice(0, 10);
  return Object.entries(after.paths).flatMap(([url, item]) =>
    Object.entries(item).flatMap(([method, { deprecated, 'x-sunset': sunset }]) => {
      const operation = before.paths[url]?.[method];
      if (!deprecated || operation === undefined) return [];
      const announced = operation.deprecated ? operation['x-sunset'] : undefined;
      const where = `${method.toUpperCase()} ${url}`;
      if (sunset === undefined) return [`${where}: it is deprecated without a day of its end`];
      if (announced !== undefined)
        return sunset < announced ? [`${where}: its end was announced for ${announced}`] : [];
      return sunset < day ? [`${where}: its end must be ${months} months from now at least, on ${day}`] : [];
    }),
  );
}

/** Why a difference breaks clients; undefined where it does not. */
function problemOf(diff, context) {
  const { action, after: now, before: was, path } = diff;
  const [section, name] = path;
  if (section === 'components') {
    // Each use of a component is compared where it is used; a name alone is in no request and no response.
    const isScheme = name === 'securitySchemes' && !annotations.has(path.at(-1)) && action !== 'add';
    return isScheme ? 'credentials are sent in another way' : undefined;
  }
  if (section !== 'paths') return undefined;
  const [, , method, part] = path;
  if (path.length <= 3) return action === 'remove' ? removedOperation(path, context) : undefined;
  if (!methods.includes(method)) return 'something beside the methods of a path has changed';
  if (path.some((word, index) => index > 2 && annotations.has(word) && !isMember(path.slice(0, index + 1))))
    return undefined;
  if (part === 'security') return changedSecurity(diff, context);
  if (part === 'parameters') return changedParameter(diff);
  if (part === 'requestBody') return changedRequest(diff);
  if (part === 'responses') return changedResponse(diff, context);
  if (part === 'tags') return 'it is in another group: generated clients are grouped by tags';
  if (part === 'operationId' || part === 'deprecated' || String(part).startsWith('x-')) return undefined;
  return `${action} ${JSON.stringify(was ?? now)}`;
}

/** Gone only where it was announced, and the announced day is over. */
function removedOperation([, url, method], { before, now }) {
  const operations = Object.entries(before.paths[url] ?? {}).filter(([one]) =>
    method === undefined ? methods.includes(one) : one === method,
  );
  const isOver = ({ deprecated, 'x-sunset': sunset }) => deprecated === true && new Date(sunset) <= now;
  return operations.every(([, operation]) => isOver(operation)) ? undefined : 'the operation is gone';
}

/** Methods of generated clients are called by it. */
function renamedOperations(before, after) {
  return Object.entries(before.paths).flatMap(([url, item]) =>
    Object.entries(item).flatMap(([method, { operationId }]) => {
      const now = after.paths[url]?.[method]?.operationId;
      return now === undefined || now === operationId
        ? []
        : [`${method.toUpperCase()} ${url}: the operationId ${operationId} is ${now} now`];
    }),
  );
}

/** A further way in is an addition; whatever else changes locks somebody out. */
function changedSecurity({ action, path }, { before }) {
  const [, url, method] = path;
  const had = before.paths[url]?.[method]?.security ?? [];
  const isFurtherWay = action === 'add' && path.length === 5 && had.length > 0;
  return isFurtherWay ? undefined : 'who may call has changed';
}

function changedParameter({ action, after: now, before: was, path }) {
  if (path.length === 4) {
    const some = (list) => [list].flat().filter(Boolean);
    if (action === 'add')
      return some(now).some(({ required }) => required) ? 'a new parameter is required' : undefined;
    return 'parameters are gone';
  }
  if (path.length === 5) {
    if (action === 'add') return now.required ? 'a new parameter is required' : undefined;
    return 'the parameter is gone';
  }
  const key = path[5];
  if (key === 'required') return now === true ? 'the parameter is required now' : undefined;
  if (key === 'schema') return narrowed({ action, after: now, before: was, path: path.slice(5) });
  return `${key} has changed`;
}

function changedRequest(diff) {
  const { action, after: now, path } = diff;
  if (path.length === 4) return action === 'add' && !now.required ? undefined : 'the body has come or gone';
  if (path[4] === 'required') return now === true ? 'the body is required now' : undefined;
  if (path.length <= 6) return action === 'add' ? undefined : 'the type of the body is not taken any more';
  return narrowed({ ...diff, path: path.slice(6) });
}

/** What was accepted must still be, with the same meaning. */
function narrowed({ action, after: now, before: was, path }) {
  const key = keywordOf(path);
  const parent = path.at(-2);
  if (isMember(path)) return action === 'add' ? undefined : 'the field is not taken any more';
  if (parent === 'required') return action === 'remove' ? undefined : 'the field is required now';
  if (key === 'required') return action === 'remove' ? undefined : 'a field is required now';
  if (parent === 'enum')
    return action === 'add' ? undefined : `the value ${JSON.stringify(was)} is not taken any more`;
  if (['anyOf', 'oneOf'].includes(parent)) return action === 'add' ? undefined : 'an alternative is gone';
  if (key === 'type') return holds(now, was) ? undefined : 'the type has changed';
  if (upperLimits.has(key)) return action === 'remove' || now >= was ? undefined : 'the limit is lower';
  if (lowerLimits.has(key)) return action === 'remove' || now <= was ? undefined : 'the limit is higher';
  if (key === 'additionalProperties')
    return now === false ? 'further fields are not taken any more' : undefined;
  if (['pattern', 'format', 'uniqueItems', 'enum', 'const'].includes(key))
    return action === 'remove' || now === false ? undefined : `${key} restricts it`;
  if (key === 'default') return 'what is meant where it is left out has changed';
  if (key.startsWith('x-')) return undefined;
  return `${action} ${key}`;
}

function changedResponse(diff, context) {
  const { action, path } = diff;
  const [, , , , status, part, name] = path;
  if (path.length === 5) {
    if (action === 'add') return Number(status) < 400 ? 'a success has another status' : undefined;
    return `the status ${status} is gone`;
  }
  if (part === 'headers') {
    if (path.length === 6) return action === 'add' ? undefined : 'headers are gone';
    if (path.length === 7) return action === 'add' ? undefined : `the header ${name} is gone`;
    if (path[7] === 'required')
      return diff.after === true ? undefined : `the header ${name} may be missing now`;
    return widened({ ...diff, path: path.slice(7) }, context, path);
  }
  if (part === 'content') {
    if (path.length <= 7) return action === 'add' ? undefined : 'the type of the answer is gone';
    return widened({ ...diff, path: path.slice(7) }, context, path);
  }
  return `${action} ${part}`;
}

/** What comes must be what could come before, but for fields that clients pass over. */
function widened({ action, after: now, before: was, path }, { merged }, whole) {
  const key = keywordOf(path);
  const parent = path.at(-2);
  if (isMember(path)) return action === 'add' ? undefined : 'the field is gone';
  if (parent === 'required') return action === 'add' ? undefined : `the field ${was} may be missing now`;
  if (key === 'required') return action === 'add' ? undefined : 'fields may be missing now';
  if (parent === 'enum') {
    // Clients decide by the values of an enumeration that may grow, such as error codes: what they wait for stays.
    if (isExtensible(merged, whole))
      return action === 'add' ? undefined : `the value ${JSON.stringify(was)} is gone`;
    return action === 'remove' ? undefined : `the value ${JSON.stringify(now)} is new`;
  }
  if (['anyOf', 'oneOf'].includes(parent)) return action === 'remove' ? undefined : 'an alternative is new';
  if (key === 'type') return holds(was, now) ? undefined : 'the type has changed';
  if (upperLimits.has(key)) return action === 'add' || now <= was ? undefined : 'the limit is higher';
  if (lowerLimits.has(key)) return action === 'add' || now >= was ? undefined : 'the limit is lower';
  if (['pattern', 'format', 'uniqueItems', 'enum'].includes(key))
    return action === 'add' ? undefined : `${key} does not hold any more`;
  if (['additionalProperties', 'default', 'minContains', 'maxContains'].includes(key)) return undefined;
  if (key.startsWith('x-')) return undefined;
  return `${action} ${key}`;
}

/** Whether all types of one keyword `type` are among those of another. */
function holds(wide, narrow) {
  const types = [wide].flat();
  return [narrow]
    .flat()
    .every((type) => types.includes(type) || (type === 'integer' && types.includes('number')));
}

/** Clients of such an enumeration were told that values may be added. */
function isExtensible(merged, path) {
  const schema = path.slice(0, -2).reduce((value, name) => value?.[name], merged);
  return schema?.['x-extensible'] === true;
}

const isMember = (path) => ['properties', 'patternProperties'].includes(path.at(-2));

/** The keyword that a path ends in; a field may be called like one. */
const keywordOf = (path) => (isMember(path) ? '' : String(path.at(-1)));

function place([section, url, method, ...rest]) {
  if (section !== 'paths')
    return [section, url, method, ...rest].filter((part) => part !== undefined).join('.');
  return [`${String(method ?? '').toUpperCase()} ${url}`.trim(), ...rest].join(' › ');
}
