/**
 * Finds breaking changes in openapi.json: contract section 12. api-smart-diff lists every difference between two
 * documents, with references resolved. This module decides which differences break clients: a narrower limit breaks
 * senders, and a wider limit breaks readers.
 */
import { apiCompare } from 'api-smart-diff';
import { canonical } from './canonical.mjs';

/** Texts for people. They can change at any time. */
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

/** How long before its sunset an operation must be deprecated. A release can follow up to a month after its changes. */
const MONTHS_ANNOUNCED = 6;
const MONTHS_UNTIL_RELEASE = 1;

/**
 * @param {object} before - the document of the last release
 * @param {object} after - the current document
 * @param {Date} now - an operation with an earlier sunset can be removed
 * @param {{ isRelease?: boolean }} options - whether this is a release, which requires the full deprecation period
 * @returns {string[]} one line per breaking change
 */
export function breakingChanges(before, after, now = new Date(), { isRelease = false } = {}) {
  const found = differences(before, after, now);
  const foundInShape = new Set(differences(withoutTexts(before), withoutTexts(after), now).map(operationOf));
  const months = isRelease ? MONTHS_ANNOUNCED : MONTHS_ANNOUNCED - MONTHS_UNTIL_RELEASE;
  return [
    ...new Set([
      ...found.filter((line) => foundInShape.has(operationOf(line))),
      ...movedServers(before, after),
      ...renamedOperations(before, after),
      ...earlySunsets(before, after, now, months),
    ]),
  ];
}

function differences(was, is, now) {
  const [before, after] = [canonical(was), canonical(is)];
  const { diffs, merged } = apiCompare(before, after);
  return diffs.flatMap((diff) => {
    const why = problemOf(diff, { before, merged, now });
    return why === undefined ? [] : [`${place(diff.path)}: ${why}`];
  });
}

const operationOf = (line) => line.split(' › ', 1)[0];

/**
 * api-smart-diff pairs the parts of an `allOf` or `oneOf` by similarity, texts included, and can pair the wrong parts.
 * An operation is compatible if the comparison with or without texts finds no problem.
 */
const withoutTexts = (document) =>
  JSON.parse(
    JSON.stringify(document, (key, value) =>
      typeof value === 'string' && ['description', 'summary'].includes(key) ? undefined : value,
    ),
  );

const movedServers = ({ servers: before }, { servers: after }) =>
  JSON.stringify(before) === JSON.stringify(after) ? [] : ['servers: the URL of the API has changed'];

/** A sunset must be announced in time, and must not move to an earlier day. */
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
      if (sunset === undefined) return [`${where}: it is deprecated without a sunset date`];
      if (announced !== undefined)
        return sunset < announced ? [`${where}: its sunset was announced for ${announced}`] : [];
      return sunset < day
        ? [`${where}: its sunset must be at least ${months} months from now, on ${day} or later`]
        : [];
    }),
  );
}

/** The reason why a difference breaks clients. Undefined if it does not. */
function problemOf(diff, context) {
  const { action, after: now, before: was, path } = diff;
  const [section, name] = path;
  if (section === 'components') {
    // Components are compared where they are used. Requests never contain their names.
    const isScheme = name === 'securitySchemes' && !annotations.has(path.at(-1)) && action !== 'add';
    return isScheme ? 'credentials are sent differently' : undefined;
  }
  if (section !== 'paths') return undefined;
  const [, , method, part] = path;
  if (path.length <= 3) return action === 'remove' ? removedOperation(path, context) : undefined;
  if (!methods.includes(method)) return 'something other than a method of the path has changed';
  if (path.some((word, index) => index > 2 && annotations.has(word) && !isMember(path.slice(0, index + 1))))
    return undefined;
  if (part === 'security') return changedSecurity(diff, context);
  if (part === 'parameters') return changedParameter(diff, context);
  if (part === 'requestBody') return changedRequest(diff, context);
  if (part === 'responses') return changedResponse(diff, context);
  if (part === 'tags') return 'its tags have changed, which group the methods of generated clients';
  if (part === 'operationId' || part === 'deprecated' || String(part).startsWith('x-')) return undefined;
  return `${action} ${JSON.stringify(was ?? now)}`;
}

