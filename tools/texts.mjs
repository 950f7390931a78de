/**
 * Checks the dashboard's texts. Every language must have all keys with the same values and all plural forms, and a text
 * for each error that a session can get. Every key must be in use, and no text may be elsewhere. Prints the problems.
 * Exits with 1 if it finds any.
 *
 * node tools/texts.mjs [FOLDER [OPENAPI]]: src/dashboard and openapi.json by default; a FOLDER alone has no errors
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const dashboard = fileURLToPath(new URL('../src/dashboard/', import.meta.url));
const { parse, TYPE } = createRequire(dashboard)('@formatjs/icu-messageformat-parser');

/** Attributes whose values people read or hear. */
const spoken = new Set([
  ...['about', 'alt', 'aria-label', 'change', 'closeButtonLabel', 'description', 'error'],
  ...['label', 'placeholder', 'title', 'what'],
]);
/** Names that are the same in every language. */
const names = new Set([
  'Parley',
  'curl',
  'JavaScript',
  'Python',
  'TypeScript',
  'SDK',
  'TypeScript SDK',
  'OpenAI',
  'Anthropic',
]);
const ofKeys = 'only requests with an API key get it';
/** Errors that need no text, with the reason. */
const errorsWithoutText = {
  apiKeyExpired: ofKeys,
  apiKeyInQuery: ofKeys,
  apiKeyRevoked: ofKeys,
  bearerNotAccepted: ofKeys,
  insufficientScope: ofKeys,
  invalidApiKey: ofKeys,
  listingNotAllowed: ofKeys,
  originNotAllowed: ofKeys,
  unsupportedMediaType: 'the dashboard always sends JSON',
};
/** Errors for which English shows the API's default message although it contains code, with the reason. */
const errorsWithApiMessage = {
  rateLimitExceeded: 'the message names the limit, and when it ends',
};
/** Files with code samples. */
const samples = new Set(['pages/your-api/examples.ts']);

/** The folder to check, and the API description, if any. */
let folder, openapi;
let problems;
/** English texts by key, such as `ui.copy.copied`. */
let english;

/** The exports of a language's file. */
async function fileOf(language) {
  const source = fs.readFileSync(path.join(folder, `texts/${language}.ts`), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  });
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`);
}

/** Flattens nested texts to a map by key. */
function messagesOf(texts, above = '') {
  return new Map(
    Object.entries(texts).flatMap(([name, value]) =>
      typeof value === 'string' ? [[above + name, value]] : [...messagesOf(value, `${above}${name}.`)],
    ),
  );
}

function checkLanguage(language, messages) {
  for (const key of english.keys()) if (!messages.has(key)) problems.push(`${language}: "${key}" is missing`);
  for (const [key, message] of messages) {
    if (!english.has(key)) {
      problems.push(`${language}: "${key}" does not exist in English`);
      continue;
    }
    const [expected, found] = [valuesOf('en', key, english.get(key)), valuesOf(language, key, message)];
    for (const value of expected)
      if (!found.has(value)) problems.push(`${language}: "${key}" lacks ${value}`);
    for (const value of found)
      if (!expected.has(value))
        problems.push(`${language}: "${key}" has ${value}, which English does not have`);
  }
  checkPlurals(language, messages);
}

function* elementsOf(elements) {
  for (const element of elements) {
    yield element;
    if (element.children) yield* elementsOf(element.children);
    for (const { value } of Object.values(element.options ?? {})) yield* elementsOf(value);
  }
}

/** The elements of a message. Reports a problem and returns none if the message is invalid. */
function parsed(language, key, message) {
  try {
    return [...elementsOf(parse(message))];
  } catch (error) {
    problems.push(`${language}: "${key}" is not an ICU message: ${error.message}`);
    return [];
  }
}

function valuesOf(language, key, message) {
  return new Set(
    parsed(language, key, message).flatMap(({ type, value }) => {
      if (type === TYPE.literal || type === TYPE.pound) return [];
      return [type === TYPE.tag ? `<${value}>` : `{${value}}`];
    }),
  );
}

function checkPlurals(language, messages) {
  const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
  for (const [key, message] of messages)
    for (const { options, type } of parsed(language, key, message))
      if (type === TYPE.plural)
        for (const category of pluralCategories)
          if (!(category in options))
            problems.push(`${language}: "${key}" lacks the plural form "${category}"`);
}

/** The default messages, by code, of errors that operations for sessions or without credentials can return. */
function errorsOfSessions() {
  const { components, paths } = JSON.parse(fs.readFileSync(openapi, 'utf8'));
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const responses = operations
    .filter(({ security = [] }) => security.length === 0 || security.some(({ session }) => session))
    .flatMap((operation) => Object.entries(operation.responses ?? {}))
    .filter(([status]) => status >= '400')
    .map(([, response]) =>
      response.$ref ? components.responses[response.$ref.split('/').at(-1)] : response,
    );
  return new Map(
    responses.flatMap(({ description }) =>
      [...description.matchAll(/^- `(\w+)`: (.*)$/gm)].map(([, code, message]) => [code, message]),
    ),
  );
}

/** English shows the API's message, unless it contains code, which is for programs. */
function checkErrors(language, texts = {}) {
  const errors = errorsOfSessions();
  for (const [code, message] of errors) {
    if (code in texts || code in errorsWithoutText) continue;
    if (language === 'en' && (code in errorsWithApiMessage || !message.includes('`'))) continue;
    problems.push(`${language}: "${code}" has no text in apiErrors`);
  }
  for (const code of Object.keys(texts))
    if (!errors.has(code.split('.', 1)[0]))
      problems.push(`${language}: "${code}" in apiErrors is not an error of a session`);
}

