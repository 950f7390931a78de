CREATE TABLE "upstream_costs" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"upstream" text NOT NULL,
	"micros" bigint NOT NULL,
	CONSTRAINT "upstream_costs_account_id_day_upstream_pk" PRIMARY KEY("account_id","day","upstream")
);
--> statement-breakpoint
CREATE INDEX "upstream_costs_by_day" ON "upstream_costs" USING btree ("day","upstream");