/** An operation can be removed only after its announced sunset. */
function removedOperation([, url, method], { before, now }) {
  const operations = Object.entries(before.paths[url] ?? {}).filter(([one]) =>
    method === undefined ? methods.includes(one) : one === method,
  );
  const isOver = ({ deprecated, 'x-sunset': sunset }) => deprecated === true && new Date(sunset) <= now;
  return operations.every(([, operation]) => isOver(operation)) ? undefined : 'the operation was removed';
}

/** Generated clients use the operationId as a method name. */
function renamedOperations(before, after) {
  return Object.entries(before.paths).flatMap(([url, item]) =>
    Object.entries(item).flatMap(([method, { operationId }]) => {
      const now = after.paths[url]?.[method]?.operationId;
      return now === undefined || now === operationId
        ? []
        : [`${method.toUpperCase()} ${url}: the operationId changed from ${operationId} to ${now}`];
    }),
  );
}

/** An additional alternative credential is compatible. Any other change can lock clients out. */
function changedSecurity({ action, path }, { before }) {
  const [, url, method] = path;
  const had = before.paths[url]?.[method]?.security ?? [];
  const isFurtherWay = action === 'add' && path.length === 5 && had.length > 0;
  return isFurtherWay ? undefined : 'the accepted credentials have changed';
}

function changedParameter({ action, after: now, before: was, path }, context) {
  if (path.length === 4) {
    const some = (list) => [list].flat().filter(Boolean);
    if (action === 'add')
      return some(now).some(({ required }) => required) ? 'a new parameter is required' : undefined;
    return 'parameters were removed';
  }
  if (path.length === 5) {
    if (action === 'add') return now.required ? 'a new parameter is required' : undefined;
    return 'the parameter was removed';
  }
  const key = path[5];
  if (key === 'required') return now === true ? 'the parameter is now required' : undefined;
  if (key === 'schema')
    return narrowed({ action, after: now, before: was, path: path.slice(5) }, context, path);
  return `${key} has changed`;
}

function changedRequest(diff, context) {
  const { action, after: now, path } = diff;
  if (path.length === 4)
    return action === 'add' && !now.required ? undefined : 'the body was added or removed';
  if (path[4] === 'required') return now === true ? 'the body is now required' : undefined;
  if (path.length <= 6)
    return action === 'add' ? undefined : 'the media type of the body is no longer accepted';
  return narrowed({ ...diff, path: path.slice(6) }, context, path);
}

/** Previously valid requests must remain valid, with the same meaning. */
function narrowed({ action, after: now, before: was, path }, { merged }, whole) {
  const key = keywordOf(path);
  const parent = path.at(-2);
  if (isMember(path)) return action === 'add' ? undefined : 'the field is no longer accepted';
  if (parent === 'required') return action === 'remove' ? undefined : 'the field is now required';
  if (key === 'required') return action === 'remove' ? undefined : 'a field is now required';
  if (parent === 'enum')
    return action === 'add' ? undefined : `the value ${JSON.stringify(was)} is no longer accepted`;
  if (['anyOf', 'oneOf'].includes(parent)) return action === 'add' ? undefined : 'an alternative was removed';
  if (key === 'type') return holds(now, was) ? undefined : 'the type has changed';
  if (upperLimits.has(key)) return action === 'remove' || now >= was ? undefined : 'the limit is lower';
  if (lowerLimits.has(key)) return action === 'remove' || now <= was ? undefined : 'the limit is higher';
  if (key === 'additionalProperties')
    return now === false ? 'additional fields are no longer accepted' : undefined;
  if (key === 'pattern' && action === 'add' && isMarked(merged, whole.slice(0, -1), 'x-always-enforced'))
    return undefined;
  if (['pattern', 'format', 'uniqueItems', 'enum', 'const'].includes(key))
    return action === 'remove' || now === false ? undefined : `${key} was added or changed`;
  if (key === 'default') return 'the default has changed';
  if (key.startsWith('x-')) return undefined;
  return `${action} ${key}`;
}

