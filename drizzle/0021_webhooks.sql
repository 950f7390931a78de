CREATE TABLE "webhook_messages" (
	"account_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"type" text NOT NULL,
	"data" json NOT NULL,
	"once" text,
	"status" text NOT NULL,
	"attempts" integer NOT NULL,
	"last_attempt_at" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone,
	"response_status" integer,
	"error" text,
	CONSTRAINT "webhook_messages_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"account_id" uuid PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"secret" "bytea" NOT NULL,
	"old_secret" "bytea",
	"old_secret_ends_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"disabled_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_messages_once" ON "webhook_messages" USING btree ("account_id","once") WHERE once is not null;--> statement-breakpoint
CREATE INDEX "webhook_messages_recent" ON "webhook_messages" USING btree ("account_id","at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "webhook_messages_due" ON "webhook_messages" USING btree ("account_id","due_at") WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX "webhook_messages_by_age" ON "webhook_messages" USING btree ("at");