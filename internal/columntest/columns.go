// Package columntest has the types of columns of each database with values, for tests of what becomes of them.
package columntest

// Sample is a type of a column and values of it, as SQL writes them.
type Sample struct {
	Type    string
	Values  []string
	Bind    string // how a tool binds a value of it; input.v by default
	Compare string // how a tool compares a value; %s, which is bound, by default
	NoEqual bool   // the database cannot compare it with =
	NoList  bool   // nor its lists
}

// PostgresTypes create the types that Postgres needs.
var PostgresTypes = []string{
	"CREATE DOMAIN round_domain AS integer CHECK (VALUE > 0)", "CREATE DOMAIN round_stamp AS timestamp",
	"CREATE DOMAIN round_nested AS round_stamp",
	"CREATE TYPE round_row AS (n integer, t text, at timestamp, list integer[])",
	"CREATE TYPE round_range AS RANGE (subtype = timestamp)", "CREATE TYPE round_enum AS ENUM ('a', 'b c')",
}

// localTimes are values of a type for dates and times of PostgreSQL.
var localTimes = []string{"'2026-07-01 12:00:00'", "'2026-07-01 12:00:00.123456'", "'infinity'",
	"'-infinity'", "'0044-03-15 12:00:00 BC'", "'294276-12-31 12:00:00'"}

