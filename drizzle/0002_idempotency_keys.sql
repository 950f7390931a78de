CREATE TABLE "idempotency_keys" (
	"account_id" uuid NOT NULL,
	"owner" uuid NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"request_id" uuid NOT NULL,
	"day" date NOT NULL,
	"process" uuid NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"status" smallint,
	"body" text,
	CONSTRAINT "idempotency_keys_account_id_owner_key_pk" PRIMARY KEY("account_id","owner","key")
);
--> statement-breakpoint
CREATE INDEX "idempotency_keys_request" ON "idempotency_keys" USING btree ("account_id","request_id");