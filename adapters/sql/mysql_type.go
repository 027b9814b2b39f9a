package sql

import (
	"database/sql/driver"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hatchel/hcl/schema"
)

var (
	mysqlInteger = columnType{nullable(schema.Integer, ""), convertNumber}
	mysqlFloat   = columnType{nullable(schema.Number, ""), convertNumber}
	mysqlTime    = columnType{nullable(schema.String, "date and time"), convertTime}
	mysqlBytes   = columnType{nullable(schema.String, "base64"), convertBytes}

	// mysqlTypes are the types by the driver's name for them. All others are text.
	mysqlTypes = map[string]columnType{
		"TINYINT": mysqlInteger, "SMALLINT": mysqlInteger, "MEDIUMINT": mysqlInteger, "INT": mysqlInteger,
		"BIGINT": mysqlInteger, "YEAR": mysqlInteger, "FLOAT": mysqlFloat, "DOUBLE": mysqlFloat, "DECIMAL": decimalText,
		"DATETIME": mysqlTime, "TIMESTAMP": mysqlTime, "DATE": dateType,
		"BINARY": mysqlBytes, "VARBINARY": mysqlBytes, "TINYBLOB": mysqlBytes, "BLOB": mysqlBytes,
		"MEDIUMBLOB": mysqlBytes, "LONGBLOB": mysqlBytes, "GEOMETRY": mysqlBytes, "VECTOR": mysqlBytes,
		"BIT":  {nullable(schema.Integer, "bits"), convertBits},
		"JSON": jsonType,
		"NULL": {&schema.Type{Kind: schema.Any}, convertString},
	}
)

// columnsOf returns the columns of a statement. A prepared statement keeps them until the schema changes.
func (m *mysqlDatabase) columnsOf(s *mysqlStatement, rows driver.Rows, names []string) *typedColumns {
	typed, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
	typeNames := make([]string, len(names))
	for i := range names {
		typeNames[i] = typed.ColumnTypeDatabaseTypeName(i)
	}
	if s.columns != nil && slices.Equal(names, s.names) && slices.Equal(typeNames, s.typeNames) {
		return s.columns
	}
	columns, types := make([]column, len(names)), make([]columnType, len(names))
	for i, name := range names {
		types[i] = m.typeOf(typeNames[i])
		columns[i] = column{name, types[i].schema}
	}
	s.names, s.typeNames = slices.Clone(names), typeNames
	s.columns = &typedColumns{resultColumns: *newResultColumns(columns), types: types}
	return s.columns
}

func (m *mysqlDatabase) typeOf(name string) columnType {
	name = strings.TrimPrefix(name, "UNSIGNED ")
	if name == "DECIMAL" && m.config.decimalsAsNumbers() {
		return decimalNumber
	}
	if t, ok := mysqlTypes[name]; ok {
		if (name == "BIGINT" || name == "BIT") && m.config.bigIntegersAsText() {
			t.schema = bigIntegerType
		}
		return t
	}
	return textType
}

// convertMySQL converts a value of the driver and adds the length of its text to size.
func convertMySQL(v any, t columnType, size *int) any {
	v = convertMySQLValue(v, t, size)
	if t.schema == bigIntegerType {
		return textOfBig(v)
	}
	return v
}

func convertMySQLValue(v any, t columnType, size *int) any {
	switch v := v.(type) {
	case []byte:
		*size += len(v)
		return t.convert(v)
	case string:
		*size += len(v)
		return t.convert([]byte(v))
	case uint64:
		if v > math.MaxInt64 {
			return convertNumber(strconv.AppendUint(nil, v, 10))
		}
		return int64(v)
	case float32: // keeps the digits that FLOAT displays
		return convertFloat(strconv.AppendFloat(nil, float64(v), 'g', -1, 32))
	}
	return v
}

func convertBytes(b []byte) any { return base64.StdEncoding.EncodeToString(b) }

// convertTime returns a date and time in the format of RFC 3339 without an offset: a DATETIME has none, and a TIMESTAMP
// is in the time zone of the session.
func convertTime(b []byte) any {
	const layout = "2006-01-02 15:04:05.999999"
	if t, err := time.Parse(layout, string(b)); err == nil {
		return t.Format("2006-01-02T15:04:05.999999")
	}
	return string(b)
}

func convertBits(b []byte) any {
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return convertNumber(strconv.AppendUint(nil, n, 10))
}
