CREATE TABLE "stop_requests" (
	"account_id" uuid NOT NULL,
	"request_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"was_stopped" boolean,
	CONSTRAINT "stop_requests_account_id_request_id_pk" PRIMARY KEY("account_id","request_id")
);
--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "is_stopped" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "stop_requests_by_age" ON "stop_requests" USING btree ("created_at");