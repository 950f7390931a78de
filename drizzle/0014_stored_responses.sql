CREATE TABLE "stored_responses" (
	"account_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"key_id" uuid,
	"previous_id" uuid,
	"input" text NOT NULL,
	"body" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "stored_responses_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE INDEX "stored_responses_by_age" ON "stored_responses" USING btree ("created_at");