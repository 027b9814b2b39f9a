package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// localKind is what a type of PostgreSQL has of dates and times without a time zone. The server reads a value with an
// offset as such a type and ignores the offset.
type localKind int

const (
	noLocal        localKind = iota
	localTimestamp           // timestamp without time zone
	localTimestamps
	localTime
	localDate
	localPart // a range or a row of them
	zonedPart // a type with a time zone, or a row that has one
)

var localTypes = map[uint32]localKind{
	pgtype.TimestampOID: localTimestamp, pgtype.TimeOID: localTime, pgtype.DateOID: localDate,
	pgtype.TsrangeOID: localPart, pgtype.TsmultirangeOID: localPart,
	pgtype.DaterangeOID: localPart, pgtype.DatemultirangeOID: localPart,
	pgtype.TimestamptzOID: zonedPart, pgtype.TimetzOID: zonedPart,
	pgtype.TstzrangeOID: zonedPart, pgtype.TstzmultirangeOID: zonedPart,
}

// localKindOf returns the kind of a type. A row that also has times with a time zone is a zonedPart: its text does not
// say which of them an offset belongs to.
func (c pgCatalog) localKindOf(oid uint32) localKind {
	oid = c.baseOf(oid)
	t := c[oid]
	element, subtype := pgArrayElements[oid], uint32(0)
	if t != nil {
		element, subtype = max(element, t.element), t.subtype
	}
	switch {
	case element != 0:
		kind := c.localKindOf(element)
		if kind == localTimestamp {
			return localTimestamps
		}
		return kind
	case subtype != 0:
		if kind := c.localKindOf(subtype); kind == noLocal || kind == zonedPart {
			return kind
		}
		return localPart
	case t == nil || t.attributes == nil:
		return localTypes[oid]
	}
	kind := noLocal
	for _, a := range t.attributes {
		switch c.localKindOf(a.oid) {
		case noLocal:
		case zonedPart:
			return zonedPart
		default:
			kind = localPart
		}
	}
	return kind
}

// offsetError is the reason of a time with an offset for a type without one.
type offsetError struct {
	what    string // what the database reads
	instead string // what to send
}

func (e offsetError) Error() string {
	const text = "has the offset or the name of a time zone, but the database reads %s here, which has none: send %s"
	return fmt.Sprintf(text, e.what, e.instead)
}

var offsetErrors = map[localKind]offsetError{
	localTime:      {"a time without time zone", "it without the offset, such as 13:45:00"},
	localDate:      {"a date", "the date alone, such as 2026-01-31"},
	localTimestamp: {"a timestamp without time zone", "it without the offset, such as 2026-01-31 13:45:00"},
	localPart:      {"dates or times without time zone", "them without offsets, such as 2026-01-31 13:45:00"},
}

// checkOffset returns the reason why a text cannot be sent as a type, if the server would ignore an offset in it.
func (c pgCatalog) checkOffset(text string, oid uint32) error {
	kind := localTypes[oid]
	if c[oid] != nil {
		kind = c.localKindOf(oid)
	}
	if refused, ok := offsetErrors[kind]; ok && hasOffset(text) {
		return refused
	}
	return nil
}

// convertOffsets returns the arguments of a statement. A time with an offset that is sent as a timestamp without time
// zone is converted to the time zone of the session, by the server, as it converts a timestamp with time zone.
func (tx *pgTransaction) convertOffsets(ctx context.Context, known *pgStatement, args []any) ([]any, error) {
	var casts []string
	var values [][]byte
	var converted []int // indexes of args
	for i, arg := range args {
		if i >= len(known.params) {
			break
		}
		dimensions := ""
		switch known.catalog.localKindOf(known.params[i]) {
		case localTimestamps:
			dimensions = "[]"
		case localTimestamp:
		default:
			continue
		}
		if !anyText(arg, hasOffset) {
			continue
		}
		text, err := known.catalog.appendText(nil, arg, pgtype.TimestamptzArrayOID)
		if err != nil {
			return nil, &argumentError{index: i, reason: err}
		}
		const cast = "$%d::pg_catalog.timestamptz%[2]s::pg_catalog.timestamp%[2]s"
		casts = append(casts, fmt.Sprintf(cast, len(casts)+1, dimensions))
		converted, values = append(converted, i), append(values, text)
	}
	if converted == nil {
		return args, nil
	}
	args = slices.Clone(args)
	pipe := tx.start(ctx)
	pipe.SendQueryParams("SELECT "+strings.Join(casts, ", "), values, nil, nil, nil)
	err := pipe.begin()
	if err == nil {
		err = readResult(pipe.Pipeline, func(row [][]byte) {
			for n, i := range converted {
				args[i] = string(row[n])
			}
		})
	}
	if closeErr := pipe.Close(); err == nil {
		err = closeErr
	}
	return args, err
}
