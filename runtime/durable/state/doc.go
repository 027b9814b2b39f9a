// Package state stores what a server must remember when its process ends: approvals, tasks,
// idempotency records, webhook deliveries and files are the bodies of [Record] values, and rate limits
// are counted next to them. [Store] is the contract. [Open] keeps a store in an SQLite file, which
// several processes may have open, and [OpenPostgres] in a PostgreSQL database, which makes one server
// of processes on several machines. As a [Courier] it carries messages between them. A [Lease] gives one of
// these processes the right to work on a record.
package state
