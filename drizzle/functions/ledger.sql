-- Revision 19. Raise it with every change: a database keeps the highest (src/database/functions.ts).
--
-- The ledger's batch protocol: admission, settlement and sweep. Contract sections 5 and 10, argued in
-- docs/decisions/0010-the-ledgers-protocol.md.
--
-- Each function is one round trip and one transaction. Its statements run in sequence, each with its own snapshot, so
-- checks read their data under the lock. Lock order everywhere: existing charges, then counters by account, meter and
-- day, then new charges by account and id, then key totals, then costs, then idempotency keys by account, owner and
-- key.

-- Fails an admission whose process has no live lease: the process must renew it and retry. The lock lasts until the
-- admission commits. A sweep then skips the lease instead of missing a charge that it cannot see yet. Renewal does not
-- wait for this lock.
CREATE OR REPLACE FUNCTION ledger_require_lease(holder uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM leases l WHERE l.process = holder AND l.expires_at > ledger_now() FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the process has no lease' USING ERRCODE = 'PL001';
  END IF;
END $$;
--> statement-breakpoint
-- Claims an idempotency key for a charge. Returns null on success, otherwise the obstacle:
--   'mismatch' (another request has the key), 'running', 'replay' (the answer is stored),
--   'resume' (the charge is final, but our side lost the answer: it runs again under the same charge),
--   'exhausted' (the same, but it was already resumed twice).
CREATE OR REPLACE FUNCTION ledger_claim(charge jsonb, holder uuid, today date, now_at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  found idempotency_keys%ROWTYPE;
  charged text;
BEGIN
  INSERT INTO idempotency_keys (account_id, owner, key, fingerprint, request_id, day, process, created_at)
  VALUES ((charge ->> 'account_id')::uuid, (charge ->> 'owner')::uuid, charge ->> 'idempotency_key', charge ->> 'fingerprint',
          (charge ->> 'id')::uuid, today, holder, now_at)
  ON CONFLICT (account_id, owner, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, request_id = excluded.request_id, day = excluded.day, process = excluded.process,
        created_at = excluded.created_at, status = NULL, body = NULL, resumed_by = NULL, resumes = 0
    WHERE idempotency_keys.created_at <= now_at - interval '24 hours';
  IF FOUND THEN RETURN NULL; END IF;

  SELECT * INTO found FROM idempotency_keys i
  WHERE i.account_id = (charge ->> 'account_id')::uuid AND i.owner = (charge ->> 'owner')::uuid AND i.key = charge ->> 'idempotency_key'
  FOR UPDATE;
  -- A retried admission whose answer was lost finds its own claim.
  IF found.request_id = (charge ->> 'id')::uuid THEN RETURN NULL; END IF;
  IF found.fingerprint <> charge ->> 'fingerprint' THEN RETURN 'mismatch'; END IF;
  IF found.status IS NOT NULL THEN RETURN 'replay'; END IF;
  IF found.resumed_by = (charge ->> 'id')::uuid THEN RETURN 'resume'; END IF;
  IF EXISTS (SELECT FROM leases l WHERE l.process = found.process AND l.expires_at > now_at) THEN RETURN 'running'; END IF;

  SELECT r.state INTO charged FROM requests r
  WHERE r.account_id = found.account_id AND r.day = found.day AND r.id = found.request_id;
  -- Its process is gone, or slow and about to settle. The sweep decides, and frees the key with the charge.
  IF charged = 'admitted' THEN RETURN 'running'; END IF;
  IF charged = 'final' THEN
    IF found.resumes >= 2 THEN RETURN 'exhausted'; END IF;
    UPDATE idempotency_keys i SET process = holder, resumed_by = (charge ->> 'id')::uuid, resumes = i.resumes + 1
    WHERE i.account_id = found.account_id AND i.owner = found.owner AND i.key = found.key;
    RETURN 'resume';
  END IF;
  UPDATE idempotency_keys i
  SET request_id = (charge ->> 'id')::uuid, day = today, process = holder, created_at = now_at, resumes = 0
  WHERE i.account_id = found.account_id AND i.owner = found.owner AND i.key = found.key;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Releases the claim of an attempt to resume a charge. It called no engine, so it does not count.
CREATE OR REPLACE FUNCTION ledger_release_claim(charge jsonb) RETURNS void LANGUAGE sql AS $$
  UPDATE idempotency_keys i
  SET process = '00000000-0000-0000-0000-000000000000', resumed_by = NULL, resumes = greatest(i.resumes - 1, 0)
  WHERE i.account_id = (charge ->> 'account_id')::uuid AND i.resumed_by = (charge ->> 'id')::uuid
$$;
--> statement-breakpoint
-- Reserves tokens for the attempt to resume a charge, which has used or lost its own. Returns false, and releases the
-- claim, if they do not fit under the ceiling. The charge and its day's counter are locked.
CREATE OR REPLACE FUNCTION ledger_reserve_again(charge jsonb, ceilings jsonb, standard text, holder uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  needed int := (charge ->> 'tokens')::int;
  resumed requests%ROWTYPE;
  ceiling bigint;
  reserved_before int := 0;
  assumed_before int := 0;
  taken bigint;
BEGIN
  SELECT r.* INTO resumed FROM idempotency_keys i
  JOIN requests r ON r.account_id = i.account_id AND r.day = i.day AND r.id = i.request_id
  WHERE i.account_id = (charge ->> 'account_id')::uuid AND i.resumed_by = (charge ->> 'id')::uuid;
  SELECT (ceilings -> CASE WHEN ceilings ? a.plan THEN a.plan ELSE standard END ->> 'tokens')::bigint INTO ceiling
  FROM accounts a WHERE a.id = resumed.account_id;
  IF resumed.tokens_assumed THEN assumed_before := coalesce(resumed.reserved_tokens, 0);
  ELSE reserved_before := coalesce(resumed.reserved_tokens, 0);
  END IF;

  IF ceiling IS NULL THEN needed := 0;
  ELSIF needed > reserved_before + assumed_before THEN
    SELECT coalesce(sum(u.used + u.reserved), 0) INTO taken FROM usage_counters u
    WHERE u.account_id = resumed.account_id AND u.day = resumed.day AND u.meter = 'tokens';
    IF taken - reserved_before - assumed_before + needed > ceiling THEN
      PERFORM ledger_release_claim(charge);
      RETURN false;
    END IF;
  END IF;

  UPDATE requests r SET process = holder, reserved_tokens = nullif(needed, 0), released_tokens = NULL, tokens_assumed = NULL
  WHERE r.account_id = resumed.account_id AND r.day = resumed.day AND r.id = resumed.id;
  UPDATE usage_counters u SET used = u.used - assumed_before, reserved = u.reserved + needed - reserved_before
  WHERE u.account_id = resumed.account_id AND u.day = resumed.day AND u.meter = 'tokens';
  RETURN true;
END $$;
--> statement-breakpoint
-- Admits charges in the given order, each fully or not at all, and never past a ceiling of the plan read here: that of
-- the charge's meter, and that of tokens.
--
-- charges:  [{ id, account_id, key_id, endpoint, meter, units, model?, tokens?, owner?, idempotency_key?, fingerprint? }];
--           `tokens` is the most that the request can use, which is reserved if the plan has a ceiling of tokens
-- counters: [{ account_id, meter, held?, held_day? }], each counter of the charges once, that of tokens included;
--           `held` are units that the process's requests in flight need besides on that day, and which these charges
--           must leave over
-- ceilings: { plan: { meter: ceiling or null, tokens?: ceiling or null } }
-- standard: the plan for accounts whose plan is not in `ceilings`
-- holder:   the process whose lease guards the charges
-- repeated: whether the same charges were sent before without an answer; existing ones are found again
--
-- Returns a row per charge of a living account. `outcome` is 'admitted', 'refused', 'unreserved' (a charge to resume
-- whose tokens do not fit), or a result of ledger_claim. The tokens' columns are null if the plan has no ceiling of
-- them; `tokens_used` includes what is reserved.
CREATE OR REPLACE FUNCTION ledger_admit_reserving(charges jsonb, counters jsonb, ceilings jsonb, standard text, holder uuid, repeated boolean, lock_timeout_ms int)
RETURNS TABLE (id uuid, outcome text, day date, used bigint, ceiling bigint, read_at timestamptz, tokens_used bigint, tokens_ceiling bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  now_at timestamptz;
  today date;
  first_day date;
  present int;
  has_keys boolean := charges @? '$[*].idempotency_key';
  resumes_earlier boolean := false;
  resumable uuid[] := '{}';
  charge jsonb;
  obstacle text;
  obstacles jsonb := '{}';
  standing uuid[] := '{}';
BEGIN
  PERFORM set_config('lock_timeout', lock_timeout_ms::text, true);
  PERFORM ledger_require_lease(holder);

  -- Charges that may be resumed, whose tokens are reserved again. Existing charges are locked before counters.
  IF has_keys AND charges @? '$[*] ? (exists(@.idempotency_key) && exists(@.tokens))' THEN
    SELECT coalesce(bool_or(l.day < ledger_day(ledger_now())), false), coalesce(array_agg(l.id), '{}') INTO resumes_earlier, resumable
    FROM (
      SELECT r.day, r.id FROM jsonb_to_recordset(charges) AS c (id uuid, account_id uuid, owner uuid, idempotency_key text, tokens int)
      JOIN idempotency_keys i ON i.account_id = c.account_id AND i.owner = c.owner AND i.key = c.idempotency_key
      JOIN requests r ON r.account_id = i.account_id AND r.day = i.day AND r.id = i.request_id
      WHERE c.tokens IS NOT NULL AND i.status IS NULL AND i.request_id <> c.id AND r.state = 'final'
        AND r.day BETWEEN ledger_day(ledger_now()) - 1 AND ledger_day(ledger_now())
      ORDER BY r.account_id, r.id
      FOR UPDATE OF r
    ) l;
  END IF;

  -- A wait for a lock can pass midnight. The day is read under the locks, so the charges then count on the new day.
  LOOP
    now_at := ledger_now();
    today := ledger_day(now_at);
    -- The caller may have retried a slow statement before midnight; its charges are then on the day before.
    repeated := repeated OR now_at < today::timestamp AT TIME ZONE 'UTC' + interval '2 minutes';
    first_day := CASE WHEN repeated OR resumes_earlier THEN today - 1 ELSE today END;
    SELECT count(*) INTO present FROM usage_counters u
    JOIN jsonb_to_recordset(counters) AS c (account_id uuid, meter text) ON u.account_id = c.account_id AND u.meter = c.meter
    WHERE u.day BETWEEN first_day AND today;
    IF present < jsonb_array_length(counters) * (today - first_day + 1) THEN
      INSERT INTO usage_counters (account_id, day, meter, used)
      -- Dates, because intervals would follow the session's time zone.
      SELECT c.account_id, first_day + n, c.meter, 0
      FROM jsonb_to_recordset(counters) AS c (account_id uuid, meter text)
      CROSS JOIN generate_series(0, today - first_day) AS n
      JOIN accounts a ON a.id = c.account_id AND a.deleted_at IS NULL
      WHERE NOT EXISTS (SELECT FROM usage_counters u WHERE u.account_id = c.account_id AND u.day = first_day + n AND u.meter = c.meter)
      ORDER BY 1, 3, 2
      ON CONFLICT DO NOTHING;
    END IF;

    PERFORM FROM usage_counters u
    JOIN jsonb_to_recordset(counters) AS c (account_id uuid, meter text) ON u.account_id = c.account_id AND u.meter = c.meter
    WHERE u.day BETWEEN first_day AND today
    ORDER BY u.account_id, u.meter, u.day
    FOR UPDATE OF u;

    EXIT WHEN ledger_day(ledger_now()) = today;
  END LOOP;

  IF repeated THEN
    -- With both days locked, no earlier send can still be in flight.
    SELECT coalesce(array_agg(r.id), '{}') INTO standing
    FROM jsonb_to_recordset(charges) AS c (account_id uuid, id uuid)
    JOIN requests r ON r.account_id = c.account_id AND r.day IN (today - 1, today) AND r.id = c.id;
  END IF;

  IF has_keys THEN
    FOR charge IN
      SELECT c.value FROM jsonb_array_elements(charges) WITH ORDINALITY AS c (value, position)
      JOIN accounts a ON a.id = (c.value ->> 'account_id')::uuid AND a.deleted_at IS NULL
      WHERE c.value ? 'idempotency_key'
      ORDER BY a.id, (c.value ->> 'owner')::uuid, c.value ->> 'idempotency_key', c.position
    LOOP
      obstacle := ledger_claim(charge, holder, today, now_at);
      IF obstacle = 'resume' AND charge ? 'tokens' THEN
        IF NOT EXISTS (
          SELECT FROM idempotency_keys i
          WHERE i.account_id = (charge ->> 'account_id')::uuid AND i.resumed_by = (charge ->> 'id')::uuid AND i.request_id = ANY (resumable)
        ) THEN
          -- It became final after the locks were taken, so neither it nor its counter is locked. The next retry can resume it.
          PERFORM ledger_release_claim(charge);
          obstacle := 'running';
        ELSIF NOT ledger_reserve_again(charge, ceilings, standard, holder) THEN
          obstacle := 'unreserved';
        END IF;
      END IF;
      IF obstacle IS NOT NULL THEN obstacles := obstacles || jsonb_build_object(charge ->> 'id', obstacle); END IF;
    END LOOP;
  END IF;

  RETURN QUERY
  WITH asked AS (
    SELECT c.*
    FROM ROWS FROM (
      jsonb_to_recordset(charges) AS (id uuid, account_id uuid, key_id uuid, endpoint text, meter text, units int, tokens int, model text)
    ) WITH ORDINALITY AS c (id, account_id, key_id, endpoint, meter, units, tokens, model, ordinality)
  ), limited AS (
    -- Not a join, for which a plan could read the counters of all accounts.
    SELECT asked.*, (ceilings -> p.plan ->> asked.meter)::bigint AS ceiling, k.tokens_ceiling,
           CASE WHEN k.tokens_ceiling IS NOT NULL THEN (
             SELECT t.used + t.reserved FROM usage_counters t
             WHERE t.account_id = asked.account_id AND t.day = today AND t.meter = 'tokens') END AS tokens_before
    FROM asked
    JOIN accounts a ON a.id = asked.account_id AND a.deleted_at IS NULL
    CROSS JOIN LATERAL (SELECT CASE WHEN ceilings ? a.plan THEN a.plan ELSE standard END AS plan) p
    CROSS JOIN LATERAL (SELECT CASE WHEN asked.tokens IS NOT NULL THEN (ceilings -> p.plan ->> 'tokens')::bigint END AS tokens_ceiling) k
  ), judged AS (
    SELECT l.*, u.used AS before, CASE WHEN c.held_day = today THEN c.held ELSE 0 END AS held,
           CASE WHEN l.tokens_ceiling IS NOT NULL THEN l.tokens END AS reserved,
           sum(l.units) OVER (PARTITION BY l.account_id, l.meter ORDER BY l.ordinality) AS running,
           sum(l.tokens) OVER (PARTITION BY l.account_id ORDER BY l.ordinality) AS tokens_running
    FROM limited l
    JOIN usage_counters u ON u.account_id = l.account_id AND u.day = today AND u.meter = l.meter
    JOIN jsonb_to_recordset(counters) AS c (account_id uuid, meter text, held bigint, held_day date)
      ON c.account_id = l.account_id AND c.meter = l.meter
    WHERE NOT obstacles ? l.id::text AND NOT l.id = ANY (standing)
  ), decided AS (
    SELECT judged.*, (judged.ceiling IS NULL OR judged.before + judged.held + judged.running <= judged.ceiling)
      AND (judged.tokens_ceiling IS NULL OR judged.tokens_before + judged.tokens_running <= judged.tokens_ceiling) AS fits
    FROM judged
  ), totals AS (
    SELECT d.account_id, d.meter, coalesce(sum(d.units) FILTER (WHERE d.fits), 0) AS units, 0 AS tokens FROM decided d GROUP BY 1, 2
    UNION ALL
    SELECT d.account_id, 'tokens', 0, sum(d.reserved) FROM decided d WHERE d.fits AND d.reserved > 0 GROUP BY 1
  ), charged AS (
    UPDATE usage_counters u SET used = u.used + t.units, reserved = u.reserved + t.tokens
    FROM totals t
    WHERE u.account_id = t.account_id AND u.day = today AND u.meter = t.meter AND t.units + t.tokens > 0
  ), logged AS (
    INSERT INTO requests (account_id, day, id, key_id, endpoint, meter, units, state, process, admitted_at, reserved_tokens, model)
    SELECT d.account_id, today, d.id, d.key_id, d.endpoint, d.meter, d.units, 'admitted', holder, now_at, d.reserved, d.model
    FROM decided d WHERE d.fits
  )
  SELECT d.id, CASE WHEN d.fits THEN 'admitted' ELSE 'refused' END, today,
         (CASE WHEN d.fits THEN d.before + d.running ELSE d.before + t.units END)::bigint, d.ceiling, now_at,
         (d.tokens_before + CASE WHEN d.fits THEN d.tokens_running ELSE coalesce(r.tokens, 0) END)::bigint, d.tokens_ceiling
  FROM decided d
  JOIN totals t ON t.account_id = d.account_id AND t.meter = d.meter
  LEFT JOIN totals r ON r.account_id = d.account_id AND r.meter = 'tokens'
  UNION ALL
  SELECT l.id, obstacles ->> l.id::text, today, NULL, NULL, now_at, l.tokens_before, l.tokens_ceiling FROM limited l WHERE obstacles ? l.id::text;

  IF has_keys THEN
    -- Refused charges free their keys.
    DELETE FROM idempotency_keys i
    USING jsonb_to_recordset(charges) AS c (id uuid, account_id uuid)
    WHERE i.account_id = c.account_id AND i.request_id = c.id
      AND NOT EXISTS (SELECT FROM requests r WHERE r.account_id = c.account_id AND r.day IN (today - 1, today) AND r.id = c.id);
  END IF;

  IF standing = '{}' THEN RETURN; END IF;
  RETURN QUERY
  SELECT r.id, 'admitted', r.day, u.used, (ceilings -> p.plan ->> r.meter)::bigint, now_at,
         CASE WHEN r.reserved_tokens IS NOT NULL THEN (
           SELECT t.used + t.reserved FROM usage_counters t
           WHERE t.account_id = r.account_id AND t.day = r.day AND t.meter = 'tokens') END,
         CASE WHEN r.reserved_tokens IS NOT NULL THEN (ceilings -> p.plan ->> 'tokens')::bigint END
  FROM jsonb_to_recordset(charges) AS c (id uuid, account_id uuid)
  JOIN requests r ON r.account_id = c.account_id AND r.day IN (today - 1, today) AND r.id = c.id
  JOIN usage_counters u ON u.account_id = r.account_id AND u.day = r.day AND u.meter = r.meter
  JOIN accounts a ON a.id = r.account_id
  CROSS JOIN LATERAL (SELECT CASE WHEN ceilings ? a.plan THEN a.plan ELSE standard END AS plan) p
  WHERE c.id = ANY (standing);
END $$;
--> statement-breakpoint
-- As earlier versions call it, while they run beside this one. They know no ceiling of tokens.
CREATE OR REPLACE FUNCTION ledger_admit(charges jsonb, counters jsonb, ceilings jsonb, standard text, holder uuid, repeated boolean, lock_timeout_ms int)
RETURNS TABLE (id uuid, outcome text, day date, used bigint, ceiling bigint, read_at timestamptz) LANGUAGE sql VOLATILE AS $$
  SELECT a.id, a.outcome, a.day, a.used, a.ceiling, a.read_at
  FROM ledger_admit_reserving(charges, counters, ceilings, standard, holder, repeated, lock_timeout_ms) AS a
$$;
--> statement-breakpoint
-- Settles charges in one transaction.
--
-- settlements: [{ kind, account_id, day, id, status, code, model, input_tokens, output_tokens, latency_ms, details?, charge?, turn?, response?, answer?, attempt? }]
--   kind 'charge':   not in the ledger → final, if its units fit; tokens are null if a 'complete' follows
--   kind 'uncharged': not in the ledger → refunded, without a counter: its work failed
--   kind 'final':    admitted → final; tokens are null if a 'complete' follows
--   kind 'complete': adds what became known of a final charge after its first byte; once
--   kind 'rerun':    as 'complete', for a final charge that was resumed; once per `attempt`
--   kind 'refund':   admitted → refunded; returns the units and frees the idempotency key
--   charge:          { key_id, endpoint, meter, units, admitted_at } of the first two kinds
--   details:         what else the log tells; a later step adds to it
--   Tokens that the charge reserved are released once the used ones are known, or by a refund. What was used beyond
--   them is the excess, a part of what is used.
--   turn:            { conversation_id, key_id, is_new, title, question_id, question, images?, image_urls?, answer_id, answer, model, is_stopped?, finish_reason? }
--   response:        { key_id, previous_id, input, body }, stored under the charge's id
--   answer:          { status, body }, stored under the idempotency key, including permanent failures;
--                    {} if our side failed: the next request with the key resumes the charge
--
-- ceilings, standard, holder: as for ledger_admit, for charges
-- repeated: whether any of them was sent before without an answer
--
-- Returns a row per settlement that is in the requested state, moved now or by a call whose answer was lost
-- (`outcome` 'settled'), and per charge that does not fit ('refused'); with the counter and ceiling of charges judged
-- now. The missing ones were settled differently, or their account is gone; do not deliver them.
CREATE OR REPLACE FUNCTION ledger_settle(settlements jsonb, ceilings jsonb, standard text, holder uuid, repeated boolean, lock_timeout_ms int)
RETURNS TABLE (id uuid, outcome text, used bigint, ceiling bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  now_at timestamptz := ledger_now();
  judged jsonb := '[]';
  charged jsonb;
  of_day date;
  moved uuid[] := '{}';
  moved_of_day uuid[];
  amounts jsonb := '[]';
  amounts_of_day jsonb;
  -- What a charge still reserves: nothing if another attempt has settled it since this one was admitted.
  open_tokens CONSTANT text := 'CASE WHEN s.kind = ''rerun'' AND r.released_tokens IS NOT NULL THEN coalesce(r.reserved_tokens, 0) ELSE r.reserved_tokens END';
BEGIN
  PERFORM set_config('lock_timeout', lock_timeout_ms::text, true);

  -- Name each day's partition: through the parent, every statement would open and lock all of them.
  FOR of_day IN
    SELECT DISTINCT s.day FROM jsonb_to_recordset(settlements) AS s (kind text, day date)
    WHERE s.kind NOT IN ('charge', 'uncharged') ORDER BY 1
  LOOP
    CONTINUE WHEN to_regclass('requests_' || to_char(of_day, 'YYYYMMDD')) IS NULL;
    EXECUTE format($settle$
      WITH s AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset($1) AS s
          (kind text, account_id uuid, day date, id uuid, status smallint, code text, model text,
           input_tokens int, output_tokens int, latency_ms int, details jsonb, attempt uuid)
        WHERE s.day = $2
      ), touched AS (
        UPDATE %1$I r
        SET state = CASE s.kind WHEN 'refund' THEN 'refunded' ELSE 'final' END,
            settled_at = coalesce(r.settled_at, $3), status = s.status, code = s.code, model = s.model,
            input_tokens = CASE WHEN s.input_tokens IS NOT NULL THEN least(s.input_tokens + CASE s.kind WHEN 'rerun' THEN coalesce(r.input_tokens, 0)::bigint ELSE 0 END, 2147483647) END,
            output_tokens = CASE WHEN s.output_tokens IS NOT NULL THEN least(s.output_tokens + CASE s.kind WHEN 'rerun' THEN coalesce(r.output_tokens, 0)::bigint ELSE 0 END, 2147483647) END,
            latency_ms = s.latency_ms,
            -- What this settlement releases, so that it can be returned.
            released_tokens = CASE WHEN s.kind = 'refund' OR s.input_tokens IS NOT NULL THEN %2$s ELSE r.released_tokens END,
            reserved_tokens = CASE WHEN s.kind = 'refund' OR s.input_tokens IS NOT NULL THEN NULL ELSE r.reserved_tokens END,
            details = CASE WHEN s.details IS NULL AND r.details IS NULL AND NOT coalesce(s.input_tokens + s.output_tokens > %2$s, false) THEN NULL
              ELSE coalesce(r.details, '{}') || coalesce(s.details, '{}') END
              || CASE WHEN s.kind = 'rerun' AND r.details ? 'cost_micros' AND s.details ? 'cost_micros'
                   THEN jsonb_build_object('cost_micros', (r.details ->> 'cost_micros')::bigint + (s.details ->> 'cost_micros')::bigint)
                   ELSE '{}' END
              || CASE WHEN s.input_tokens + s.output_tokens > %2$s
                   THEN jsonb_build_object('excess_tokens', coalesce((r.details ->> 'excess_tokens')::bigint, 0) + s.input_tokens + s.output_tokens - %2$s)
                   ELSE '{}' END
        FROM s
        WHERE r.account_id = s.account_id AND r.day = $2 AND r.id = s.id
          AND CASE s.kind
            WHEN 'complete' THEN r.state = 'final' AND r.input_tokens IS NULL
            WHEN 'rerun' THEN r.state = 'final' AND EXISTS (
              SELECT FROM idempotency_keys i WHERE i.account_id = s.account_id AND i.resumed_by = s.attempt)
            ELSE r.state = 'admitted'
          END
        RETURNING s.kind, r.account_id, r.id, r.key_id, r.meter, r.units, coalesce(s.input_tokens + s.output_tokens, 0) AS tokens,
                  CASE WHEN s.kind = 'refund' OR s.input_tokens IS NOT NULL THEN r.released_tokens END AS released,
                  coalesce(r.tokens_assumed, false) AS assumed
      ), each AS (
        SELECT account_id, key_id, meter, CASE kind WHEN 'refund' THEN -units ELSE 0 END AS counted,
               CASE kind WHEN 'final' THEN units ELSE 0 END AS delivered, CASE kind WHEN 'final' THEN 1 ELSE 0 END AS requests,
               0 AS reserved, 0 AS excess
        FROM touched
        UNION ALL
        -- Assumed ones count as used already.
        SELECT account_id, key_id, 'tokens', tokens - CASE WHEN assumed THEN coalesce(released, 0) ELSE 0 END, tokens, NULL,
               CASE WHEN assumed THEN 0 ELSE coalesce(-released, 0) END, coalesce(greatest(tokens - released, 0), 0)
        FROM touched WHERE tokens > 0 OR released > 0
      ), summed AS (
        SELECT account_id, $2 AS day, coalesce(key_id, '00000000-0000-0000-0000-000000000000') AS key_id, meter,
               sum(counted) AS counted, sum(delivered) AS delivered, sum(requests) AS requests, sum(reserved) AS reserved, sum(excess) AS excess
        FROM each GROUP BY 1, 3, 4
      )
      SELECT (SELECT coalesce(array_agg(id), '{}') FROM touched), (SELECT coalesce(jsonb_agg(to_jsonb(summed)), '[]') FROM summed)
    $settle$, 'requests_' || to_char(of_day, 'YYYYMMDD'), open_tokens)
    INTO moved_of_day, amounts_of_day
    USING settlements, of_day, now_at;
    moved := moved || moved_of_day;
    amounts := amounts || amounts_of_day;
  END LOOP;

  IF settlements @? '$[*] ? (@.kind == "charge")' THEN
    SELECT c.judged, c.amounts INTO judged, charged
    FROM ledger_charge(settlements, amounts, ceilings, standard, holder, repeated, now_at) AS c;
    amounts := amounts || charged;
    moved := moved || ARRAY(SELECT (j ->> 'id')::uuid FROM jsonb_array_elements(judged) AS j WHERE (j ->> 'fits')::boolean);
  END IF;

  INSERT INTO usage_counters (account_id, day, meter, used, reserved, excess)
  SELECT a.account_id, a.day, a.meter, sum(a.counted), coalesce(sum(a.reserved), 0), coalesce(sum(a.excess), 0)
  FROM jsonb_to_recordset(amounts) AS a (account_id uuid, day date, meter text, counted bigint, reserved bigint, excess bigint)
  WHERE a.counted <> 0 OR a.reserved <> 0
  GROUP BY 1, 2, 3
  ORDER BY 1, 3, 2
  ON CONFLICT (account_id, day, meter) DO UPDATE
    SET used = usage_counters.used + excluded.used, reserved = usage_counters.reserved + excluded.reserved,
        excess = usage_counters.excess + excluded.excess;

  IF settlements @? '$[*] ? (@.kind == "uncharged")' THEN
    moved := moved || ARRAY(SELECT ledger_note_uncharged(settlements, holder, now_at));
  END IF;

  INSERT INTO key_usage (account_id, day, key_id, meter, used, requests)
  SELECT a.account_id, a.day, a.key_id, a.meter, sum(a.delivered), sum(a.requests)
  FROM jsonb_to_recordset(amounts) AS a (account_id uuid, day date, key_id uuid, meter text, delivered bigint, requests bigint)
  WHERE a.delivered > 0
  GROUP BY 1, 2, 3, 4
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (account_id, day, key_id, meter) DO UPDATE
    SET used = key_usage.used + excluded.used, requests = key_usage.requests + excluded.requests;

  IF settlements @? '$[*].details.cost_micros' THEN PERFORM ledger_add_costs(settlements, moved); END IF;

  IF settlements @? '$[*].turn' THEN PERFORM ledger_store_turns(settlements, moved, now_at); END IF;

  IF settlements @? '$[*].response' THEN PERFORM ledger_store_responses(settlements, moved, now_at); END IF;

  IF settlements @? '$[*] ? (exists(@.answer) || @.kind == "refund")' THEN PERFORM ledger_settle_keys(settlements, moved); END IF;

  RETURN QUERY
  SELECT m.id, 'settled', j.used, j.ceiling
  FROM unnest(moved) AS m (id) LEFT JOIN jsonb_to_recordset(judged) AS j (id uuid, used bigint, ceiling bigint) ON j.id = m.id;
  IF cardinality(moved) = jsonb_array_length(settlements) THEN RETURN; END IF;
  RETURN QUERY
  SELECT j.id, 'refused', j.used, j.ceiling
  FROM jsonb_to_recordset(judged) AS j (id uuid, fits boolean, used bigint, ceiling bigint) WHERE NOT j.fits;
  RETURN QUERY
  SELECT r.id, 'settled', NULL::bigint, NULL::bigint
  FROM jsonb_to_recordset(settlements) AS s (kind text, account_id uuid, day date, id uuid, answer jsonb)
  JOIN requests r ON r.account_id = s.account_id AND r.day = s.day AND r.id = s.id
  WHERE NOT s.id = ANY (moved) AND r.state = CASE WHEN s.kind IN ('refund', 'uncharged') THEN 'refunded' ELSE 'final' END
    -- If another attempt's answer is stored, a retry will not get this one.
    AND (s.answer IS NULL OR NOT s.answer ? 'status' OR EXISTS (
      SELECT FROM idempotency_keys i
      WHERE i.account_id = s.account_id AND i.request_id = s.id AND i.body = s.answer ->> 'body'));
END $$;
--> statement-breakpoint
-- Adds what the settlements that moved cost the operator.
CREATE OR REPLACE FUNCTION ledger_add_costs(settlements jsonb, moved uuid[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO upstream_costs (account_id, day, upstream, micros)
  SELECT s.account_id, s.day, s.details ->> 'upstream', sum((s.details ->> 'cost_micros')::bigint)
  FROM jsonb_to_recordset(settlements) AS s (account_id uuid, day date, id uuid, details jsonb)
  WHERE s.id = ANY (moved) AND s.details ? 'cost_micros'
  GROUP BY 1, 2, 3
  ORDER BY 1, 2, 3
  ON CONFLICT (account_id, day, upstream) DO UPDATE SET micros = upstream_costs.micros + excluded.micros
$$;
--> statement-breakpoint
-- The charges of a batch of settlements that were not admitted before: each is inserted as final, fully or not at all,
-- and never past the ceiling of the plan read here. Locks every counter that the batch changes, in the common order.
--
-- others: what the batch's other settlements add to counters: [{ account_id, day, meter, counted, reserved }]
--
-- Returns `judged`: [{ id, fits, used, ceiling }] per charge of a living account that is not in the ledger yet, and
-- `amounts`: what the caller adds to counters and key totals.
CREATE OR REPLACE FUNCTION ledger_charge(settlements jsonb, others jsonb, ceilings jsonb, standard text, holder uuid, repeated boolean, now_at timestamptz, OUT judged jsonb, OUT amounts jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  counters jsonb;
  locked int;
  standing uuid[] := '{}';
BEGIN
  SELECT jsonb_agg(to_jsonb(c)) INTO counters
  FROM (
    SELECT s.account_id, s.day, m.meter
    FROM jsonb_to_recordset(settlements) AS s (kind text, account_id uuid, day date, input_tokens bigint, output_tokens bigint, charge jsonb)
    CROSS JOIN LATERAL (
      VALUES (s.charge ->> 'meter'), (CASE WHEN s.input_tokens + s.output_tokens > 0 THEN 'tokens' END)
    ) AS m (meter)
    WHERE s.kind = 'charge' AND m.meter IS NOT NULL
    UNION
    SELECT o.account_id, o.day, o.meter FROM jsonb_to_recordset(others) AS o (account_id uuid, day date, meter text, counted bigint, reserved bigint)
    WHERE o.counted <> 0 OR o.reserved <> 0
  ) c;

  FOR attempt IN 1..2 LOOP
    SELECT count(*) INTO locked FROM (
      SELECT FROM usage_counters u
      JOIN jsonb_to_recordset(counters) AS c (account_id uuid, day date, meter text)
        ON u.account_id = c.account_id AND u.day = c.day AND u.meter = c.meter
      ORDER BY u.account_id, u.meter, u.day
      FOR UPDATE OF u
    ) l;
    EXIT WHEN locked = jsonb_array_length(counters) OR attempt = 2;
    INSERT INTO usage_counters (account_id, day, meter, used)
    SELECT c.account_id, c.day, c.meter, 0
    FROM jsonb_to_recordset(counters) AS c (account_id uuid, day date, meter text)
    JOIN accounts a ON a.id = c.account_id AND a.deleted_at IS NULL
    ORDER BY 1, 3, 2
    ON CONFLICT DO NOTHING;
  END LOOP;

  IF repeated THEN
    SELECT coalesce(array_agg(r.id), '{}') INTO standing
    FROM jsonb_to_recordset(settlements) AS s (kind text, account_id uuid, day date, id uuid)
    JOIN requests r ON r.account_id = s.account_id AND r.day = s.day AND r.id = s.id
    WHERE s.kind = 'charge';
  END IF;

  WITH asked AS MATERIALIZED (
    SELECT s.*, c.*
    FROM ROWS FROM (
      jsonb_to_recordset(settlements) AS
        (kind text, id uuid, account_id uuid, day date, status smallint, code text, model text,
         input_tokens int, output_tokens int, latency_ms int, details jsonb, charge jsonb)
    ) WITH ORDINALITY AS s (kind, id, account_id, day, status, code, model, input_tokens, output_tokens, latency_ms, details, charge, position)
    CROSS JOIN LATERAL jsonb_to_record(s.charge) AS c (key_id uuid, endpoint text, meter text, units int, admitted_at timestamptz)
    WHERE s.kind = 'charge' AND NOT s.id = ANY (standing)
  ), measured AS (
    SELECT asked.*, u.used AS before, (ceilings -> p.plan ->> asked.meter)::bigint AS ceiling,
           sum(asked.units) OVER (PARTITION BY asked.account_id, asked.day, asked.meter ORDER BY asked.position) AS running
    FROM asked
    JOIN accounts a ON a.id = asked.account_id AND a.deleted_at IS NULL
    JOIN usage_counters u ON u.account_id = asked.account_id AND u.day = asked.day AND u.meter = asked.meter
    CROSS JOIN LATERAL (SELECT CASE WHEN ceilings ? a.plan THEN a.plan ELSE standard END AS plan) p
  ), fitting AS (
    SELECT measured.*, ceiling IS NULL OR before + running <= ceiling AS fits FROM measured
  ), decided AS MATERIALIZED (
    SELECT fitting.*, before + coalesce(sum(units) FILTER (WHERE fits) OVER (PARTITION BY account_id, day, meter), 0) AS used FROM fitting
  ), logged AS (
    INSERT INTO requests (account_id, day, id, key_id, endpoint, meter, units, state, process, admitted_at, settled_at,
                          status, code, model, input_tokens, output_tokens, latency_ms, details)
    SELECT d.account_id, d.day, d.id, d.key_id, d.endpoint, d.meter, d.units, 'final', holder, d.admitted_at, now_at,
           d.status, d.code, d.model, d.input_tokens, d.output_tokens, d.latency_ms, d.details
    FROM decided d WHERE d.fits ORDER BY d.account_id, d.id
  ), each AS (
    SELECT d.account_id, d.day, d.key_id, d.meter, d.units::bigint AS amount, 1 AS requests FROM decided d WHERE d.fits
    UNION ALL
    SELECT d.account_id, d.day, d.key_id, 'tokens', d.input_tokens::bigint + d.output_tokens, NULL
    FROM decided d WHERE d.fits AND d.input_tokens + d.output_tokens > 0
  ), summed AS (
    SELECT e.account_id, e.day, coalesce(e.key_id, '00000000-0000-0000-0000-000000000000') AS key_id, e.meter,
           sum(e.amount) AS counted, sum(e.amount) AS delivered, sum(e.requests) AS requests
    FROM each e GROUP BY 1, 2, 3, 4
  )
  SELECT (SELECT coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'fits', d.fits, 'used', d.used, 'ceiling', d.ceiling)), '[]') FROM decided d),
         (SELECT coalesce(jsonb_agg(to_jsonb(summed)), '[]') FROM summed)
  INTO judged, amounts;
END $$;
--> statement-breakpoint
-- Notes requests that failed before they were charged, for the log. A charge of the same request that arrives later
-- then fails. Returns the ids of those that were not charged before.
CREATE OR REPLACE FUNCTION ledger_note_uncharged(settlements jsonb, holder uuid, now_at timestamptz) RETURNS SETOF uuid LANGUAGE sql AS $$
  INSERT INTO requests (account_id, day, id, key_id, endpoint, meter, units, state, process, admitted_at, settled_at,
                        status, code, model, input_tokens, output_tokens, latency_ms, details)
  SELECT s.account_id, s.day, s.id, c.key_id, c.endpoint, c.meter, c.units, 'refunded', holder, c.admitted_at, now_at,
         s.status, s.code, s.model, s.input_tokens, s.output_tokens, s.latency_ms, s.details
  FROM jsonb_to_recordset(settlements) AS s
    (kind text, account_id uuid, day date, id uuid, status smallint, code text, model text,
     input_tokens int, output_tokens int, latency_ms int, details jsonb, charge jsonb)
  JOIN accounts a ON a.id = s.account_id AND a.deleted_at IS NULL
  CROSS JOIN LATERAL jsonb_to_record(s.charge) AS c (key_id uuid, endpoint text, meter text, units int, admitted_at timestamptz)
  WHERE s.kind = 'uncharged'
  ORDER BY s.account_id, s.id
  ON CONFLICT DO NOTHING
  RETURNING id
$$;
--> statement-breakpoint
-- As earlier versions call it, while they run beside this one.
CREATE OR REPLACE FUNCTION ledger_settle(settlements jsonb, lock_timeout_ms int) RETURNS TABLE (id uuid) LANGUAGE sql VOLATILE AS $$
  SELECT s.id FROM ledger_settle(settlements, '{}', '', NULL, false, lock_timeout_ms) AS s
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger_settle_keys(settlements jsonb, moved uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM idempotency_keys i
  JOIN jsonb_to_recordset(settlements) AS s (account_id uuid, id uuid)
    ON i.account_id = s.account_id AND (i.request_id = s.id OR i.resumed_by = s.id)
  ORDER BY i.account_id, i.owner, i.key
  FOR UPDATE OF i;
  IF NOT FOUND THEN RETURN; END IF;

  UPDATE idempotency_keys i
  SET status = (s.answer ->> 'status')::smallint, body = s.answer ->> 'body', resumed_by = NULL,
      process = CASE WHEN s.answer ? 'status' THEN i.process ELSE '00000000-0000-0000-0000-000000000000' END
  FROM jsonb_to_recordset(settlements) AS s (kind text, account_id uuid, id uuid, answer jsonb)
  WHERE s.answer IS NOT NULL AND s.id = ANY (moved) AND i.account_id = s.account_id AND i.request_id = s.id AND i.status IS NULL
    -- A stream that fails after it was resumed must not take the key from the running attempt.
    AND (s.kind <> 'complete' OR s.answer ? 'status' OR i.resumed_by IS NULL);

  DELETE FROM idempotency_keys i
  USING jsonb_to_recordset(settlements) AS s (kind text, account_id uuid, id uuid)
  WHERE s.kind = 'refund' AND s.id = ANY (moved) AND i.account_id = s.account_id AND i.request_id = s.id;

  -- A charge became final without an answer, and its process never learned of it. Open it for resuming. A repeated
  -- refund may arrive after someone has resumed it. Rare, and the join opens the partitions of all days.
  IF EXISTS (SELECT FROM jsonb_to_recordset(settlements) AS s (kind text, id uuid) WHERE s.kind = 'refund' AND NOT s.id = ANY (moved)) THEN
    UPDATE idempotency_keys i SET process = '00000000-0000-0000-0000-000000000000'
    FROM jsonb_to_recordset(settlements) AS s (kind text, account_id uuid, day date, id uuid)
    JOIN requests r ON r.account_id = s.account_id AND r.day = s.day AND r.id = s.id AND r.state = 'final'
    WHERE s.kind = 'refund' AND i.account_id = s.account_id AND i.request_id = s.id AND i.status IS NULL AND i.resumed_by IS NULL;
  END IF;

  -- An abandoned attempt to resume has no charge to refund. It never reached an engine, so it does not count.
  UPDATE idempotency_keys i
  SET process = '00000000-0000-0000-0000-000000000000', resumed_by = NULL, resumes = greatest(i.resumes - 1, 0)
  FROM jsonb_to_recordset(settlements) AS s (kind text, account_id uuid, id uuid)
  WHERE s.kind = 'refund' AND i.account_id = s.account_id AND i.resumed_by = s.id;
END $$;
--> statement-breakpoint
-- Stores the turns of settlements that moved. Never recreates a deleted conversation or account.
--
-- Messages get their positions under the conversation's row lock, not from a clock: replicas' clocks differ.
-- A turn that replaces a message deletes it and all later ones first.
CREATE OR REPLACE FUNCTION ledger_store_turns(settlements jsonb, moved uuid[], now_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM conversations c
  JOIN jsonb_to_recordset(settlements) AS s (account_id uuid, turn jsonb)
    ON c.account_id = s.account_id AND c.id = (s.turn ->> 'conversation_id')::uuid
  ORDER BY c.account_id, c.id
  FOR UPDATE OF c;

  IF jsonb_path_exists(settlements, '$[*].turn.replaced_id') THEN
    DELETE FROM messages m USING jsonb_to_recordset(settlements) AS s (account_id uuid, id uuid, turn jsonb), messages r
    WHERE s.id = ANY (moved)
      AND r.account_id = s.account_id AND r.conversation_id = (s.turn ->> 'conversation_id')::uuid
      AND r.id = (s.turn ->> 'replaced_id')::uuid
      AND m.account_id = r.account_id AND m.conversation_id = r.conversation_id
      AND (m.position, m.id) >= (r.position, r.id);
  END IF;

  WITH t AS MATERIALIZED (
    SELECT s.account_id, t.*, 2 * row_number() OVER (PARTITION BY s.account_id, t.conversation_id ORDER BY s.ordinality) AS place
    FROM ROWS FROM (
      jsonb_to_recordset(settlements) AS (account_id uuid, id uuid, turn jsonb)
    ) WITH ORDINALITY AS s (account_id, id, turn, ordinality)
    CROSS JOIN LATERAL jsonb_to_record(s.turn) AS t
      (conversation_id uuid, key_id uuid, is_new boolean, title text, question_id uuid, question text, images jsonb, image_urls text, answer_id uuid, answer text, model text, is_stopped boolean, finish_reason text)
    WHERE s.turn IS NOT NULL AND s.id = ANY (moved)
  ), made AS (
    INSERT INTO conversations (account_id, id, key_id, title, created_at, updated_at)
    SELECT t.account_id, t.conversation_id, t.key_id, t.title, now_at, now_at
    FROM t JOIN accounts a ON a.id = t.account_id AND a.deleted_at IS NULL
    WHERE t.is_new
    RETURNING account_id, id
  ), continued AS (
    UPDATE conversations c SET updated_at = now_at FROM t
    WHERE NOT t.is_new AND c.account_id = t.account_id AND c.id = t.conversation_id
    RETURNING c.account_id, c.id
  ), kept AS (
    SELECT k.account_id, k.id, CASE last.position
      -- Stored before positions existed: counted once, so that positions have no gap.
      WHEN 0 THEN (SELECT count(*) FROM messages m WHERE m.account_id = k.account_id AND m.conversation_id = k.id)
      ELSE coalesce(last.position, 0)
    END AS before
    FROM (SELECT * FROM made UNION SELECT * FROM continued) k
    LEFT JOIN LATERAL (
      SELECT m.position FROM messages m WHERE m.account_id = k.account_id AND m.conversation_id = k.id
      ORDER BY m.position DESC, m.id DESC LIMIT 1
    ) last ON true
  )
  INSERT INTO messages (account_id, conversation_id, id, position, role, content, images, image_urls, model, is_stopped, finish_reason, created_at)
  SELECT t.account_id, t.conversation_id, m.id, k.before + t.place - m.from_end, m.role, m.content, m.images, m.image_urls, m.model, m.is_stopped, m.finish_reason, now_at
  FROM t JOIN kept k ON k.account_id = t.account_id AND k.id = t.conversation_id
  CROSS JOIN LATERAL (
    VALUES (t.question_id, 1, 'user', t.question, t.images, t.image_urls, NULL, false, NULL),
           (t.answer_id, 0, 'assistant', t.answer, NULL, NULL, t.model, coalesce(t.is_stopped, false), t.finish_reason)
  ) AS m (id, from_end, role, content, images, image_urls, model, is_stopped, finish_reason);
END $$;
--> statement-breakpoint
-- Stores the responses of settlements that moved. A charge that was resumed may have stored one before.
CREATE OR REPLACE FUNCTION ledger_store_responses(settlements jsonb, moved uuid[], now_at timestamptz) RETURNS void LANGUAGE sql AS $$
  INSERT INTO stored_responses (account_id, id, key_id, previous_id, input, body, created_at)
  SELECT s.account_id, s.id, r.key_id, r.previous_id, r.input, r.body, now_at
  FROM jsonb_to_recordset(settlements) AS s (account_id uuid, id uuid, response jsonb)
  JOIN accounts a ON a.id = s.account_id AND a.deleted_at IS NULL
  CROSS JOIN LATERAL jsonb_to_record(s.response) AS r (key_id uuid, previous_id uuid, input text, body text)
  WHERE s.response IS NOT NULL AND s.id = ANY (moved)
  ORDER BY s.account_id, s.id
  ON CONFLICT (account_id, id) DO UPDATE SET body = excluded.body
$$;
--> statement-breakpoint
-- Renews a process's lease, or creates one.
CREATE OR REPLACE FUNCTION ledger_renew_lease(holder uuid, seconds int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO leases (process, expires_at) VALUES (holder, ledger_now() + make_interval(secs => seconds))
  ON CONFLICT (process) DO UPDATE SET expires_at = excluded.expires_at
$$;
--> statement-breakpoint
-- Refunds charges left admitted by processes with expired leases, at most `at_most`. Returns how many it refunded or
-- counted. A live process's slow work is safe: its lease is renewed, and this skips a lease during its renewal. Tokens
-- that such a process reserved for a stream count as used, because nobody knows how many were: an overcharge, until the
-- process turns out to live, or another one resumes the charge.
CREATE OR REPLACE FUNCTION ledger_sweep(at_most int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  dead uuid[];
  of_account uuid;
  swept int := 0;
  -- Of streams that may still be open. Without it, a sweep would open the partitions of all days.
  since date := ledger_day(ledger_now()) - 2;
BEGIN
  PERFORM set_config('lock_timeout', '500', true);
  SELECT coalesce(array_agg(l.process), '{}') INTO dead
  FROM (SELECT process FROM leases WHERE expires_at <= ledger_now() FOR UPDATE SKIP LOCKED) l;
  IF dead = '{}' THEN RETURN 0; END IF;

  FOR of_account IN
    SELECT account_id FROM requests WHERE process = ANY (dead) AND state = 'admitted'
    UNION
    SELECT account_id FROM requests WHERE process = ANY (dead) AND reserved_tokens IS NOT NULL AND tokens_assumed IS NULL AND day >= since
    ORDER BY 1
  LOOP
    EXIT WHEN swept = at_most;
    BEGIN
      swept := swept + ledger_sweep_account(of_account, dead, at_most - swept);
    EXCEPTION WHEN lock_not_available THEN
      -- The next sweep retries. One locked account must not block the others.
      NULL;
    END;
  END LOOP;

  DELETE FROM leases l WHERE l.process = ANY (dead)
    AND NOT EXISTS (SELECT FROM requests r WHERE r.process = l.process AND r.state = 'admitted')
    AND NOT EXISTS (
      SELECT FROM requests r
      WHERE r.process = l.process AND r.reserved_tokens IS NOT NULL AND r.tokens_assumed IS NULL AND r.day >= since);
  RETURN swept;
END $$;
--> statement-breakpoint
-- Sweeps one account. Returns how many charges it refunded, or whose reserved tokens it counted.
CREATE OR REPLACE FUNCTION ledger_sweep_account(of_account uuid, dead uuid[], at_most int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  swept jsonb;
  assumed jsonb;
BEGIN
  WITH picked AS (
    SELECT day, id FROM requests
    WHERE account_id = of_account AND process = ANY (dead) AND state = 'admitted'
    ORDER BY day, id LIMIT at_most
    FOR UPDATE SKIP LOCKED
  ), moved AS (
    UPDATE requests r SET state = 'refunded', settled_at = ledger_now(), status = 503, code = 'serviceUnavailable',
                          released_tokens = r.reserved_tokens, reserved_tokens = NULL
    FROM picked p WHERE r.account_id = of_account AND r.day = p.day AND r.id = p.id
    RETURNING r.day, r.id, r.meter, r.units, r.released_tokens
  )
  SELECT coalesce(jsonb_agg(to_jsonb(moved)), '[]') INTO swept FROM moved;

  WITH picked AS (
    SELECT day, id FROM requests
    WHERE account_id = of_account AND process = ANY (dead) AND reserved_tokens IS NOT NULL AND tokens_assumed IS NULL AND state = 'final'
      AND day >= ledger_day(ledger_now()) - 2
    ORDER BY day, id LIMIT greatest(at_most - jsonb_array_length(swept), 0)
    FOR UPDATE SKIP LOCKED
  ), moved AS (
    UPDATE requests r SET tokens_assumed = true
    FROM picked p WHERE r.account_id = of_account AND r.day = p.day AND r.id = p.id
    RETURNING r.day, r.reserved_tokens
  )
  SELECT coalesce(jsonb_agg(to_jsonb(moved)), '[]') INTO assumed FROM moved;

  INSERT INTO usage_counters (account_id, day, meter, used, reserved)
  SELECT of_account, c.day, c.meter, sum(c.used), sum(c.reserved)
  FROM (
    SELECT s.day, s.meter, -s.units AS used, 0 AS reserved FROM jsonb_to_recordset(swept) AS s (day date, meter text, units int)
    UNION ALL
    SELECT s.day, 'tokens', 0, -s.released_tokens FROM jsonb_to_recordset(swept) AS s (day date, released_tokens int)
    WHERE s.released_tokens > 0
    UNION ALL
    SELECT a.day, 'tokens', a.reserved_tokens, -a.reserved_tokens FROM jsonb_to_recordset(assumed) AS a (day date, reserved_tokens int)
  ) c
  GROUP BY 2, 3
  ORDER BY 3, 2
  ON CONFLICT (account_id, day, meter) DO UPDATE
    SET used = usage_counters.used + excluded.used, reserved = usage_counters.reserved + excluded.reserved;

  PERFORM FROM idempotency_keys i JOIN jsonb_to_recordset(swept) AS s (id uuid) ON i.request_id = s.id
  WHERE i.account_id = of_account
  ORDER BY i.owner, i.key
  FOR UPDATE OF i;
  DELETE FROM idempotency_keys i USING jsonb_to_recordset(swept) AS s (id uuid)
  WHERE i.account_id = of_account AND i.request_id = s.id;

  RETURN jsonb_array_length(swept) + jsonb_array_length(assumed);
END $$;
