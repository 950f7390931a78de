import type { Spread } from './load.ts';

/** An unbounded list of numbers, stored compactly. */
export class Samples {
  #values = new Float64Array(4096);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count] = value;
    this.#count += 1;
  }

  spread(): Spread {
    const sorted = this.#values.slice(0, this.#count).sort();
    const at = (share: number) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0;
    return { p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}
