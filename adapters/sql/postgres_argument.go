package sql

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"hatchel/adapters"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

// pgArguments encodes bound values as text, which the server parses as the type of the parameter. So a number can be
// bound to a text parameter, and a string to a date or an enum. Bytes are sent in binary, to a parameter whose type the
// server has just described.
func pgArguments(known *pgStatement, args []any) (values [][]byte, oids []uint32, formats []int16, err error) {
	values = make([][]byte, len(args))
	for i, v := range args {
		oid := uint32(pgtype.TextOID)
		if i < len(known.params) {
			oid = known.params[i]
		}
		if raw, ok := v.([]byte); ok {
			values[i] = raw
			if oid == pgtype.ByteaOID {
				if formats == nil {
					oids, formats = make([]uint32, len(args)), make([]int16, len(args))
				}
				oids[i], formats[i] = pgtype.ByteaOID, 1
			}
			continue
		}
		if v == nil {
			continue
		}
		if values[i], err = known.catalog.appendText(make([]byte, 0, 16), v, oid); err != nil {
			return nil, nil, nil, &argumentError{index: i, reason: err}
		}
	}
	return values, oids, formats, nil
}

// argumentError is why a value cannot be sent as the parameter with an index.
type argumentError struct {
	index  int
	reason error
}

func (e *argumentError) Error() string { return e.reason.Error() }
func (e *argumentError) Unwrap() error { return e.reason }

// fractionError is the reason of a number that is no integer, which the server would round.
type fractionError struct {
	number    any
	list      bool   // the number is an element
	attribute string // of a row, if the number is one
}

func (e fractionError) Error() string {
	text, _ := value.Text(e.number) // numbers have a text
	switch {
	case e.attribute != "":
		return fmt.Sprintf("must have an integer as %q, not %s", e.attribute, text)
	case e.list:
		return "must have integers here, not " + text
	}
	return "must be an integer here, not " + text
}

// errUntypedRow is the reason of a row for which the server has no type.
var errUntypedRow = errors.New("must have the type of a row here")

// toFault returns the error with the source of its value.
func (e *argumentError) toFault(source string) *adapters.Fault {
	f := &adapters.Fault{Message: source + " " + e.Error(), Cause: e.reason}
	var fraction fractionError
	switch {
	case e.reason == errUntypedRow:
		f.Hint = fmt.Sprintf("The database compares rows of all types here. Write the one of the column, as in "+
			"${%s}::address", source)
	case !errors.As(e.reason, &fraction):
	case fraction.attribute != "":
		f.Hint = "The type of the database has an integer there. Declare an integer"
	case fraction.list:
		f.Hint = fmt.Sprintf("The database gives ${%[1]s} the type of what is beside it, a list of integers. Write "+
			"= ANY(${%[1]s}::numeric[]) in place of IN to compare with fractions, or declare integers", source)
	default:
		f.Hint = fmt.Sprintf("The database gives ${%[1]s} the type of what is beside it, an integer. Write "+
			"${%[1]s}::numeric to compare with fractions, or declare an integer", source)
	}
	return f
}