// Postgres has the types of the catalog, of which each has to be here, and some that users make of them.
var Postgres = []Sample{
	{Type: "bool", Values: []string{"true", "false"}},
	{Type: "int2", Values: []string{"-32768"}},
	{Type: "int4", Values: []string{"2147483647"}},
	{Type: "int8", Values: []string{"9223372036854775807", "9007199254740993"}},
	{Type: "oid", Values: []string{"4294967295"}},
	{Type: "xid", Values: []string{"'7'"}},
	{Type: "cid", Values: []string{"'7'"}},
	{Type: "xid8", Values: []string{"'18446744073709551615'"}},
	{Type: "tid", Values: []string{"'(1,2)'"}},
	{Type: "pg_lsn", Values: []string{"'16/B374D848'"}},
	{Type: "float4", Values: []string{"'NaN'", "'-Infinity'", "0.1", "1e-30"}},
	{Type: "float8", Values: []string{"'NaN'", "'Infinity'", "0.1", "1e300", "0.30000000000000004"}},
	{Type: "numeric", Values: []string{"'NaN'", "'Infinity'", "1.50", "12345678901234567890.123456789", "0", "-0.1"}},
	{Type: "numeric(10,2)", Values: []string{"1.5"}},
	{Type: "money", Values: []string{"1234.5"}},
	{Type: "text", Values: []string{"'a'", "''", "'5'", "'null'", `'{"a":1}'`, "'[1]'", "'{a}'", "'Grüße'"}},
	{Type: "varchar", Values: []string{"'a '"}},
	{Type: "varchar(9)", Values: []string{"'a '"}},
	{Type: "bpchar", Values: []string{"'a'"}},
	{Type: "char(3)", Values: []string{"'a'"}},
	{Type: "name", Values: []string{"'a'"}},
	{Type: `"char"`, Values: []string{"'x'"}},
	{Type: "bytea", Values: []string{`'\xdeadbeef'`, "''"}, Bind: "base64bytes(input.v)"},
	{Type: "uuid", Values: []string{"'123e4567-e89b-12d3-a456-426614174000'"}},
	{Type: "date", Values: []string{"'2026-07-01'", "'infinity'", "'-infinity'", "'0044-03-15 BC'",
		"'5874897-12-31'"}},
	{Type: "time", Values: []string{"'12:00'", "'12:00:00.000001'", "'24:00'"}},
	{Type: "timetz", Values: []string{"'12:00+02'", "'12:00:00.5-05:30'", "'12:00Z'", "'00:00:00+15:59:59'"}},
	{Type: "timestamp", Values: localTimes},
	{Type: "timestamp(0)", Values: localTimes[:2]},
	{Type: "timestamptz", Values: localTimes},
	{Type: "interval", Values: []string{"'1 day 2 hours'", "'-1 year 3 months -4.5 seconds'", "'0'", "'100 hours'"}},
	{Type: "json", Values: []string{`'{"a": [1, null]}'`}, NoEqual: true},
	{Type: "jsonb", Values: []string{`'{"a": [1, null]}'`, "'5'", "'[]'", "'[1, 2]'", "'true'", "'1.50'",
		`'"5"'`, `'"a"'`}},
	{Type: "xml", Values: []string{"'<a>1</a>'"}, NoEqual: true},
	{Type: "jsonpath", Values: []string{"'$.a'"}, NoEqual: true},
	{Type: "inet", Values: []string{"'10.0.0.1'", "'10.0.0.1/8'", "'::1'"}},
	{Type: "cidr", Values: []string{"'10.0.0.0/8'"}},
	{Type: "macaddr", Values: []string{"'08:00:2b:01:02:03'"}},
	{Type: "macaddr8", Values: []string{"'08:00:2b:01:02:03:04:05'"}},
	{Type: "bit", Values: []string{"B'1'"}},
	{Type: "bit(5)", Values: []string{"B'10101'"}},
	{Type: "varbit", Values: []string{"B'10101'", "B''"}},
	{Type: "tsvector", Values: []string{"to_tsvector('english', 'a fat cat''s hat')"}},
	{Type: "tsquery", Values: []string{"'fat & !cat'"}},
	{Type: "point", Values: []string{"'(1,2.5)'"}, NoEqual: true},
	{Type: "line", Values: []string{"'{1,2,3}'"}, NoList: true},
	{Type: "lseg", Values: []string{"'[(0,0),(1,1)]'"}, NoList: true},
	{Type: "box", Values: []string{"'(1,1),(0,0)'"}, NoList: true},
	{Type: "path", Values: []string{"'((0,0),(1,1))'"}, NoList: true},
	{Type: "circle", Values: []string{"'<(0,0),1>'"}, NoList: true},
	{Type: "polygon", Values: []string{"'((0,0),(1,1),(1,0))'"}, NoEqual: true},
	{Type: "int4range", Values: []string{"'[1,5)'", "'empty'", "'(,)'"}},
	{Type: "int8range", Values: []string{"'[1,5)'"}},
	{Type: "numrange", Values: []string{"'[1.5,2.5]'"}},
	{Type: "tsrange", Values: []string{"'[2026-07-01 12:00,infinity)'"}},
	{Type: "tstzrange", Values: []string{"'[2026-07-01 12:00Z,)'"}},
	{Type: "daterange", Values: []string{"'[2026-07-01,2026-08-01)'"}},
	{Type: "int4multirange", Values: []string{"'{[1,5),[7,9)}'", "'{}'"}},
	{Type: "int8multirange", Values: []string{"'{[1,5)}'"}},
	{Type: "nummultirange", Values: []string{"'{[1.5,2.5]}'"}},
	{Type: "tsmultirange", Values: []string{"'{[2026-07-01 12:00,infinity)}'"}},
	{Type: "tstzmultirange", Values: []string{"'{[2026-07-01 12:00Z,)}'"}},
	{Type: "datemultirange", Values: []string{"'{[2026-07-01,)}'"}},
	{Type: "aclitem", Values: []string{"('=r/' || current_user)::aclitem"}},
	{Type: "oidvector", Values: []string{"'1 2'"}},
	{Type: "int2vector", Values: []string{"'1 2'"}, NoEqual: true},
	{Type: "refcursor", Values: []string{"'c'"}, NoEqual: true},
	{Type: "txid_snapshot", Values: []string{"'10:20:10,14'"}, NoEqual: true},
	{Type: "pg_snapshot", Values: []string{"'10:20:10,14'"}, NoEqual: true},
	{Type: "regclass", Values: []string{"'pg_class'"}, Compare: "%s::regclass"},
	{Type: "regcollation", Values: []string{`'"C"'`}, Compare: "%s::regcollation"},
	{Type: "regconfig", Values: []string{"'english'"}, Compare: "%s::regconfig"},
	{Type: "regdictionary", Values: []string{"'simple'"}, Compare: "%s::regdictionary"},
	{Type: "regnamespace", Values: []string{"'pg_catalog'"}, Compare: "%s::regnamespace"},
	{Type: "regoper", Values: []string{"'||/'"}, Compare: "%s::regoper"},
	{Type: "regoperator", Values: []string{"'*(integer,integer)'"}, Compare: "%s::regoperator"},
	{Type: "regproc", Values: []string{"'now'"}, Compare: "%s::regproc"},
	{Type: "regprocedure", Values: []string{"'abs(integer)'"}, Compare: "%s::regprocedure"},
	{Type: "regrole", Values: []string{"current_user::regrole"}, Compare: "%s::regrole"},
	{Type: "regtype", Values: []string{"'integer'"}, Compare: "%s::regtype"},
	{Type: "round_domain", Values: []string{"3"}},
	{Type: "round_stamp", Values: localTimes},
	{Type: "round_row", Values: []string{"(1, 'a b', '2026-07-01 12:00:00', ARRAY[1,2])",
		"(NULL, NULL, NULL, NULL)"}, Compare: "%s::round_row"},
	{Type: "round_range", Values: []string{"'[2026-07-01 12:00,)'"}},
	{Type: "round_nested", Values: localTimes[:1]},
	{Type: "round_enum", Values: []string{"'a'", "'b c'"}},
}

