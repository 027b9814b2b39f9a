package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// pageConfig is a server of rows, many of which have the same day. A change deletes a row and inserts two.
const pageConfig = `
secret "state" { env = "STATE" }
state { postgres = secret.state }
%s
tool "fill" {
  description = "Create and fill the tables."
  step "drop_digits" {
    sql "desk" { exec = "DROP TABLE IF EXISTS page_digits" }
  }
  step "drop_rows" {
    sql "desk" { exec = "DROP TABLE IF EXISTS page_rows" }
  }
  step "digits" {
    sql "desk" { exec = "CREATE TABLE page_digits (n INTEGER)" }
  }
  step "rows" {
    sql "desk" { exec = "CREATE TABLE page_rows (id INTEGER PRIMARY KEY, day INTEGER NOT NULL, title VARCHAR(40))" }
  }
  step "ten" {
    sql "desk" { exec = "INSERT INTO page_digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)" }
  }
  step "all" {
    sql "desk" {
      exec = <<-SQL
        INSERT INTO page_rows SELECT a.n * 1000 + b.n * 100 + c.n * 10 + d.n + 1, c.n * 10 + d.n, 'A title'
        FROM page_digits a, page_digits b, page_digits c, page_digits d
      SQL
    }
  }
  text = "done"
}
tool "change" {
  description = "Delete a row, and insert one before and one after it."
  input "gone" { type = integer }
  input "day" { type = integer }
  step "delete" {
    sql "desk" { exec = "DELETE FROM page_rows WHERE id = ${input.gone}" }
  }
  step "insert" {
    sql "desk" {
      exec = <<-SQL
        INSERT INTO page_rows (id, day, title) VALUES
          (${input.gone} + 20000, ${input.day} + 1, 'new'), (${input.gone} + 40000, ${input.day} - 1, 'new')
      SQL
    }
  }
  text = "done"
}
tool "walk" {
  description = "Read the rows in pages."
  page {
    size  = 250
    total = 20000
    keys  = { day = integer, id = integer }
  }
  sql "desk" {
    query = <<-SQL
      SELECT id, day, title FROM page_rows
      %%{if page.after != null} WHERE (day, id) < (${page.after.day}, ${page.after.id}) %%{endif}
      ORDER BY day DESC, id DESC LIMIT ${page.limit}
    SQL
  }
}
`

// Each page is asked of the other one of two processes, which share a state.
func TestEveryRowIsDeliveredOnceByTwoProcessesOnEachEngine(t *testing.T) {
	t.Parallel()
	for engine, connection := range map[string]string{
		"sqlite":   `connection "sqlite" "desk" { file = "desk.db" }`,
		"postgres": `connection "postgres" "desk" { url = secret.state }`,
		"mysql":    "secret \"rows\" { env = \"ROWS\" }\nconnection \"mysql\" \"desk\" { url = secret.rows }",
	} {
		t.Run(engine, func(t *testing.T) {
			environ := []string{"STATE=" + emptySchema(t), "ROWS=" + os.Getenv("HATCHEL_TEST_MYSQL")}
			if engine == "mysql" && environ[1] == "ROWS=" {
				t.Skip("HATCHEL_TEST_MYSQL is not set")
			}
			dir := t.TempDir()
			config := fmt.Sprintf(pageConfig, connection)
			if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(config), 0o644); err != nil {
				t.Fatal(err)
			}
			processes := []*replica{startReplicaIn(t, dir, environ), startReplicaIn(t, dir, environ)}
			if text := callTool(t, processes[0].url, "fill").text(); text != "done" {
				t.Fatal(text)
			}
			walkAllPages(t, processes)
		})
	}
}

// walkAllPages reads all pages, while rows before and after the end of each page come and go.
func walkAllPages(t *testing.T, processes []*replica) {
	t.Helper()
	delivered, arguments, pages := map[int]int{}, map[string]any{}, 0
	for ; ; pages++ {
		url := processes[pages%2].url
		text := sendRPC(t, url, "tools/call", map[string]any{"name": "walk", "arguments": arguments}).text()
		var page struct {
			Rows   []struct{ ID, Day int }
			Cursor string `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Rows) == 0 || pages > 100 {
			t.Fatalf("page %d: %v: %s", pages, err, text)
		}
		for _, row := range page.Rows {
			delivered[row.ID]++
		}
		if page.Cursor == "" {
			break
		}
		last := page.Rows[len(page.Rows)-1]
		change := map[string]any{"gone": last.ID, "day": last.Day}
		if text := sendRPC(t, url, "tools/call", map[string]any{"name": "change", "arguments": change}).text(); text != "done" {
			t.Fatal(text)
		}
		arguments = map[string]any{"cursor": page.Cursor}
	}
	if pages < 39 {
		t.Errorf("there were %d pages", pages+1)
	}
	for id := 1; id <= 10_000; id++ {
		if delivered[id] != 1 {
			t.Errorf("row %d was delivered %d times", id, delivered[id])
		}
	}
	for id, n := range delivered {
		if n > 1 {
			t.Errorf("row %d was delivered %d times", id, n)
		}
	}
}
