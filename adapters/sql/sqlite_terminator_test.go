package sql

import "testing"

func TestTrimTerminator(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1":                    "SELECT 1",
		"SELECT 1;":                   "SELECT 1",
		"SELECT 1 ; ;\n-- done; '":    "SELECT 1 ",
		"SELECT 1; /* a ; b":          "SELECT 1",
		"SELECT 1; SELECT 2":          "SELECT 1; SELECT 2",
		"SELECT ';--' AS a":           "SELECT ';--' AS a",
		"SELECT 'it''s;';":            "SELECT 'it''s;'",
		"SELECT \";\", `;`, [;] -- ;": "SELECT \";\", `;`, [;] -- ;",
		"SELECT 3 - 2 / 1; -- a":      "SELECT 3 - 2 / 1",
		"SELECT /* ; */ 1":            "SELECT /* ; */ 1",
		"SELECT 'not closed ; -- x":   "SELECT 'not closed ; -- x",
		"":                            "",
	} {
		t.Run(text, func(t *testing.T) { wantEqual(t, trimTerminator(text), want) })
	}
}
