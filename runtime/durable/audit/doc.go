// Package audit records what was done, so that it can be shown later: an append-only log of JSON
// lines in which each record holds the hash of the record before it.
//
// [Open] opens the log in a file, [Log.Append] adds a record, and [Verify] reads the whole log and
// names the first line that was changed. A record is in the file when Append returns, so that it
// survives the process; a durable record is on the disk, so that it survives the machine as well.
// [OpenTable] and [Table.Append] do the same with a table of a PostgreSQL database, in
// which any number of processes write one chain of the same lines.
//
// The chain reveals records that were changed, removed or inserted. Someone who can write the files, or
// owns the table, can also rewrite all records from some point on, or remove the last ones. Keep the
// last hash elsewhere to detect that.
package audit
