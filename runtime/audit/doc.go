// Package audit writes down what was done, so that it can be shown later: a log of JSON lines to which is only ever added, in which each record holds the digest of the
// one before it.
//
// [Open] opens the log of a file, [Log.Append] adds a record, [Verify] reads all that there is and names the first line that was changed. A record is in the file when
// Append returns, so that it outlives the process; one that was asked to be durable is on the disk, so that it outlives the machine, too. [OpenTable], [Table.Append] and [VerifyTable] do
// the same with a table of a PostgreSQL database, to which any number of processes write one chain of the same lines.
//
// The chain shows what was changed, left out or put in between. Who can write the files, or owns the table, can also write all of them anew from some record on, or leave out the end: so the
// last digest is what to keep elsewhere.
package audit
