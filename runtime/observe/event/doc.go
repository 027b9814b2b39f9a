// Package event has the events of a server: a ring that keeps the latest events in memory, the
// listeners that read it, and the streams that send events to clients.
//
// # Publishing
//
// A generation has a [Publisher], which is nil if the configuration has neither events nor on blocks.
// While nobody listens, an event costs one atomic load, [Publisher.Wants]. [Publisher.Call] and
// [Publisher.Step] allocate nothing; all other events are published by [Publisher.Publish]. Package
// hatchel/hcl/eventkind is the table of the kinds of events and the members of their data.
//
// The publishing code removes sensitive inputs, as for the audit log. The Publisher removes the known
// secrets of the configuration before an event is kept.
//
// # The ring
//
// A [Ring] belongs to a process and outlives generations. It takes 4 MiB while it records, and
// nothing otherwise: it records from its first listener on until [Linger] after the last one, and
// between [Ring.Hold] and the release. Each event is encoded once, when it is published. A [Listener]
// has a position in the ring and no queue, so a slow one never delays a call: its next events are
// overwritten, and it gets an event of the kind gap with their number.
//
// # Readers
//
// GET /events: [ParseQuery], Host.Listen of package runtime, and [Stream.Serve].
//
// A page that shows what has happened: Host.Listen with Query.Replay, and [Listener.Next] until
// io.EOF, because Query.Follow is false. It sees what GET /events would send to the same caller. A
// server whose pages must have a history from their first moment on calls Ring.Hold.
//
// A hook: [Hook]. It is called while the event is published, so before the call of the event is
// answered. It can therefore store the event durably before that.
package event
