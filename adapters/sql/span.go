package sql

import (
	"errors"

	"hatchel/adapters"
	"hatchel/hcl/template/sqltext"
)

// origin is the call that an execution belongs to; its zero value is that of one which no call makes.
type origin struct {
	call    *adapters.Call
	dialect sqltext.Dialect
}

// systemNames are the names of the database systems in spans.
var systemNames = map[sqltext.Dialect]string{
	sqltext.SQLite: "sqlite", sqltext.PostgreSQL: "postgresql", sqltext.MySQL: "mysql",
}

// startSpan begins the span of a statement. Its text has placeholders in place of the values of the call; that of a
// statement which the caller wrote is left out.
func (e *execution) startSpan() adapters.Span {
	span := e.origin.call.Span.Start(e.kind.Verb, adapters.SpanClient)
	span.SetText("db.system.name", systemNames[e.origin.dialect])
	span.SetText("db.operation.name", e.kind.Verb)
	if !e.byCaller {
		span.SetText("db.query.text", e.text)
	}
	return span
}

// errorType returns the class of the error of a statement; empty for none.
func errorType(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(*unreachableError)):
		return "unavailable"
	case errors.As(err, new(modelError)):
		return "fault"
	}
	if class := adapters.ErrorType(err); class != "internal" {
		return class
	}
	return "database"
}
