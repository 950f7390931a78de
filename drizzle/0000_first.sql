CREATE TABLE "accounts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"email_key" text NOT NULL,
	"password_hash" text NOT NULL,
	"plan" text NOT NULL,
	"billing_period" text NOT NULL,
	"plan_changed_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"account_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"scopes" text[] NOT NULL,
	"allowed_origins" text[] NOT NULL,
	"public_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_keys_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "conversations" (
	"account_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"key_id" uuid,
	"title" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "conversations_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "key_secrets" (
	"public_id" text PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"key_id" uuid NOT NULL,
	"digest" "bytea" NOT NULL,
	"ends_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "key_usage" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"key_id" uuid NOT NULL,
	"meter" text NOT NULL,
	"used" bigint NOT NULL,
	CONSTRAINT "key_usage_account_id_day_key_id_meter_pk" PRIMARY KEY("account_id","day","key_id","meter")
);
--> statement-breakpoint
CREATE TABLE "leases" (
	"process" uuid PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "messages" (
	"account_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"role" text NOT NULL,
	"content" text NOT NULL,
	"model" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "messages_account_id_conversation_id_id_pk" PRIMARY KEY("account_id","conversation_id","id")
);
--> statement-breakpoint
CREATE TABLE "passages" (
	"guide" text NOT NULL,
	"position" integer NOT NULL,
	"title" text NOT NULL,
	"heading" text NOT NULL,
	"anchor" text NOT NULL,
	"body" text NOT NULL,
	"search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('english', heading), 'A') || setweight(to_tsvector('english', title), 'B') || setweight(to_tsvector('english', body), 'C')) STORED NOT NULL,
	CONSTRAINT "passages_guide_position_pk" PRIMARY KEY("guide","position")
);
--> statement-breakpoint
CREATE TABLE "refusals" (
	"account_id" uuid NOT NULL,
	"minute" timestamp (3) with time zone NOT NULL,
	"key_id" uuid NOT NULL,
	"code" text NOT NULL,
	"status" smallint NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "refusals_account_id_minute_key_id_code_pk" PRIMARY KEY("account_id","minute","key_id","code")
);
--> statement-breakpoint
CREATE TABLE "requests" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"id" uuid NOT NULL,
	"key_id" uuid,
	"endpoint" text NOT NULL,
	"meter" text NOT NULL,
	"units" integer NOT NULL,
	"state" text NOT NULL,
	"process" uuid NOT NULL,
	"admitted_at" timestamp (3) with time zone NOT NULL,
	"settled_at" timestamp (3) with time zone,
	"status" smallint,
	"code" text,
	"model" text,
	"input_tokens" integer,
	"output_tokens" integer,
	"latency_ms" integer,
	CONSTRAINT "requests_account_id_day_id_pk" PRIMARY KEY("account_id","day","id")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
CREATE TABLE "sessions" (
	"account_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"digest" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_seen_at" timestamp (3) with time zone NOT NULL,
	"address" text NOT NULL,
	"user_agent" text NOT NULL,
	CONSTRAINT "sessions_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "usage_counters" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"meter" text NOT NULL,
	"used" bigint NOT NULL,
	CONSTRAINT "usage_counters_account_id_day_meter_pk" PRIMARY KEY("account_id","day","meter")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "accounts_email" ON "accounts" USING btree ("email_key") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX "api_keys_origins" ON "api_keys" USING gin ("allowed_origins") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "conversations_recent" ON "conversations" USING btree ("account_id","updated_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "key_secrets_key" ON "key_secrets" USING btree ("account_id","key_id");--> statement-breakpoint
CREATE INDEX "passages_search" ON "passages" USING gin ("search");--> statement-breakpoint
CREATE INDEX "requests_open" ON "requests" USING btree ("process") WHERE state = 'admitted';--> statement-breakpoint
CREATE UNIQUE INDEX "sessions_digest" ON "sessions" USING btree ("digest");