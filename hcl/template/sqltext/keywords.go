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
	// Keywords that a value can follow.
	beforeValue = wordSet(`SELECT WHERE AND OR NOT ON HAVING WHEN THEN ELSE CASE BETWEEN SYMMETRIC ASYMMETRIC LIKE ILIKE
		GLOB REGEXP RLIKE MATCH TO IS DISTINCT LIMIT OFFSET FIRST NEXT RETURNING ESCAPE FOR DIV MOD XOR
		BINARY ZONE ROWS RANGE GROUPS LEADING TRAILING BOTH PLACING OF RETURN DO ISNULL NOTNULL WAIT`)

	// Keywords that only a name can follow.
	beforeName = wordSet(`FROM JOIN INTO UPDATE TABLE AS COLLATE CONSTRAINT INDEX VIEW SCHEMA COLUMN DATABASE SEQUENCE
		TRIGGER FUNCTION PROCEDURE ROLE USER REFERENCES ONLY LATERAL SET USING WINDOW RENAME ADD DROP
		ALTER EXISTS OVER CHARSET CHARACTER INDEXED TRUNCATE DESCRIBE DESC ANALYZE VACUUM PRAGMA TYPE
		EXTENSION SAVEPOINT RELEASE GRANT REVOKE`)

	// Keywords after a plain value in ORDER BY, which sorts by a constant.
	afterSort = wordSet(`ASC DESC NULLS LIMIT OFFSET FETCH FOR HAVING WINDOW UNION EXCEPT INTERSECT ROWS ` +
		`RANGE GROUPS ORDER WITH`)

	// Keywords that end the table name in INSERT INTO.
	afterTable = wordSet(`VALUES VALUE SELECT DEFAULT SET OVERRIDING WITH TABLE PARTITION FROM WHERE ON`)

	// Functions whose arguments are separated by keywords.
	keywordCalls = wordSet(`EXTRACT SUBSTRING SUBSTR TRIM OVERLAY POSITION MID`)

	// The main keyword of a statement that begins with WITH.
	mainVerbs = wordSet(`SELECT INSERT UPDATE DELETE MERGE REPLACE VALUES TABLE`)

	// Statements that return rows.
	rowVerbs = wordSet(`SELECT VALUES TABLE SHOW EXPLAIN DESCRIBE DESC PRAGMA FETCH ANALYZE CALL CHECK CHECKSUM`)

	// Separators that an %{if} in a loop can contain.
	separators = wordSet(`, AND OR UNION || +`)
)

// pairs are keywords that form one keyword together.
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
