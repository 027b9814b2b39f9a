package sqltext

import "strings"

// keywordSet is a set of upper case words.
type keywordSet map[string]bool

func wordSet(list string) keywordSet {
	set := keywordSet{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

var (
	// A value can stand after these.
	beforeValue = wordSet(`SELECT WHERE AND OR NOT ON HAVING WHEN THEN ELSE CASE BETWEEN SYMMETRIC ASYMMETRIC LIKE ILIKE
		GLOB REGEXP RLIKE MATCH TO IS DISTINCT LIMIT OFFSET FIRST NEXT RETURNING ESCAPE FOR DIV MOD XOR
		BINARY ZONE ROWS RANGE GROUPS LEADING TRAILING BOTH PLACING OF RETURN DO ISNULL NOTNULL WAIT`)

	// Only a name can stand after these.
	beforeName = wordSet(`FROM JOIN INTO UPDATE TABLE AS COLLATE CONSTRAINT INDEX VIEW SCHEMA COLUMN DATABASE SEQUENCE
		TRIGGER FUNCTION PROCEDURE ROLE USER REFERENCES ONLY LATERAL SET USING WINDOW RENAME ADD DROP
		ALTER EXISTS OVER CHARSET CHARACTER INDEXED TRUNCATE DESCRIBE DESC ANALYZE VACUUM PRAGMA TYPE
		EXTENSION SAVEPOINT RELEASE GRANT REVOKE`)

	// A plain value in ORDER BY sorts by nothing if one of these follows.
	afterSort = wordSet(`ASC DESC NULLS LIMIT OFFSET FETCH FOR HAVING WINDOW UNION EXCEPT INTERSECT ROWS` +
		`RANGE GROUPS ORDER WITH`)

	// These end the name of the table in INSERT INTO.
	afterTable = wordSet(`VALUES VALUE SELECT DEFAULT SET OVERRIDING WITH TABLE PARTITION FROM WHERE ON`)

	// Functions whose arguments are separated by keywords.
	keywordCalls = wordSet(`EXTRACT SUBSTRING SUBSTR TRIM OVERLAY POSITION MID`)

	// What a statement that begins WITH can do.
	mainVerbs = wordSet(`SELECT INSERT UPDATE DELETE MERGE REPLACE VALUES TABLE`)

	// Statements that answer with rows.
	rowVerbs = wordSet(`SELECT VALUES TABLE SHOW EXPLAIN DESCRIBE DESC PRAGMA FETCH ANALYZE CALL CHECK CHECKSUM`)

	// What an %{if} in a loop can hold to separate the rounds.
	separators = wordSet(`, AND OR UNION || +`)
)

// pairs are keywords that mean something together.
var pairs = map[[2]string]string{
	{"IS", "NOT"}:           "IS NOT",
	{"IS", "DISTINCT"}:      "IS DISTINCT",
	{"IS NOT", "DISTINCT"}:  "IS DISTINCT",
	{"IS DISTINCT", "FROM"}: "IS DISTINCT FROM",
	{"NOT", "IN"}:           "NOT IN",
	{"ORDER", "BY"}:         "ORDER BY",
	{"GROUP", "BY"}:         "ORDER BY",
	{"PARTITION", "BY"}:     "ORDER BY",
	{"KEY", "UPDATE"}:       "KEY UPDATE",
	{"DISTINCT", "ON"}:      "DISTINCT ON",
	{"SIMILAR", "TO"}:       "LIKE",
	{"SOUNDS", "LIKE"}:      "LIKE",
}
