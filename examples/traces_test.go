package examples_test

import (
	"strings"
	"testing"

	"hatchel/runtime/observe/trace/tracetest"
)

// traced adds a collector to the telemetry block of a file of the example.
func (f *folder) traced(file string) *tracetest.Receiver {
	f.t.Helper()
	collector := tracetest.New(f.t, nil)
	block := "telemetry {\n  otlp {\n    endpoint = \"" + collector.URL + "\"\n    traces   = 1\n  }\n"
	f.write(file, strings.Replace(f.read(file), "telemetry {\n", block, 1))
	return collector
}

// TestTheSpansOfExamples calls tools that page, pay, are cached, read a database and are refused.
func TestTheSpansOfExamples(t *testing.T) {
	t.Parallel()
	shop, _ := orders(t)
	pay, b := example(t, "payments"), openBank(t)
	pay.args = []string{"--var", "bank_url=" + b.url}
	team := example(t, "team")
	for name, test := range map[string]struct {
		f    *folder
		file string
		use  func(s *server)
		want string
	}{
		"orders": {shop, "orders.hcl", func(s *server) { s.call("list_orders", map[string]any{}) }, `
server tools/call list_orders hatchel.outcome=ok
  client GET /api/v1/orders http.response.status_code=200
  client GET /api/v1/orders http.response.status_code=200
`},
		"payments": {pay, "payments.hcl", func(s *server) {
			s.call("pay_order", map[string]any{"order": 7, "amount": 1250})
			s.call("exchange_rate", map[string]any{"currency": "USD"})
			s.call("exchange_rate", map[string]any{"currency": "USD"})
		}, `
server tools/call pay_order hatchel.outcome=ok
  client POST /payments http.response.status_code=200
server tools/call exchange_rate hatchel.outcome=ok
  client GET /rates/{input.currency} http.response.status_code=200
server tools/call exchange_rate hatchel.outcome=ok hatchel.replayed=cache
`},
		"team": {team, "metrics.hcl", func(s *server) {
			person{s, "key-of-ada-0123456789"}.asks("tools/call", `"name":"invoice_list","arguments":{},`)
			person{s, "key-of-eva-0123456789"}.asks("tools/call", `"name":"invoice_delete","arguments":{"id":1},`)
		}, `
server tools/call invoice_list hatchel.outcome=ok
  client SELECT db.query.text=SELECT id, vendor, amount, paid FROM invoices ORDER BY id
server tools/call invoice_delete hatchel.outcome=refused failed
`},
	} {
		t.Run(name, func(t *testing.T) {
			collector := test.f.traced(test.file)
			t.Run("calls", func(t *testing.T) { // the server sends the rest when it ends
				test.f.t = t
				test.use(test.f.serve())
			})
			show := []string{"hatchel.outcome", "hatchel.replayed", "http.response.status_code", "db.query.text"}
			if got := "\n" + collector.Tree(show...); got != test.want {
				t.Errorf("got\n%s", got)
			}
		})
	}
}
