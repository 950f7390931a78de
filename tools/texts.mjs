/**
 * Checks the texts of the dashboard: every language has all keys with the same values and all plural forms, every key is
 * used, and no text is written elsewhere. Prints the problems. The exit code is 1 if there are any.
 *
 * node tools/texts.mjs [FOLDER]: src/dashboard by default
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const dashboard = fileURLToPath(new URL('../src/dashboard/', import.meta.url));
const folder = path.resolve(process.argv[2] ?? dashboard);
const { parse, TYPE } = createRequire(dashboard)('@formatjs/icu-messageformat-parser');

/** Attributes whose value people read or hear. */
const spoken = new Set([
  ...['about', 'alt', 'aria-label', 'change', 'closeButtonLabel', 'description', 'error'],
  ...['label', 'placeholder', 'title', 'what'],
]);
/** The same in every language. */
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
/** Samples of code. */
const samples = new Set(['pages/your-api/examples.ts']);

const problems = [];

/** English by keys, as in `ui.copy.copied`. */
let english;

/** The default export of a language's file. */
async function textsOf(language) {
  const source = fs.readFileSync(path.join(folder, `texts/${language}.ts`), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  });
  return (await import(`data:text/javascript,${encodeURIComponent(outputText)}`)).default;
}

/** Texts by their keys. */
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

/** A message's elements; none if it is not a message. */
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
      // The key `meters.label.${meter}` uses all that begin and end so.
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

/** The source files below a folder, but for the texts themselves. */
function sourcesIn(inner) {
  return fs.readdirSync(path.join(folder, inner), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(inner, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'texts'].includes(entry.name) ? [] : sourcesIn(file);
    return /\.tsx?$/.test(file) ? [file] : [];
  });
}

/** A template needs a key's first part at least. */
const isLike = (key, start, end) =>
  start.includes('.') && key.startsWith(start) && key.endsWith(end) && key.length > start.length + end.length;

function textOf(node) {
  if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) return node.text;
  return undefined;
}

/** Whether people read it: text in JSX, in an attribute that is read, or what looks like a sentence anywhere else. */
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

/** Messages of errors that are thrown are for developers. */
const isOfError = (node) =>
  (ts.isNewExpression(node) && node.expression.getText().endsWith('Error')) ||
  (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword);

/** Whether its value can be one of its operands. */
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

english = messagesOf(await textsOf('en'));
const others = fs
  .readdirSync(path.join(folder, 'texts'))
  .flatMap((file) => (/^[a-z]{2}\.ts$/.test(file) && file !== 'en.ts' ? [file.slice(0, 2)] : []));

checkPlurals('en', english);
for (const language of others) checkLanguage(language, messagesOf(await textsOf(language)));
checkSources();

for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;