// appendText appends the text of a value as a type reads it.
func (c pgCatalog) appendText(dst []byte, v any, oid uint32) ([]byte, error) {
	oid = c.baseOf(oid)
	t := c[oid]
	if isJSON(oid) {
		return appendJSONArgument(dst, v)
	}
	if oid == pgtype.RecordOID {
		return nil, errUntypedRow
	}
	switch v := v.(type) {
	case string:
		return append(dst, v...), c.checkOffset(v, oid)
	case sqltext.AnyText:
		return append(dst, v...), c.checkOffset(string(v), oid)
	case []byte:
		if oid == pgtype.ByteaOID {
			return hex.AppendEncode(append(dst, `\x`...), v), nil
		}
		return append(dst, v...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case float64, json.Number:
		return appendNumber(dst, v, oid)
	case []any:
		element, delimiter := pgArrayElements[oid], byte(',')
		if t != nil && t.element != 0 {
			element, delimiter = t.element, t.delimiter
		}
		return c.appendArray(dst, v, element, delimiter)
	case map[string]any:
		if t != nil && t.attributes != nil {
			return c.appendRow(dst, v, t.attributes)
		}
	}
	return value.AppendJSON(dst, v) // sqltext binds only values that have a JSON form
}

// baseOf returns the type that a domain is made of, and any other type unchanged.
func (c pgCatalog) baseOf(oid uint32) uint32 {
	for t := c[oid]; t != nil && t.base != 0; t = c[oid] {
		oid = t.base
	}
	return oid
}

func isJSON(oid uint32) bool { return oid == pgtype.JSONOID || oid == pgtype.JSONBOID }

// appendNumber appends a number. An integer has no exponent, which the server does not read as one.
func appendNumber(dst []byte, v any, oid uint32) ([]byte, error) {
	if oid == pgtype.Int2OID || oid == pgtype.Int4OID || oid == pgtype.Int8OID || oid == pgtype.OIDOID {
		d := value.DecimalOf(v)
		if !d.IsInteger() {
			return nil, fractionError{number: v}
		}
		return append(dst, d.IntegerText()...), nil
	}
	if f, ok := v.(float64); ok {
		return strconv.AppendFloat(dst, f, 'g', -1, 64), nil
	}
	return append(dst, v.(json.Number)...), nil
}

// appendJSONArgument appends the JSON of a value. A text of the author is JSON already.
func appendJSONArgument(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return append(dst, v...), nil
	case sqltext.AnyText:
		return value.AppendString(dst, string(v)), nil
	case []any:
		return value.AppendJSON(dst, plainArgument(v))
	}
	return value.AppendJSON(dst, v)
}

// appendArray appends an array with every element in quotes.
func (c pgCatalog) appendArray(dst []byte, list []any, element uint32, delimiter byte) (_ []byte, err error) {
	element = c.baseOf(element)
	dst = append(dst, '{')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, delimiter)
		}
		inner, isList := e.([]any)
		switch {
		case e == nil:
			dst = append(dst, "NULL"...)
		case isList && !isJSON(element):
			if dst, err = c.appendArray(dst, inner, element, delimiter); err != nil {
				return nil, err
			}
		default:
			text, err := c.appendText(nil, e, element)
			if fraction, ok := err.(fractionError); ok {
				fraction.list = true
				return nil, fraction
			} else if err != nil {
				return nil, err
			}
			dst = appendQuoted(dst, text)
		}
	}
	return append(dst, '}'), nil
}

// appendRow appends an object as a row. A member that is absent is null.
func (c pgCatalog) appendRow(dst []byte, object map[string]any, attributes []pgAttribute) ([]byte, error) {
	known := 0
	dst = append(dst, '(')
	for i, a := range attributes {
		if i > 0 {
			dst = append(dst, ',')
		}
		v, ok := object[a.name]
		if ok {
			known++
		}
		if v == nil {
			continue
		}
		text, err := c.appendText(nil, v, a.oid)
		if fraction, ok := err.(fractionError); ok {
			fraction.attribute = a.name
			return nil, fraction
		} else if err != nil {
			return nil, err
		}
		dst = appendQuoted(dst, text)
	}
	if known < len(object) {
		return nil, unknownAttribute(object, attributes)
	}
	return append(dst, ')'), nil
}

// unknownAttribute returns the error of an object that has a member too many.
func unknownAttribute(object map[string]any, attributes []pgAttribute) error {
	names := make([]string, len(attributes))
	known := map[string]bool{}
	for i, a := range attributes {
		names[i], known[a.name] = a.name, true
	}
	for _, key := range value.Keys(object) {
		if !known[key] {
			return &unknownMemberError{key, names}
		}
	}
	return nil
}

// unknownMemberError is the reason of an object with a member that its composite type does not have.
type unknownMemberError struct {
	member string
	known  []string
}

func (e *unknownMemberError) Error() string {
	return fmt.Sprintf("has the member %q, and the type of the database has %q", e.member, e.known)
}

// appendQuoted appends a text in quotes, as arrays and rows read it.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
