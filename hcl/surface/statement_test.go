package surface

import (
	"slices"
	"strings"
	"testing"
)

func TestAStatementIsWiderUnlessItIsProvedNarrower(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"SELECT a FROM t", "select  a\nfrom t", "same"},
		{"DELETE FROM t WHERE id = {input.id} AND status = 'draft'", "DELETE FROM t WHERE id = {input.id}",
			"no longer requires status = 'draft'"},
		{"DELETE FROM t WHERE id = {input.id}", "DELETE FROM t WHERE id = {input.id} AND status = 'draft'", ""},
		{"DELETE FROM t", "DELETE FROM t WHERE a = 1", ""},
		{"DELETE FROM t WHERE a = 1", "DELETE FROM t", "no longer requires a = 1"},
		{"SELECT id FROM t WHERE owner = {caller.subject}", "SELECT id FROM t WHERE (owner = {caller.subject} OR 1 = 1)",
			"no longer requires owner = {caller.subject}"},
		{"SELECT id FROM t WHERE owner = {caller.subject} AND a = 1", "SELECT id FROM t WHERE a = 1 OR owner = {caller.subject} AND a = 1",
			"no longer requires owner = {caller.subject}; no longer requires a = 1"},
		{"SELECT id FROM t WHERE a = 1 OR a = 2", "SELECT id FROM t WHERE (a = 2 OR a = 1) AND b = 1", ""},
		{"SELECT id FROM t WHERE a = 1 OR a = 2", "SELECT id FROM t WHERE a = 1", ""},
		{"SELECT id FROM t WHERE a = 1", "SELECT id FROM t WHERE a = 1 OR a = 2", "no longer requires a = 1"},
		{"SELECT id FROM t WHERE a = 1", "SELECT id FROM t WHERE a = 1 AND b = 2 || 1", "no longer requires a = 1"},
		{"SELECT id FROM t WHERE a BETWEEN 1 AND 2 AND b = 1", "SELECT id FROM t WHERE a BETWEEN 1 AND 3 AND b = 1",
			"no longer requires a BETWEEN 1 AND 2"},
		{"SELECT id FROM t WHERE a BETWEEN 1 AND 2", "SELECT id FROM t WHERE a BETWEEN 1 AND 2 AND b = 1", ""},
		{"SELECT id FROM t WHERE (a = 1 AND b = 2)", "SELECT id FROM t WHERE b = 2 AND a = 1 AND c", ""},
		{"SELECT id FROM t WHERE a = 'x  y'", "SELECT id FROM t WHERE a = 'x y'", "no longer requires a = 'x  y'"},
		{"SELECT id, name FROM t", "SELECT id FROM t", ""},
		{"SELECT id FROM t", "SELECT id, salary FROM t", "reads salary"},
		{"SELECT id FROM t", "SELECT * FROM t", "reads *"},
		{"SELECT id FROM t", "SELECT id FROM T", "the statement is another one"},
		{"SELECT id FROM t", "SELECT id FROM u", "the statement is another one"},
		{"SELECT id FROM t LIMIT 10", "SELECT id FROM t LIMIT 5", ""},
		{"SELECT id FROM t LIMIT 10", "SELECT id FROM t LIMIT 50", "LIMIT 10 → 50"},
		{"SELECT id FROM t LIMIT 10", "SELECT id FROM t", "LIMIT 10 → none"},
		{"SELECT id FROM t", "SELECT id FROM t LIMIT 10", ""},
		{"SELECT id FROM t LIMIT 10", "SELECT id FROM t LIMIT {input.n}", "LIMIT 10 → {input.n}"},
		{"SELECT id FROM t ORDER BY a LIMIT 10", "SELECT id FROM t ORDER BY b LIMIT 10", ""},
		{"SELECT id FROM t LIMIT 10 OFFSET 5", "SELECT id FROM t LIMIT 10 OFFSET 6", "the statement is another one"},
		{"SELECT id FROM t", "SELECT id FROM t UNION SELECT id FROM u", "the statement is another one"},
		{"SELECT id FROM t WHERE a = 1", "SELECT id FROM t WHERE a = 1 UNION SELECT id FROM u", "the statement is another one"},
		{"SELECT id FROM t WHERE a = 1", "SELECT id FROM t WHERE a = 1; DELETE FROM t", "the statement is another one"},
		{"SELECT id FROM t WHERE a = 1", "SELECT id FROM t WHERE a = 1 -- AND", "the statement is another one"},
		{"UPDATE t SET a = 1 WHERE id = 1", "UPDATE t SET a = 2 WHERE id = 1", "the statement is another one"},
		{"UPDATE t SET a = 1 WHERE id = 1", "UPDATE t SET a = 1, b = 2 WHERE id = 1", "the statement is another one"},
		{"UPDATE t SET a = 1 WHERE id = 1", "UPDATE t SET a = 1 WHERE id = 1 RETURNING *", "the statement is another one"},
		{"INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING", "the statement is another one"},
		{"SELECT id FROM t WHERE CASE WHEN a AND b THEN 1 END = 1", "SELECT id FROM t WHERE CASE WHEN a THEN 1 END = 1",
			"no longer requires CASE WHEN a AND b THEN 1 END = 1"},
		{"SELECT id FROM t WHERE id IN (SELECT 1 FROM u WHERE a = 1)", "SELECT id FROM t WHERE id IN (SELECT 1 FROM u)",
			"no longer requires id IN ( SELECT 1 FROM u WHERE a = 1 )"},
		{"SELECT id FROM t WHERE a = {input.x == \"}\" ? 1 : 2}", "SELECT id FROM t WHERE a = {input.x == \"}\" ? 1 : 2} AND b = 1", ""},
		{"SELECT id FROM t FOR UPDATE", "SELECT id FROM t", "the statement is another one"},
		{"SELECT count(*) FROM t WHERE a = 1 GROUP BY b", "SELECT count(*) FROM t WHERE a = 1 AND c = 1 GROUP BY b", ""},
		{"CALL pay(1)", "CALL pay(2)", "the statement is another one"},
	} {
		c := compareStatements(test.old, test.new)
		slices.Sort(c.wider)
		want := strings.Split(test.want, "; ")
		slices.Sort(want)
		got := c.wider
		if c.same {
			got = []string{"same"}
		}
		if strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("%s\n→ %s\ngot %q, want %q", test.old, test.new, got, test.want)
		}
	}
}
