/**
 * The in-memory index over the documentation, for the built-in chat, `POST /search`, and `/docs/search`. MiniSearch
 * finds and weights single terms. This module ranks entries by how much of a query they cover. Contract section 8.
 */
import { LRUCache } from 'lru-cache';
import MiniSearch from 'minisearch';
import type { Entry } from './search-entries.ts';
import { isWeak, parseQuery, spaced, synonymsOf, termsOfWord, tokenize } from './search-terms.ts';

export type Hit<E> = {
  entry: E;
  /** How much of the query the entry covers, from 0 to 1. Rare words and headings count most. */
  score: number;
  /** The terms of the index that match the query. */
  found: ReadonlySet<string>;
};

type Meaning = {
  /** How relevant each entry is to the term, from 0 to 1, by entry. */
  strengths: ReadonlyMap<number, number>;
  /** The weight of the term in a query. */
  rarity: number;
  found: readonly string[];
};

/** Unknown terms of at least this length can match as prefixes. Shorter prefixes match too many words. */
const MIN_PREFIX_LENGTH = 3;
/** Unknown terms of at least this length can match with up to `MAX_TYPOS` misspelled letters. */
const MIN_MISSPELLED_LENGTH = 6;
const MAX_TYPOS = 2;
const KEPT_MEANINGS = 2000;
/** Indexing this many entries takes a few milliseconds. */
const ENTRIES_PER_STEP = 10;

const BOOSTS = { title: 8, words: 6, part: 1.5, text: 1 };
/** The relevance that gives a strength of 0.5. A term in a title has about three times this relevance. */
const HALF_RELEVANCE = 4;
const SYNONYM = 0.8;
/** The share of the weaker value that is added if an entry has both a term and its synonym. */
const SECOND = 0.2;
const GUESSED = 0.5;
const WEAK = 0.3;
/** Unknown words lower the score, but only up to this weight, so that long questions still find something. */
const MAX_UNKNOWN = 3;
const COVERAGE = 0.5;
/** Shares of the score that only a title can earn: for its terms in the query, and for neighboring words. */
const TITLE_TERMS = 0.05;
const TITLE_PAIRS = 0.15;
const ENOUGH_PAIRS = 2;
/** How many candidates beyond the limit have their titles compared. */
const CANDIDATES = 20;
/** Scales the score of a perfect match to about 1. */
const SCALE = 1.25;

/** Inverse document frequency, given the number of all entries and of those with the term. */
const inverseFrequency = (all: number, holders: number) =>
  Math.log(1 + (all - holders + 0.5) / (holders + 0.5));

type Options<E, A extends E> = {
  limit: number;
  /** Limits the kinds of entries. */
  accepts: (entry: E) => entry is A;
  /** If at least this many entries match every term, the others are left out. By default, none are left out. */
  enough?: number;
  /** Whether an unknown term can match as a prefix. For search fields, not for questions. */
  beginnings?: boolean;
};

export class SearchIndex<E extends Entry> {
  readonly #entries: readonly E[];
  readonly #titles: readonly { terms: ReadonlySet<string>; words: string }[];
  readonly #index: MiniSearch;
  readonly #known = new Set<string>();
  readonly #meanings = new LRUCache<string, Meaning>({ max: KEPT_MEANINGS });

