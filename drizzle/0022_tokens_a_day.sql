ALTER TABLE "requests" ADD COLUMN "reserved_tokens" integer;--> statement-breakpoint
ALTER TABLE "requests" ADD COLUMN "released_tokens" integer;--> statement-breakpoint
ALTER TABLE "requests" ADD COLUMN "tokens_assumed" boolean;--> statement-breakpoint
ALTER TABLE "usage_counters" ADD COLUMN "reserved" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_counters" ADD COLUMN "excess" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "requests_reserved" ON ONLY "requests" USING btree ("process") WHERE reserved_tokens is not null and tokens_assumed is null;--> statement-breakpoint
-- The partitions of later days exist already, and are empty.
DO $$
DECLARE
  later text;
BEGIN
  FOR later IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'requests'::regclass AND c.relname > 'requests_' || to_char(ledger_day(ledger_now()), 'YYYYMMDD')
    ORDER BY 1
  LOOP
    EXECUTE format('CREATE INDEX ON %I USING btree (process) WHERE reserved_tokens is not null and tokens_assumed is null', later);
  END LOOP;
END $$;
