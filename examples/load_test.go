package examples_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tools are the examples and what a client sees of each.
var tools = map[string][]string{
	"answers":     {"count_tickets", "list_tickets", "walk_tickets"},
	"approvals":   {"forget_customer", "refund", "refunds"},
	"attachments": {"archive_scan", "count_words", "keep_document"},
	"console":     {"order", "refund"},
	"desk":        {"close_ticket", "export_tickets", "list_tickets", "summarize_ticket"},
	"files":       {"add_to_note", "list_notes", "read_note", "read_table", "write_note"},
	"invoices":    {"export_report", "import_csv", "revenue_report", "save_csv"},
	"masks":       {"customer_notes", "find_customers", "send_reminder"},
	"ops":         {"count_by_level", "disk_usage", "git_log", "search_logs", "service_status"},
	"orders":      {"create_order", "get_order", "ledger", "list_orders", "sync_order"},
	"payments":    {"exchange_rate", "pay_order"},
	"replicas":    {"ping", "release_hold"},
	"search": {"add_note", "assign_ticket", "cancel_order", "change_address", "close_ticket", "get_order", "list_orders",
		"list_refunds", "list_tickets", "open_ticket", "refund_order", "unpaid_orders"},
	"upstream": {"close_bug", "find_bugs", "report_bug"},
	"team":     {"invoice_delete", "invoice_list", "invoice_pay"},
	"postgres": {"close_tickets", "open_ticket", "query", "search_tickets"},
	"views":    {"get_ticket", "hours_by_month", "list_tickets", "new_ticket", "open_ticket", "tickets_by_team"},
}

// environment is what examples need to load.
var environment = []string{
	"HELPDESK_DSN=postgres://127.0.0.1:1/nowhere", "STATE_DSN=postgres://127.0.0.1:1/nowhere", "TRACKER_TOKEN=0123456789abcdef",
	"AGENT_KEY=0123456789abcdef0123456789abcdef", "SUPPORT_KEY=fedcba9876543210fedcba9876543210", "PSEUDONYMS=0123456789abcdef",
}

// loadable is a copy of an example that has what it needs to load.
func loadable(t *testing.T, name string) *folder {
	t.Helper()
	if name == "ops" {
		return ops(t) // reads the git repository that it is part of
	}
	f := example(t, name)
	f.env = environment
	return f
}

func TestEveryFolderHereIsKnownToTheTests(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	// the official suite knows what conformance declares; the last four have no tools of their own
	others := []string{"testdata", "conformance", "docker", "grafana", "kubernetes", "systemd"}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(others, e.Name()) && tools[e.Name()] == nil {
			t.Errorf("%s is exercised by no test", e.Name())
		}
	}
}

func TestEveryExampleLoadsWithoutADiagnostic(t *testing.T) {
	for name, want := range tools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := loadable(t, name)
			said := regexp.MustCompile(`^this directory: ` + plural(len(want), "tool") + `(, \d+ prompts?)?(, \d+ resources?)?(, \d+ skills?)?, no errors\n(webhook "ops" is disabled, because its url is null\n)?$`)
			if o := f.run("validate", "."); !said.MatchString(o.stdout) || o.stderr != "" || o.code != 0 {
				t.Errorf("validate: %+v, want %s", o, said)
			}
			if o := example(t, name).run("fmt", "--check", "."); o.code != 0 {
				t.Errorf("fmt --check: %+v", o)
			}
			if o := f.run("lint", "."); !strings.Contains(o.stdout, " tokens, no findings") || o.code != 0 {
				t.Errorf("lint: %+v", o)
			}
		})
	}
}

func TestEveryExampleListsItsTools(t *testing.T) {
	for name, want := range tools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := loadable(t, name)
			var list struct {
				Tools []struct {
					Name, Description string
					InputSchema       struct {
						Type                 string
						Properties           map[string]any
						AdditionalProperties *bool
					}
				}
			}
			o := f.run("list", ".", "--json")
			if err := json.Unmarshal([]byte(o.stdout), &list); err != nil || o.code != 0 {
				t.Fatalf("%v: %+v", err, o)
			}
			var got []string
			for _, tool := range list.Tools {
				got = append(got, tool.Name)
				schema := tool.InputSchema
				if tool.Description == "" || schema.Type != "object" || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
					t.Errorf("%s is listed as %+v", tool.Name, tool)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("listed are %q, want %q", got, want)
			}
			people := f.run("list", ".")
			for _, name := range want {
				if !regexp.MustCompile(`(?m)^ *` + name + ` `).MatchString(people.stdout) {
					t.Errorf("people do not read of %s:\n%s", name, people.stdout)
				}
			}
		})
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
