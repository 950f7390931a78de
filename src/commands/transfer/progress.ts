/** Shows the progress of a transfer: one line, rewritten on a terminal, otherwise printed every few seconds. */
const PAUSE_MS = 5000;

export class Progress {
  readonly #report: (line: string) => void;
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #start = performance.now();
  #lastAt = Number.NEGATIVE_INFINITY;
  #rows = 0;

  constructor(report: (line: string) => void) {
    this.#report = report;
  }

  get seconds(): number {
    return (performance.now() - this.#start) / 1000;
  }

  show(table: string, rows: number, total: number): void {
    this.#rows += rows;
    const now = performance.now();
    if (now - this.#lastAt < (this.#isTerminal ? 100 : PAUSE_MS)) return;
    this.#lastAt = now;
    const share = total === 0 ? 100 : Math.floor((100 * this.#rows) / total);
    const line = `${share}%  ${this.#rows} of ${total} rows  ${table}  ${Math.round(this.seconds)} s`;
    if (this.#isTerminal) process.stderr.write(`\r\x1b[K${line}`);
    else this.#report(line);
  }

  end(): void {
    if (this.#isTerminal) process.stderr.write('\r\x1b[K');
  }
}