function checkSources() {
  const used = new Set();
  const patterns = [];
  for (const file of sourcesIn('')) {
    const source = ts.createSourceFile(
      file,
      fs.readFileSync(path.join(folder, file), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    );
    const at = (node) => `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    const visit = (node) => {
      const text = textOf(node);
      if (text !== undefined && ts.isStringLiteralLike(node)) used.add(text);
      // The key `meters.label.${meter}` uses all keys with this beginning and end.
      if (ts.isTemplateExpression(node))
        patterns.push([node.head.text, node.templateSpans.at(-1).literal.text]);
      if (text !== undefined && !samples.has(file) && isWords(node, text))
        problems.push(`${at(node)}: "${text.trim()}" belongs in texts/`);
      if (isCallOfT(node) && !isInFunction(node))
        problems.push(`${at(node)}: "t" is called before the language is known`);
      if (!ts.isTypeNode(node) && !ts.isImportDeclaration(node)) ts.forEachChild(node, visit);
    };
    visit(source);
  }
  for (const key of english.keys())
    if (!used.has(key) && !patterns.some(([start, end]) => isLike(key, start, end)))
      problems.push(`en: "${key}" is not used`);
}

/** The source files below a folder, except for the texts. */
function sourcesIn(inner) {
  return fs.readdirSync(path.join(folder, inner), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(inner, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'texts'].includes(entry.name) ? [] : sourcesIn(file);
    return /\.tsx?$/.test(file) ? [file] : [];
  });
}

/** A template must contain at least the first part of a key. */
const isLike = (key, start, end) =>
  start.includes('.') && key.startsWith(start) && key.endsWith(end) && key.length > start.length + end.length;

function textOf(node) {
  if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) return node.text;
  return undefined;
}

/** Whether people read the text: text in JSX, in an attribute from `spoken`, or anything that looks like a sentence. */
function isWords(node, text) {
  if (!/\p{L}{2}/u.test(text) || /^https?:/.test(text) || names.has(text.trim())) return false;
  if (ts.isJsxText(node)) return true;
  let { parent } = node;
  while (isPart(parent)) parent = parent.parent;
  if (ts.isJsxExpression(parent)) parent = parent.parent;
  if (ts.isJsxAttribute(parent))
    return spoken.has(parent.name.getText()) || (parent.name.getText() === 'action' && /^\p{Lu}/u.test(text));
  if (ts.isJsxElement(parent) || ts.isJsxFragment(parent)) return true;
  return /^\p{Lu}[\p{L}’']*[ ,:]+\p{L}/u.test(text) && !isOfError(parent);
}

/** Messages of thrown errors are for developers. */
const isOfError = (node) =>
  (ts.isNewExpression(node) && node.expression.getText().endsWith('Error')) ||
  (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword);

/** Whether the node's value can be one of its operands. */
const isPart = (node) =>
  ts.isParenthesizedExpression(node) ||
  ts.isTemplateSpan(node) ||
  ts.isTemplateExpression(node) ||
  ts.isConditionalExpression(node) ||
  (ts.isBinaryExpression(node) && /^(&&|\|\||\?\?|\+)$/.test(node.operatorToken.getText()));

const isCallOfT = (node) => ts.isCallExpression(node) && /^t(\.rich)?$/.test(node.expression.getText());

function isInFunction(node) {
  for (let { parent } = node; parent; parent = parent.parent)
    if (ts.isFunctionLike(parent) || ts.isClassLike(parent)) return true;
  return false;
}

/** Returns the problems of the dashboard, or of a similar folder. Await each call before the next. */
export async function textProblems(
  inFolder = dashboard,
  inOpenapi = inFolder === dashboard ? path.join(dashboard, '../../openapi.json') : undefined,
) {
  [folder, openapi, problems, english] = [path.resolve(inFolder), inOpenapi, [], undefined];
  const others = fs
    .readdirSync(path.join(folder, 'texts'))
    .flatMap((file) => (/^[a-z]{2}\.ts$/.test(file) && file !== 'en.ts' ? [file.slice(0, 2)] : []));

  for (const language of ['en', ...others]) {
    const { apiErrors, default: texts } = await fileOf(language);
    const messages = messagesOf(texts);
    english ??= messages;
    if (language === 'en') checkPlurals(language, messages);
    else checkLanguage(language, messages);
    if (openapi !== undefined) checkErrors(language, apiErrors);
  }
  checkSources();
  return problems;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const found = await textProblems(...process.argv.slice(2));
  for (const problem of found) console.log(problem);
  if (found.length > 0) process.exitCode = 1;
}
