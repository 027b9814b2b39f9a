package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestHostileTextsInOrders(t *testing.T) {
	t.Parallel()
	f, b := orders(t)
	s := f.serve()
	line := object{"sku": "AB-1234", "quantity": 1}
	received := func(of func(m map[string]any) any) func(t *testing.T, text string, r *reply) {
		return func(t *testing.T, text string, r *reply) {
			asked := b.requests()
			var body map[string]any
			if len(asked) != 1 || asked[0].line != "POST /api/v1/orders" {
				t.Fatalf("%.200q: the shop was asked %q", text, lines(asked))
			}
			if err := json.Unmarshal([]byte(asked[0].body), &body); err != nil {
				t.Fatalf("%.200q: %v in %q", text, err, asked[0].body)
			}
			for key := range body {
				if key != "customer" && key != "lines" && key != "note" {
					t.Errorf("%.200q adds %q to the body", text, key)
				}
			}
			same(t, "the shop", fmt.Sprint(of(body)), text)
		}
	}
	f.attack(t, s, []slot{
		{"the customer", "create_order", func(text any) object { return object{"customer": text, "lines": []object{line}} }, received(func(m map[string]any) any { return m["customer"] })},
		{"the note", "create_order", func(text any) object {
			return object{"customer": "x", "lines": []object{line}, "note": text}
		}, received(func(m map[string]any) any { return m["note"] })},
		{"the article", "create_order", func(text any) object {
			return object{"customer": "x", "lines": []object{{"sku": text, "quantity": 1}}}
		}, never},
		{"the status", "list_orders", func(text any) object { return object{"status": text} }, never},
		{"the number", "get_order", func(text any) object { return object{"id": text} }, never},
		{"the number to sync", "sync_order", func(text any) object { return object{"id": text} }, never},
	})
	expectLines(t, b)

	for i, text := range hostile { // what a service answers is no safer than what a caller sends
		id := 1000 + i
		b.add(id, object{"id": id, "customer": text, "status": "paid", "total": 1, "date": "2026-10-09"})
		expectText(t, s.call("sync_order", object{"id": id}), false, fmt.Sprintf("Order %d: stored.", id))
	}
	for i, row := range f.rows("SELECT vendor FROM invoices ORDER BY id") {
		same(t, "the ledger", row[0], hostile[i])
	}
	var ledger []struct{ Vendor string }
	s.call("ledger", object{}).into(t, &ledger)
	if len(ledger) != len(hostile) {
		t.Fatalf("the ledger has %d rows", len(ledger))
	}
	for i := range ledger {
		same(t, "the answer", ledger[i].Vendor, hostile[i])
	}
}

func TestHostileTextsInOps(t *testing.T) {
	t.Parallel()
	f := ops(t)
	var log strings.Builder
	for _, text := range hostile {
		if !strings.ContainsAny(text, "\n\x00") {
			log.WriteString(text + "\n")
		}
	}
	f.write("logs/hostile.log", log.String())
	s := f.serve()
	f.attack(t, s, []slot{
		{"a path of a disk", "disk_usage", func(text any) object { return object{"path": text} }, func(t *testing.T, text string, r *reply) {
			var disks []object
			if r.into(t, &disks); len(disks) != 1 && text != "" {
				t.Errorf("%q asks about %v", text, disks)
			}
		}},
		{"a log to search", "search_logs", func(text any) object { return object{"file": text, "text": "x"} }, never},
		{"a text to search for", "search_logs", func(text any) object {
			return object{"file": "hostile.log", "text": text, "max": 500}
		}, func(t *testing.T, text string, r *reply) {
			var found struct {
				Lines []string
				Found bool
			}
			r.into(t, &found)
			if strings.ContainsAny(text, "\n\x00") {
				return
			}
			for _, line := range found.Lines {
				if _, line, _ = strings.Cut(line, ":"); line == strings.TrimSuffix(text, "\r") { // which belongs to the end of a line
					return
				}
			}
			if !strings.Contains(text, "CANARY") && !strings.Contains(text, "canary") {
				t.Errorf("%q is not found: %q", text, found.Lines)
			}
		}},
		{"a log to count", "count_by_level", func(text any) object { return object{"file": text} }, never},
		{"an author", "git_log", func(text any) object { return object{"author": text} }, anything},
		{"a path of the repository", "git_log", func(text any) object { return object{"path": text} }, anything},
		{"a service", "service_status", func(text any) object { return object{"service": text} }, never},
	})
}

// anything is an answer about which nothing more is known than that nothing bad has happened.
func anything(*testing.T, string, *reply) {}

func TestHostileTextsInTheHelpDesk(t *testing.T) {
	t.Parallel()
	f := helpdesk(t)
	s, db := f.serve(), f.own()
	stored := func(column string) func(t *testing.T, text string, r *reply) {
		return func(t *testing.T, text string, r *reply) {
			var id int
			if _, err := fmt.Sscanf(r.text(), "Ticket %d opened.", &id); err != nil {
				t.Fatalf("%v in %q", err, r.text())
			}
			same(t, column, one(t, db, fmt.Sprintf("SELECT %s FROM tickets WHERE id = %d", column, id)), text)
		}
	}
	f.attack(t, s, []slot{
		{"the title", "open_ticket", func(text any) object { return object{"title": text} }, stored("title")},
		{"a tag", "open_ticket", func(text any) object { return object{"title": "tagged", "tags": []any{text}} }, stored("tags[1]")},
		{"a value of a detail", "open_ticket", func(text any) object { return object{"title": "detailed", "details": object{"x": text}} }, stored("details->>'x'")},
		{"the name of a detail", "open_ticket", func(text any) object {
			return object{"title": "detailed", "details": map[string]any{fmt.Sprint(text): 1}}
		}, stored("(SELECT jsonb_object_keys(details))")},
		{"words to search for", "search_tickets", func(text any) object { return object{"words": text} }, anything},
		{"a tag to search for", "search_tickets", func(text any) object { return object{"tags": []any{text}} }, anything},
		{"a status to search for", "search_tickets", func(text any) object { return object{"status": []any{text}} }, never},
		{"a remark", "close_tickets", func(text any) object {
			var id int
			if err := db.QueryRow(context.Background(), "INSERT INTO tickets (title) VALUES ('to close') RETURNING id").Scan(&id); err != nil {
				t.Fatal(err)
			}
			return object{"ids": []int{id}, "remark": text}
		}, func(t *testing.T, text string, r *reply) {
			same(t, "the remark", one(t, db, "SELECT text FROM remarks ORDER BY ticket DESC LIMIT 1"), text)
		}},
		{"a statement", "query", func(text any) object { return object{"sql": text} }, anything},
	})
	if got := one(t, db, "SELECT count(*)::text FROM tickets WHERE id <= 2 AND status = 'open'"); got != "2" {
		t.Errorf("of the tickets that were there %s are left", got)
	}
}
