-- The ledger's clock, its day, and the partitions of `requests`; its protocol is in functions/ledger.sql.
-- Hand-written, because the generator knows neither functions nor partitions. Contract section 5.

-- The one clock of everything that is charged. Tests replace this function.
CREATE FUNCTION ledger_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() $$;
--> statement-breakpoint
CREATE FUNCTION ledger_day(at timestamptz) RETURNS date LANGUAGE sql IMMUTABLE AS $$ SELECT (at AT TIME ZONE 'UTC')::date $$;
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
