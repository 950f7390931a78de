/** The tables of `make bench`. */
import { table } from '../support/report.ts';
import { DEADLINES_MS } from './capacity.ts';
import type { Measured } from './measure.ts';
import type { Row } from './rows.ts';

/** A target's measurements in one row, one per round. */
export type Outcome = { name: string; title: string; rounds: Measured[] };
export type RowOutcome = { row: Row; outcomes: Outcome[] };

export type Middle = { median: number; min: number; max: number };

export const middle = ({ rounds }: Outcome, of: Exclude<keyof Measured, 'capacity'>): Middle =>
  middleOf(rounds.map((round) => round[of]));

function middleOf(measured: number[]): Middle {
  const values = measured.toSorted((a, b) => a - b);
  const half = Math.floor(values.length / 2);
  const [low, high] = [values[values.length % 2 === 0 ? half - 1 : half], values[half]];
  return {
    median: ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2,
    min: values[0] ?? Number.NaN,
    max: values.at(-1) ?? Number.NaN,
  };
}

const whole = (value: number) => Math.round(value).toLocaleString('en');
const ratio = (value: number) => value.toFixed(2);
const milliseconds = (value: number) => value.toFixed(value < 10 ? 2 : 1);
const spread = ({ max, median, min }: Middle, format: (value: number) => string) =>
  `${format(median)} (${format(min)}–${format(max)})`;

const head = [
  '',
  'CPU µs/request',
  'of which Postgres',
  '× baseline',
  'requests/s',
  'p50 ms',
  'p99 ms',
  '1 connection: p50 ms',
  'added ms',
];

/**
 * Compares two targets round by round. A round measures both within seconds, so a change in the machine's speed affects both.
 */
const compared = (
  outcome: Outcome,
  limit: Outcome,
  of: Exclude<keyof Measured, 'capacity'>,
  compare: (value: number, ofLimit: number) => number,
): Middle =>
  middleOf(
    outcome.rounds.flatMap((round, at) =>
      limit.rounds[at] ? [compare(round[of], limit.rounds[at][of])] : [],
    ),
  );

/** Builds the Markdown table of a row: the median of the rounds, with the minimum and maximum. */
export function rowTable({ outcomes, row }: RowOutcome): string {
  const limit = outcomes.find(({ name }) => name === row.limit);
  // For streams, the time to the first byte matters, not the time to the end.
  const single = row.ending === undefined ? 'single' : 'singleFirstByte';
  const lines = outcomes.map((outcome) => {
    const isLimit = outcome === limit;
    const times = (value: number, ofLimit: number) => value / ofLimit;
    const more = (value: number, ofLimit: number) => value - ofLimit;
    return [
      outcome.title,
      spread(middle(outcome, 'cpu'), whole),
      whole(middle(outcome, 'postgresCpu').median),
      isLimit || limit === undefined ? '' : spread(compared(outcome, limit, 'cpu', times), ratio),
      spread(middle(outcome, 'perSecond'), whole),
      spread(middle(outcome, 'p50'), milliseconds),
      spread(middle(outcome, 'p99'), milliseconds),
      spread(middle(outcome, single), milliseconds),
      isLimit || limit === undefined ? '' : milliseconds(compared(outcome, limit, single, more).median),
    ];
  });
  const title = `## ${row.name}: ${row.title}`;
  const note =
    row.ending === undefined ? '' : '\n\nAt one connection: the time to the first byte of the stream.';
  const aim = row.aim === undefined ? '' : `\n\nGoal: ${row.aim}.`;
  return `${title}${aim}${note}\n\n${table(head, lines)}${capacityTable({ outcomes, row })}`;
}

/** Empty if no capacity was measured. */
function capacityTable({ outcomes, row }: RowOutcome): string {
  const found = outcomes.filter(({ rounds }) => rounds.some(({ capacity }) => capacity.length > 0));
  if (found.length === 0) return '';
  const at = ({ rounds }: Outcome, index: number) =>
    middleOf(rounds.flatMap(({ capacity }) => capacity[index] ?? []));
  const limit = found.find(({ name }) => name === row.limit);
  const share = (outcome: Outcome, index: number) =>
    limit === undefined || outcome === limit
      ? ''
      : `${((100 * at(outcome, index).median) / at(limit, index).median).toFixed(0)}%`;
  const lines = found.map((outcome) => [
    outcome.title,
    ...DEADLINES_MS.flatMap((_, index) => [spread(at(outcome, index), whole), share(outcome, index)]),
  ]);
  const columns = DEADLINES_MS.flatMap((deadline) => [
    `requests/s at a p99 of at most ${deadline} ms`,
    'of the baseline',
  ]);
  return `\n\n${table(['', ...columns], lines)}`;
}
