CREATE TABLE "carried_usage" (
	"email_digest" "bytea" NOT NULL,
	"day" date NOT NULL,
	"meter" text NOT NULL,
	"former_account" uuid NOT NULL,
	"used" bigint NOT NULL,
	CONSTRAINT "carried_usage_email_digest_day_meter_former_account_pk" PRIMARY KEY("email_digest","day","meter","former_account")
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "sign_ins_reset_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "devices_reset_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "carried_usage_day" ON "carried_usage" USING btree ("day");