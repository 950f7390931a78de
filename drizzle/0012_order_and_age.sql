-- Places of messages: existing rows have 0, in the order of their ids, without a row being written.
-- The other indexes that the schema declares are built by src/database/indexes.ts, without locking their tables.
ALTER TABLE "messages" ADD COLUMN "position" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "requests_log" ON ONLY "requests" USING btree ("account_id","day","admitted_at","id");--> statement-breakpoint
CREATE INDEX "requests_log_of_key" ON ONLY "requests" USING btree ("account_id",(coalesce(key_id, '00000000-0000-0000-0000-000000000000'::uuid)),"day","admitted_at","id");--> statement-breakpoint
CREATE INDEX "requests_log_failed" ON ONLY "requests" USING btree ("account_id","day","admitted_at","id") WHERE status >= 400;