// MySQL has the types of MariaDB.
var MySQL = []Sample{
	{Type: "BOOLEAN", Values: []string{"TRUE", "FALSE", "7"}},
	{Type: "TINYINT", Values: []string{"-128"}},
	{Type: "TINYINT UNSIGNED", Values: []string{"255"}},
	{Type: "SMALLINT", Values: []string{"-32768"}},
	{Type: "MEDIUMINT", Values: []string{"8388607"}},
	{Type: "INT ZEROFILL", Values: []string{"7"}},
	{Type: "BIGINT", Values: []string{"9223372036854775807", "9007199254740993"}},
	{Type: "BIGINT UNSIGNED", Values: []string{"18446744073709551615"}},
	{Type: "FLOAT", Values: []string{"0.1", "1e30", "1.2345678"}, Compare: "CAST(%s AS FLOAT)"},
	{Type: "DOUBLE", Values: []string{"0.1", "1e300", "0.30000000000000004"}},
	{Type: "DECIMAL(30,10)", Values: []string{"12345678901234567890.1234567891", "-0.1", "0"}},
	{Type: "DECIMAL(10,2)", Values: []string{"1.5"}},
	{Type: "BIT(1)", Values: []string{"b'1'"}},
	{Type: "BIT(53)", Values: []string{"b'101'"}},
	{Type: "YEAR", Values: []string{"2026", "0"}},
	{Type: "DATE", Values: []string{"'2026-07-01'", "'1000-01-01'"}},
	{Type: "TIME", Values: []string{"'12:00:00'", "'-838:59:59'"}},
	{Type: "TIME(6)", Values: []string{"'12:00:00.000001'", "'100:00:00.5'"}},
	{Type: "DATETIME", Values: []string{"'2026-07-01 12:00:00'"}},
	{Type: "DATETIME(6)", Values: []string{"'2026-07-01 12:00:00.123456'", "'2026-07-01 12:00:00'",
		"'9999-12-31 23:59:59'"}},
	{Type: "TIMESTAMP NULL", Values: []string{"'2026-07-01 12:00:00'"}},
	{Type: "TIMESTAMP(3) NULL", Values: []string{"'2026-07-01 12:00:00.123'"}},
	{Type: "CHAR(9)", Values: []string{"'a'", "''"}},
	{Type: "VARCHAR(9)", Values: []string{"'a '", "'5'"}},
	{Type: "TINYTEXT", Values: []string{"'Grüße'"}},
	{Type: "TEXT", Values: []string{"'null'"}},
	{Type: "MEDIUMTEXT", Values: []string{"'a'"}},
	{Type: "LONGTEXT", Values: []string{"'a'"}},
	{Type: "ENUM('a','b')", Values: []string{"'b'"}},
	{Type: "SET('a','b')", Values: []string{"'a,b'", "''"}},
	{Type: "JSON", Values: []string{"'{\"a\": [1, null]}'", "'5'", "'[]'"}},
	{Type: "UUID", Values: []string{"'123e4567-e89b-12d3-a456-426614174000'"}},
	{Type: "INET4", Values: []string{"'10.0.0.1'"}},
	{Type: "INET6", Values: []string{"'::1'"}},
	{Type: "BINARY(4)", Values: []string{"x'deadbeef'"}, Bind: "base64bytes(input.v)"},
	{Type: "VARBINARY(9)", Values: []string{"x'deadbeef'", "''"}, Bind: "base64bytes(input.v)"},
	{Type: "TINYBLOB", Values: []string{"x'00ff'"}, Bind: "base64bytes(input.v)"},
	{Type: "BLOB", Values: []string{"x'00ff'"}, Bind: "base64bytes(input.v)"},
	{Type: "MEDIUMBLOB", Values: []string{"x'00ff'"}, Bind: "base64bytes(input.v)"},
	{Type: "LONGBLOB", Values: []string{"x'00ff'"}, Bind: "base64bytes(input.v)"},
	{Type: "GEOMETRY", Values: []string{"ST_GeomFromText('POINT(1 2)')"}, Bind: "base64bytes(input.v)"},
	{Type: "POINT", Values: []string{"ST_GeomFromText('POINT(1 2)')"}, Bind: "base64bytes(input.v)"},
}

