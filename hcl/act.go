package hcl

// Act is one thing that the calls of a backend do, or that a connection lets them do, as the author
// wrote it.
type Act struct {
	Verb string // in upper case, such as GET, READ, WRITE or RUN
	What string // what is known without the source, such as "INSERT invoices"; may be empty
	// Source holds the fields whose arguments say where, such as the address of a request; they are
	// shown as they are written, so that the value of a variable is not part of it
	Source []any
}

// Actor is the configuration of a backend or a connection that lists its acts. Conn is the connection
// of a backend; nil for none.
type Actor interface{ Acts(conn *Connection) []Act }

// SourceOf returns where the argument that was decoded into field is written, in the block or in its
// connection.
func (b *Backend) SourceOf(field any) (Range, bool) {
	if r, ok := b.ranges[field]; ok {
		return r, true
	}
	if b.Connection == nil {
		return Range{}, false
	}
	return b.Connection.SourceOf(field)
}

// SourceOf returns where the argument that was decoded into field is written.
func (c *Connection) SourceOf(field any) (Range, bool) {
	r, ok := c.ranges[field]
	return r, ok
}
