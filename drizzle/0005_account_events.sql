CREATE TABLE "account_events" (
	"account_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"type" text NOT NULL,
	"address" text,
	"user_agent" text,
	"key_id" uuid,
	"detail" text,
	CONSTRAINT "account_events_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE INDEX "account_events_recent" ON "account_events" USING btree ("account_id","at" DESC NULLS FIRST,"id" DESC NULLS FIRST);