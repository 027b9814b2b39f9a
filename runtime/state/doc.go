// Package state keeps what a server must remember when its process ends, as [Records] of a few kinds: what its packages know of approvals, tasks, calls that must not be made twice,
// deliveries and files are the bodies of those, and how often something was done is paced beside them. [Store] is the contract; [Open] keeps it in a file of SQLite, which several
// processes may have open at once, and [OpenPostgres] in a database, which makes one server of processes on several machines.
package state
