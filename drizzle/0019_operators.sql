CREATE TABLE "operator_log" (
	"id" uuid PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"operator_id" uuid,
	"operator_email" text,
	"action" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"subject_email" text NOT NULL,
	"detail" text,
	"address" text,
	"user_agent" text
);
--> statement-breakpoint
CREATE INDEX "operator_log_recent" ON "operator_log" USING btree ("at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "requests_slow" ON ONLY "requests" USING btree ("day","admitted_at") WHERE latency_ms >= 5000;