function changedResponse(diff, context) {
  const { action, path } = diff;
  const [, , , , status, part, name] = path;
  if (path.length === 5) {
    if (action === 'add') return Number(status) < 400 ? 'a success has a new status' : undefined;
    return `the status ${status} was removed`;
  }
  if (part === 'headers') {
    if (path.length === 6) return action === 'add' ? undefined : 'headers were removed';
    if (path.length === 7) return action === 'add' ? undefined : `the header ${name} was removed`;
    if (path[7] === 'required') return diff.after === true ? undefined : `the header ${name} is now optional`;
    return widened({ ...diff, path: path.slice(7) }, context, path);
  }
  if (part === 'content') {
    if (path.length <= 7) return action === 'add' ? undefined : 'the media type of the response was removed';
    return widened({ ...diff, path: path.slice(7) }, context, path);
  }
  return `${action} ${part}`;
}

/** Responses must keep within the previous limits, except for new fields, which clients ignore. */
function widened({ action, after: now, before: was, path }, { merged }, whole) {
  const key = keywordOf(path);
  const parent = path.at(-2);
  if (isMember(path)) return action === 'add' ? undefined : 'the field was removed';
  if (parent === 'required') return action === 'add' ? undefined : `the field ${was} is now optional`;
  if (key === 'required') return action === 'add' ? undefined : 'fields are now optional';
  if (parent === 'enum') {
    // Clients may handle specific values of an extensible enum, such as error codes, so existing values must remain.
    if (isMarked(merged, whole.slice(0, -2), 'x-extensible'))
      return action === 'add' ? undefined : `the value ${JSON.stringify(was)} was removed`;
    return action === 'remove' ? undefined : `the value ${JSON.stringify(now)} is new`;
  }
  if (['anyOf', 'oneOf'].includes(parent)) return action === 'remove' ? undefined : 'an alternative is new';
  if (key === 'type') return holds(was, now) ? undefined : 'the type has changed';
  if (upperLimits.has(key)) {
    const isLonger =
      action === 'replace' && key === 'maxItems' && isMarked(merged, whole.slice(0, -1), 'x-extensible');
    return action === 'add' || now <= was || isLonger ? undefined : 'the limit is higher';
  }
  if (lowerLimits.has(key)) return action === 'add' || now >= was ? undefined : 'the limit is lower';
  if (['pattern', 'format', 'uniqueItems', 'enum'].includes(key))
    return action === 'add' ? undefined : `${key} was removed or changed`;
  if (['additionalProperties', 'default', 'minContains', 'maxContains'].includes(key)) return undefined;
  if (key.startsWith('x-')) return undefined;
  return `${action} ${key}`;
}

/** Whether `wide` includes all types of `narrow`. */
function holds(wide, narrow) {
  const types = [wide].flat();
  return [narrow]
    .flat()
    .every((type) => types.includes(type) || (type === 'integer' && types.includes('number')));
}

/**
 * Whether the schema has a mark: `x-extensible` for an enum that can gain values, or a list that can grow with such an
 * enum; `x-always-enforced` for a pattern that was enforced before it was documented.
 */
function isMarked(merged, path, mark) {
  const schema = path.reduce((value, name) => value?.[name], merged);
  return schema?.[mark] === true;
}

const isMember = (path) => ['properties', 'patternProperties'].includes(path.at(-2));

/** The keyword at the end of a path, unless it is a field with the same name. */
const keywordOf = (path) => (isMember(path) ? '' : String(path.at(-1)));

function place([section, url, method, ...rest]) {
  if (section !== 'paths')
    return [section, url, method, ...rest].filter((part) => part !== undefined).join('.');
  return [`${String(method ?? '').toUpperCase()} ${url}`.trim(), ...rest].join(' › ');
}
