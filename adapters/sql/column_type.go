package sql

import (
	"math"
	"strconv"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// columnType is the type of a column, and how the text form of its values is converted.
type columnType struct {
	schema  *schema.Type
	convert func([]byte) any
}

// typedColumns are the columns of a result.
type typedColumns struct {
	resultColumns
	types []columnType
}

func nullable(k schema.Kind, doc string) *schema.Type {
	return &schema.Type{Kind: k, Nullable: true, Description: doc}
}

// Types that several engines have.
var (
	textType      = columnType{nullable(schema.String, ""), convertString}
	dateType      = columnType{nullable(schema.String, "date"), convertString}
	decimalText   = columnType{nullable(schema.String, "decimal"), convertString}
	decimalNumber = columnType{nullable(schema.Number, "decimal"), convertDecimal}
	jsonType      = columnType{&schema.Type{Kind: schema.Any}, convertJSON}
)

func convertString(b []byte) any { return string(b) }

func convertInteger(b []byte) any {
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return string(b)
	}
	return n
}

// convertFloat returns nil for NaN and the infinities, which JSON does not have.
func convertFloat(b []byte) any {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return f
}

func convertNumber(b []byte) any { return value.ParseNumber(string(b)) }

func convertDecimal(b []byte) any {
	if len(b) == 0 || b[len(b)-1] < '0' || b[len(b)-1] > '9' { // NaN, Infinity
		return nil
	}
	return value.ParseNumber(string(b))
}

func convertJSON(b []byte) any {
	v, err := value.Decode(b)
	if err != nil { // databases allow duplicate keys
		return string(b)
	}
	return v
}
