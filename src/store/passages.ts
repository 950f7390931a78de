/** The guides' sections in the database, and full-text search over them. Contract section 8. */
import { createHash } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { type Db, rowsOf } from '../database/client.ts';
import { passages, settings } from '../database/tables.ts';
import { MARK, snippetOf } from './passage-snippet.ts';
import { asTheGuidesSpell, neighbours, stopWords, synonyms } from './passage-synonyms.ts';

export type GuideText = {
  slug: string;
  title: string;
  sections: readonly { heading: string; anchor: string; text: string }[];
};

export type PassageHit = {
  guide: string;
  title: string;
  heading: string;
  anchor: string;
  snippet: string;
  /** 0 to 1: how much of the query the passage covers. Rare words and headings count most. */
  score: number;
};

/** Anything beyond these limits is ignored, to bound the work. */
const QUERY_LENGTH = 1000;
const QUERY_WORDS = 10;

const CANDIDATES = 20;

const DIGEST = 'passages_digest';

async function storedDigest(db: Db): Promise<string | undefined> {
  const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.name, DIGEST));
  return row?.value;
}

/** Returns whether anything changed. Safe to run in several processes at once. */
export async function loadPassages(db: Db, guides: readonly GuideText[]): Promise<boolean> {
  const rows = guides.flatMap(({ slug, title, sections }) =>
    sections.map(({ heading, anchor, text }, position) => ({
      guide: slug,
      position,
      title,
      heading,
      anchor,
      body: text,
    })),
  );
  const digest = createHash('sha256').update(JSON.stringify(rows)).digest('hex');
  if ((await storedDigest(db)) === digest) return false;
  return db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtext('parley.passages'))`);
    // Another process may have done it meanwhile.
    if ((await storedDigest(tx)) === digest) return false;
    await tx.delete(passages);
    if (rows.length > 0) await tx.insert(passages).values(rows);
    await tx
      .insert(settings)
      .values({ name: DIGEST, value: digest })
      .onConflictDoUpdate({ target: settings.name, set: { value: digest } });
    return true;
  });
}

/**
 * Every word counts separately, because a passage rarely contains all words of a question. `to_tsvector` takes text
 * literally, and its quoted lexemes make the queries: client input is never parsed as a query.
 */
export async function searchPassages(db: Db, query: string, limit: number): Promise<PassageHit[]> {
  const words = asTheGuidesSpell(query.slice(0, QUERY_LENGTH));
  const pairs = neighbours(words).slice(0, QUERY_WORDS);
  const rows = await rowsOf<PassageHit>(
    db,
    sql`
      with asked as (
        select lexeme from unnest(to_tsvector('english', ${words}::text))
        order by positions[1], lexeme
        limit ${QUERY_WORDS}::int
      ), synonyms as (
        select family, (ts_lexize('english_stem', word))[1] as stem
        from json_to_recordset(${JSON.stringify(synonyms)}::json) as r (family int, word text)
      ), stop_words as (
        select (ts_lexize('english_stem', word))[1] as stem
        from json_array_elements_text(${JSON.stringify(stopWords)}::json) as r (word)
      ), meant as (
        select lexeme, lexeme as found_as, 1.0 as weight from asked
        union
        select s.stem, o.stem, 0.8
        from asked join synonyms s on s.stem = lexeme join synonyms o using (family)
        where o.stem <> s.stem
      ), terms as (
        select lexeme, weight,
          ('''' || replace(replace(found_as, '\\', '\\\\'), '''', '''''') || '''')::tsquery as term
        from meant
      ), weighed as (
        select lexeme, any_term, holders > 0 as is_known,
          sqrt(ln(1 + (total - holders + 0.5) / (holders + 0.5)))::float8
            * case when lexeme in (select stem from stop_words) then 0.3 else 1 end as rarity
        from (
            select lexeme, string_agg(term::text, ' | ')::tsquery as any_term from terms group by lexeme
          ) as words,
          lateral (select count(*) as holders from passages where search @@ any_term) as h,
          (select count(*) as total from passages) as t
      ), found as (
        -- A term's rank is at most pi^2/6 of its weight, however often it occurs: bring one in a heading to 1.
        select p.guide, p.position, lexeme, rarity,
          least(1, ts_rank('{0.1, 0.3, 0.4, 1.0}', p.search, term) * 1.645) * weight as rank
        from weighed join terms using (lexeme) join passages p on p.search @@ term
      ), matched as (
        select guide, position, rarity,
          rarity * least(1, max(rank) + 0.2 * (sum(rank) - max(rank))) as worth
        from found
        group by guide, position, lexeme, rarity
      ), asked_in_all as (
        -- Words that no guide knows make a question foreign, but a talkative one is not to drown in them.
        select sum(rarity) filter (where is_known)
          + least(coalesce(sum(rarity) filter (where not is_known), 0), 3) as total
        from weighed
      ), covered as (
        -- What the heading adds below is less than a third: the best by their words hold the best of all.
        select guide, position,
          round((sum(worth) / total * (0.5 + 0.5 * sum(rarity) / total))::numeric, 6) as cover
        from matched, asked_in_all
        group by guide, position, total
        order by cover desc, guide collate "C", position
        limit ${limit + CANDIDATES}::int
      ), ranked as (
        -- Rounded, so that sums in another order make no other order of results.
        select p.*,
          round(cover * (0.77 + 0.15 * stems.share + 0.08 * least(1, shared / 2.0))::numeric, 4)::float8 as score
        from covered join passages p using (guide, position),
          -- How much of the heading was asked for, and how many neighbouring words of the question it has.
          lateral (
            select coalesce(avg((lexeme in (select lexeme from asked))::int), 0)::float8 as share
            from unnest(to_tsvector('english', p.heading))
          ) as stems,
          lateral (
            select ' ' || regexp_replace(lower(p.heading), '[^[:alnum:]]+', ' ', 'g') || ' ' as words
          ) as heading,
          lateral (
            select count(*) as shared
            from json_array_elements_text(${JSON.stringify(pairs)}::json) as pair
            where position(' ' || pair || ' ' in heading.words) > 0
          ) as pairs
        order by score desc, p.guide collate "C", p.position
        limit ${limit}::int
      )
      select guide, title, heading, anchor, score,
        ts_headline('english', body, (select string_agg(any_term::text, ' | ')::tsquery from weighed),
          ${`HighlightAll=true, StartSel=${MARK.start}, StopSel=${MARK.stop}`}) as snippet
      from ranked
      order by score desc, guide collate "C", position`,
  );
  return rows.map((row) => ({ ...row, snippet: snippetOf(row.snippet) }));
}
