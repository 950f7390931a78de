/** The alert rules and the dashboard: their expressions parse, and `/metrics` has every metric and label they name. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parser } from '@prometheus-io/lezer-promql';
import t from 'tap';
import { parse } from 'yaml';
import { generateApiKey } from '../../src/domain/api-key.ts';
import { startTestService } from '../support/service.ts';
import { MODEL, startUpstream } from '../support/upstream/client.ts';
import { eventually } from '../support/upstream/engine.ts';
import { anyTarget, arrives, setWebhook, startReceiver } from '../support/webhook-receiver.ts';

type Rule = { alert: string; expr: string; for?: string; annotations: { summary: string; action: string } };
type Panel = { title: string; targets: { expr: string }[] };

const fileOf = (name: string) => fileURLToPath(new URL(`../../docs/operation/${name}`, import.meta.url));
const read = (name: string) => readFileSync(fileOf(name), 'utf8');

const { groups } = parse(read('alerts.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(read('dashboard.json')) as { panels: Panel[] };
const expressions = [
  ...rules.map(({ alert, expr }) => ({ place: alert, expr })),
  ...panels.flatMap(({ targets, title }) => targets.map(({ expr }) => ({ place: title, expr }))),
].map(({ expr, place }) => ({
  place,
  expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'parley'),
}));

type Selector = { metric: string; matchers: [label: string, operator: string, value: string][] };

/** The selectors of an expression, and the labels by which it groups. Throws if it does not parse. */
function namesIn(expr: string): { selectors: Selector[]; grouping: string[] } {
  const selectors: Selector[] = [];
  const grouping: string[] = [];
  const textOf = ({ from, to }: { from: number; to: number }) => expr.slice(from, to);
  parser.parse(expr).iterate({
    enter({ from, name, node, to, type }) {
      if (type.isError) throw new Error(`${expr}: syntax error at ${from}`);
      if (name === 'VectorSelector') {
        const metric = node.getChild('Identifier');
        const matchers = node
          .getChild('LabelMatchers')
          ?.getChildren('UnquotedLabelMatcher')
          .map((matcher) => {
            const [, label = '', operator = '', value = ''] =
              /^(\w+)(=~|!~|!=|=)"(.*)"$/.exec(textOf(matcher)) ?? [];
            return [label, operator, value] as [string, string, string];
          });
        selectors.push({ metric: metric === null ? '' : textOf(metric), matchers: matchers ?? [] });
      }
      if (name === 'GroupingLabels') grouping.push(...(expr.slice(from, to).match(/\w+/g) ?? []));
    },
  });
  return { selectors, grouping };
}

/** Labels that Prometheus adds to every series. */
const ofPrometheus = new Set(['job', 'instance']);

/**
 * Scrapes a service that has handled each kind of request.
 *
 * @returns the values of each label, by label, by metric
 */
async function scrape(): Promise<Map<string, Map<string, Set<string>>>> {
  const upstream = await startUpstream();
  t.teardown(() => upstream.stop());
  const env = { CHAT_URL: upstream.url, CHAT_MODEL: MODEL, ...anyTarget };
  const { client } = await startTestService(t, 'postgres', env);
  const owner = await client.signUp();
  const receiver = await startReceiver(t);
  await setWebhook(client, owner.cookie, receiver.url);
  const { key } = await client.createKey(owner);
  await arrives(receiver, 'key.created');
  const chat = { model: MODEL, messages: [{ role: 'user', content: 'Hello.' }] };
  for (const stream of [false, true]) await client.post('/chat/completions', { ...chat, stream }, { key });
  await client.get('/usage', { key: generateApiKey().rawKey });
  await upstream.configure({ fault: 'status', status: 500 });
  await client.post('/chat/completions', chat, { key });
  let text = '';
  await eventually('the key cache is hit, and the webhook message is delivered', async () => {
    await client.get('/usage', { key });
    ({ text } = await client.get('//metrics'));
    return text.includes('result="cached"') && text.includes('outcome="delivered"');
  });
  const metrics = new Map<string, Map<string, Set<string>>>();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    const series = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];
    for (const one of series) metrics.set(one, new Map());
  }
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} \S+$/gm))
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      const known = metrics.get(name);
      known?.set(label, (known.get(label) ?? new Set()).add(value));
    }
  return metrics;
}

t.test('/metrics has every metric and label that alerts and panels use', async (t) => {
  const metrics = await scrape();
  t.ok(rules.length > 12 && panels.length > 12);
  for (const { expr, place } of expressions) {
    const { grouping, selectors } = namesIn(expr);
    t.ok(selectors.length > 0, place);
    for (const { matchers, metric } of selectors) {
      if (metric === 'up') continue;
      const labels = metrics.get(metric);
      t.ok(labels, `${place}: ${metric} exists`);
      for (const label of [...grouping, ...matchers.map(([name]) => name)])
        t.ok(ofPrometheus.has(label) || labels?.has(label), `${place}: ${metric} has the label ${label}`);
      for (const [label, operator, value] of matchers)
        if (operator === '=' && ['step', 'result', 'pool', 'kind'].includes(label))
          t.ok(labels?.get(label)?.has(value), `${place}: ${label} can be ${value}`);
    }
  }
});

t.test(
  'every alert has a unique name, a summary, and an action, and every panel has a unique title',
  async (t) => {
    t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    for (const { alert, annotations } of rules) {
      t.match(alert, /^Parley[A-Z]/);
      t.match(annotations.summary, /\.$/, alert);
      t.match(annotations.action, /\.$/, alert);
    }
    t.equal(new Set(panels.map(({ title }) => title)).size, panels.length);
  },
);

t.test('an invalid expression does not parse', async (t) => {
  t.throws(() => namesIn('sum by (job) (rate(parley_errors_total[5m])'));
  t.throws(() => namesIn('up == 0 +'));
});
