// Package state keeps what a server must remember when its process ends: the key with which it seals what it gives out, what of that was used already, tasks, calls that must
// not be made twice, how often others were made, and [Records] of any kind. [Store] is the contract; [Open] keeps it in a file of SQLite, which several processes may have
// open at once, and [OpenPostgres] in a database, which makes one server of processes on several machines.
package state