  private constructor(entries: readonly E[]) {
    const terms = new Map<string, string[]>();
    const processTerm = (word: string): string[] => {
      const known = terms.get(word) ?? termsOfWord(word);
      if (!terms.has(word)) for (const term of known) this.#known.add(term);
      terms.set(word, known);
      return known;
    };
    this.#entries = entries;
    this.#titles = entries.map(({ title }) => ({
      terms: new Set(tokenize(title).flatMap(processTerm)),
      words: spaced(title),
    }));
    this.#index = new MiniSearch({
      fields: Object.keys(BOOSTS),
      tokenize,
      processTerm,
      searchOptions: {
        boost: BOOSTS,
        maxFuzzy: MAX_TYPOS,
        tokenize: (term) => [term],
        processTerm: (term) => term,
      },
    });
  }

  /** Builds the index in short steps, so that other requests can run in between. */
  static async of<E extends Entry>(entries: readonly E[]): Promise<SearchIndex<E>> {
    const index = new SearchIndex(entries);
    const documents = entries.map((entry, id) => ({ ...entry, id }));
    await index.#index.addAllAsync(documents, { chunkSize: ENTRIES_PER_STEP });
    return index;
  }

  /**
   * Returns the best entries for a query, best first, and the number of all matches. Uses only the first 10 distinct
   * terms of the first 1,000 characters.
   */
  search<A extends E>(query: string, options: Options<E, A>): { count: number; hits: Hit<A>[] } {
    const { accepts, beginnings = false, enough = Number.POSITIVE_INFINITY, limit } = options;
    const { pairs, terms } = parseQuery(query, (term) => this.#known.has(term));
    const meanings = terms.map((term) => this.#meaning(term, beginnings));
    const worth = new Float64Array(this.#entries.length);
    const covered = new Float64Array(this.#entries.length);
    const matched = new Uint8Array(this.#entries.length);
    let known = 0;
    let unknown = 0;
    for (const { rarity, strengths } of meanings) {
      if (strengths.size === 0) unknown += rarity;
      else known += rarity;
      for (const [id, strength] of strengths) {
        worth[id] = (worth[id] as number) + rarity * strength;
        covered[id] = (covered[id] as number) + rarity;
        matched[id] = (matched[id] as number) + 1;
      }
    }
    const total = known + Math.min(unknown, MAX_UNKNOWN);
    const some: { entry: A; id: number; cover: number }[] = [];
    for (const [id, entry] of this.#entries.entries()) {
      const share = (covered[id] as number) / total;
      if (!(share > 0) || !accepts(entry)) continue;
      const cover = entry.weight * ((worth[id] as number) / total) * (1 - COVERAGE + COVERAGE * share);
      some.push({ entry, id, cover });
    }
    const every = some.filter(({ id }) => matched[id] === terms.length);
    const candidates = every.length >= enough ? every : some;
    const found = new Set(meanings.flatMap((meaning) => meaning.found));
    const hits = candidates
      .sort((one, other) => other.cover - one.cover || one.id - other.id)
      .slice(0, limit + CANDIDATES)
      .map(({ cover, entry, id }) => ({
        entry,
        found,
        id,
        score: cover * this.#titleBonus(id, terms, pairs),
      }))
      .sort((one, other) => other.score - one.score || one.id - other.id)
      .slice(0, limit)
      .map(({ entry, score }) => ({
        entry,
        found,
        score: Math.min(1, Math.round(score * SCALE * 10_000) / 10_000),
      }));
    return { count: candidates.length, hits };
  }

  #titleBonus(id: number, terms: readonly string[], pairs: readonly string[]): number {
    const title = this.#titles[id];
    if (title === undefined) return 0;
    const share = terms.filter((term) => title.terms.has(term)).length / Math.max(1, title.terms.size);
    const shared = pairs.filter((pair) => title.words.includes(pair)).length;
    return (
      1 - TITLE_TERMS - TITLE_PAIRS + TITLE_TERMS * share + TITLE_PAIRS * Math.min(1, shared / ENOUGH_PAIRS)
    );
  }

  #meaning(term: string, beginnings: boolean): Meaning {
    const isKnown = this.#known.has(term);
    const name = beginnings && !isKnown ? `${term}*` : term;
    const kept = this.#meanings.get(name);
    if (kept !== undefined) return kept;
    const own = isKnown ? this.#lookup(term) : this.#guess(term, beginnings);
    const strengths = new Map(own.strengths);
    const found = [...own.found];
    for (const synonym of synonymsOf(term)) {
      if (!this.#known.has(synonym)) continue;
      const other = this.#lookup(synonym);
      found.push(...other.found);
      for (const [id, strength] of other.strengths) {
        const [one, two] = [strengths.get(id) ?? 0, SYNONYM * strength];
        strengths.set(id, Math.min(1, Math.max(one, two) + SECOND * Math.min(one, two)));
      }
    }
    const holders = own.strengths.size === 0 ? strengths.size : own.strengths.size;
    const rarity = Math.sqrt(inverseFrequency(this.#entries.length, holders)) * (isWeak(term) ? WEAK : 1);
    const meaning = { strengths, rarity, found };
    this.#meanings.set(name, meaning);
    return meaning;
  }

  #guess(term: string, beginnings: boolean) {
    const { found, strengths } = this.#lookup(term, {
      prefix: beginnings && term.length >= MIN_PREFIX_LENGTH,
      fuzzy: term.length >= MIN_MISSPELLED_LENGTH ? 0.2 : false,
    });
    return { found, strengths: new Map([...strengths].map(([id, strength]) => [id, GUESSED * strength])) };
  }

  #lookup(term: string, options: { prefix?: boolean; fuzzy?: number | false } = {}) {
    const results = this.#index.search(term, options);
    const frequency = inverseFrequency(this.#entries.length, results.length);
    const found = new Set<string>();
    const strengths = new Map<number, number>();
    for (const { id, match, score } of results) {
      for (const name of Object.keys(match)) found.add(name);
      const relevance = score / frequency;
      strengths.set(id as number, relevance / (relevance + HALF_RELEVANCE));
    }
    return { found, strengths };
  }
}
