-- The ledger's SQL: the clock, the day, admission, and the partitions of `requests`.
-- Hand-written, because the generator knows neither functions nor partitions. Contract section 5.

-- The one clock of everything that is charged. Tests replace this function.
CREATE FUNCTION ledger_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() $$;
--> statement-breakpoint
CREATE FUNCTION ledger_day(at timestamptz) RETURNS date LANGUAGE sql IMMUTABLE AS $$ SELECT (at AT TIME ZONE 'UTC')::date $$;
--> statement-breakpoint
-- Admits charges in the order given, each wholly or not at all, and never past the ceiling of the plan read here.
--
-- charges:  [{ id, account_id, key_id, endpoint, meter, units }], `ordinality` is first come, first served
-- ceilings: { plan: { meter: ceiling or null } }, and `standard`, the plan of accounts whose plan is not in it
-- holder:   the process whose lease guards the charges
--
-- Returns a row per charge of a living account: the day, whether it was admitted, what the counter then held,
-- its ceiling, and the clock. A charge of an account that is gone gets no row.
--
-- The statements run one after the other, each with its own snapshot: what is judged was read under the lock.
CREATE FUNCTION ledger_admit(charges jsonb, ceilings jsonb, standard text, holder uuid)
RETURNS TABLE (id uuid, admitted boolean, day date, used bigint, ceiling bigint, plan text, read_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  now_at timestamptz := ledger_now();
  today date := ledger_day(now_at);
BEGIN
  INSERT INTO usage_counters (account_id, day, meter, used)
  SELECT DISTINCT c.account_id, today, c.meter, 0
  FROM jsonb_to_recordset(charges) AS c (account_id uuid, meter text)
  JOIN accounts a ON a.id = c.account_id AND a.deleted_at IS NULL
  ORDER BY 1, 3
  ON CONFLICT DO NOTHING;

  PERFORM FROM usage_counters u
  WHERE u.day = today AND (u.account_id, u.meter) IN (
    SELECT c.account_id, c.meter FROM jsonb_to_recordset(charges) AS c (account_id uuid, meter text)
  )
  ORDER BY u.account_id, u.meter
  FOR UPDATE;

  RETURN QUERY
  WITH asked AS (
    SELECT c.*
    FROM ROWS FROM (
      jsonb_to_recordset(charges) AS (id uuid, account_id uuid, key_id uuid, endpoint text, meter text, units int)
    ) WITH ORDINALITY AS c (id, account_id, key_id, endpoint, meter, units, ordinality)
  ), judged AS (
    SELECT asked.*, u.used AS before, p.plan,
           (ceilings -> p.plan ->> asked.meter)::bigint AS ceiling,
           sum(asked.units) OVER (PARTITION BY asked.account_id, asked.meter ORDER BY asked.ordinality) AS running
    FROM asked
    JOIN accounts a ON a.id = asked.account_id AND a.deleted_at IS NULL
    JOIN usage_counters u ON u.account_id = asked.account_id AND u.day = today AND u.meter = asked.meter
    CROSS JOIN LATERAL (SELECT CASE WHEN ceilings ? a.plan THEN a.plan ELSE standard END AS plan) p
  ), decided AS (
    SELECT judged.*, judged.ceiling IS NULL OR judged.before + judged.running <= judged.ceiling AS admitted FROM judged
  ), totals AS (
    SELECT d.account_id, d.meter, sum(d.units) FILTER (WHERE d.admitted) AS units FROM decided d GROUP BY 1, 2
  ), charged AS (
    UPDATE usage_counters u SET used = u.used + t.units
    FROM totals t
    WHERE u.account_id = t.account_id AND u.day = today AND u.meter = t.meter AND t.units > 0
  ), logged AS (
    INSERT INTO requests (account_id, day, id, key_id, endpoint, meter, units, state, process, admitted_at)
    SELECT d.account_id, today, d.id, d.key_id, d.endpoint, d.meter, d.units, 'admitted', holder, now_at
    FROM decided d WHERE d.admitted
  )
  SELECT d.id, d.admitted, today,
         (CASE WHEN d.admitted THEN d.before + d.running ELSE d.before + coalesce(t.units, 0) END)::bigint,
         d.ceiling, d.plan, now_at
  FROM decided d JOIN totals t ON t.account_id = d.account_id AND t.meter = d.meter;
END $$;
--> statement-breakpoint
-- Makes the partitions of `requests` from yesterday to some days ahead. Each is created apart and attached, which
-- does not block writers; several processes may do it at once.
CREATE FUNCTION ledger_make_partitions(days_ahead int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  first date := ledger_day(ledger_now());
  day date;
  name text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('parley.partitions'));
  FOR day IN SELECT first + n FROM generate_series(-1, days_ahead) AS n LOOP
    name := 'requests_' || to_char(day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(name) IS NOT NULL;
    EXECUTE format('CREATE TABLE %I (LIKE requests INCLUDING ALL)', name);
    EXECUTE format('ALTER TABLE requests ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, day, day + 1);
  END LOOP;
END $$;
--> statement-breakpoint
-- Counters are updated in place: leave room for it in their pages.
ALTER TABLE usage_counters SET (fillfactor = 50);