// SQLite has types as people declare them. SQLite stores any value in any of them.
var SQLite = func() (columns []Sample) {
	times := []string{"'2026-01-01 12:00:00'", "'2026-01-01T12:00:00Z'", "'2026-01-01 12:00:00.123+02:00'",
		"'2026-01-01'", "'12:00'", "1767225600", "1767225600123", "2461042.5", "'2026-01-01 12:00'"}
	for _, typ := range []string{"DATETIME", "TIMESTAMP", "DATE", "TIME", "timestamp with time zone",
		"TIMESTAMPTZ", "datetime(3)", ""} {
		columns = append(columns, Sample{Type: typ, Values: times})
	}
	for _, typ := range []string{"BOOLEAN", "BOOL"} {
		columns = append(columns, Sample{Type: typ, Values: []string{"1", "0", "TRUE", "'true'", "2", "1.0", "0.5"}})
	}
	for _, typ := range []string{"INTEGER", "BIGINT", "REAL", "NUMERIC", "DECIMAL(10,2)", "FLOAT", "STRING",
		"UUID", "TEXT", "VARCHAR(9)", "ANY"} {
		columns = append(columns, Sample{Type: typ, Values: []string{"1", "-9223372036854775808",
			"9007199254740993", "1.5", "1e300", "'007'", "'a'", "''", "'9007199254740993.5'"}})
	}
	for _, typ := range []string{"REAL", "DOUBLE PRECISION", "NUMBER", "FLOATING POINT", "BOOLEAN NOT_NULL",
		"LOGICAL"} {
		columns = append(columns, Sample{Type: typ, Values: []string{"1", "0", "1.5", "9e999", "-9e999"}})
	}
	return append(columns, Sample{Type: "JSON", Values: []string{`'{"a":[1,null]}'`, "'5'", "5", "1.5"}},
		Sample{Type: "BLOB", Values: []string{"x'00ff'", "x''"}, Bind: "base64bytes(input.v)"})
}()
